// Peer of bench/device_histogram.py: cub::DeviceHistogram::HistogramEven with int counters, its temporary storage
// allocated before; one call that waits on the stream behind another one, or for few items a graph of 100 calls.
#include <cub/cub.cuh>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "check.cuh"

constexpr int repeats = 20;
constexpr int calls_in_graph = 100;

// Numbers from 0 to below 1 (of integers: 0 to 255) that differ; or all the same.
template <typename Item>
__global__ void number(Item* items, size_t n, bool same, float scale) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    uint32_t bits = uint32_t(i) * 2654435761u;
    bits = (bits ^ (bits >> 15)) * 2246822519u;
    bits ^= bits >> 13;
    items[i] = Item(same ? 0.3f * scale : (bits >> 8) * (scale / 16777216.0f));
  }
}

float median(std::vector<float> taken) {
  std::sort(taken.begin(), taken.end());
  return taken[taken.size() / 2];
}

template <typename Call>
float queued(Call call, cudaStream_t stream) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> taken;
  for (int i = -2; i < repeats; ++i) {  // two to warm up
    float milliseconds;
    call();
    call();
    CHECK(cudaEventRecord(begin, stream));
    call();
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    if (i >= 0) taken.push_back(1000 * milliseconds);
  }
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return median(taken);
}

template <typename Call>
float in_graph(Call call, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  for (int i = 0; i < calls_in_graph; ++i) call();
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  float taken = queued([&] { CHECK(cudaGraphLaunch(ready, stream)); }, stream) / calls_in_graph;
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(graph));
  return taken;
}

template <typename Item, typename Level>
void measure(const char* what, bool same, int exponent, int bins, float scale) {
  Item* items;
  int* counts;
  size_t bytes = 0;
  void* memory;
  cudaStream_t stream;
  int n = 1 << exponent;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&items, sizeof(Item) << exponent));
  CHECK(cudaMalloc(&counts, sizeof(int) * bins));
  number<<<4096, 256, 0, stream>>>(items, size_t(n), same, scale);
  auto histogram = [&](void* with) {
    CHECK(cub::DeviceHistogram::HistogramEven(with, bytes, items, counts, bins + 1, Level(0), Level(scale), n, stream));
  };
  histogram(nullptr);
  CHECK(cudaMalloc(&memory, bytes));
  auto call = [&] { histogram(memory); };
  call();
  CHECK(cudaStreamSynchronize(stream));
  std::printf("%s, %d bins, 2^%d\t%.3f\n", what, bins, exponent, exponent < 24 ? in_graph(call, stream) : queued(call, stream));
  std::fflush(stdout);
  CHECK(cudaFree(items));
  CHECK(cudaFree(counts));
  CHECK(cudaFree(memory));
  CHECK(cudaStreamDestroy(stream));
}

int main() {
  for (int exponent : {12, 16, 20, 24, 28, 30}) {
    measure<float, float>("float32, uniform", false, exponent, 256, 1);
    measure<float, float>("float32, all in one bin", true, exponent, 256, 1);
  }
  for (int exponent : {24, 28, 30}) {
    measure<uint8_t, int>("uint8, uniform", false, exponent, 256, 256);
    measure<uint8_t, int>("uint8, all in one bin", true, exponent, 256, 256);
    measure<float, float>("float32, uniform", false, exponent, 2048, 1);
    measure<float, float>("float32, uniform", false, exponent, 1000000, 1);
    measure<float, float>("float32, all in one bin", true, exponent, 1000000, 1);
  }
  return 0;
}
