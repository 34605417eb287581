// Peer of bench/device_histogram.py: cub::DeviceHistogram::HistogramEven with int counters, its temporary storage
// allocated before; one call that waits on the stream behind another, or for less than 64 MB a graph of 100 calls.
#include <cub/cub.cuh>

#include <cstdint>
#include <string>

#include "timing.cuh"

constexpr int repeats = 20;

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

template <typename Item, typename Level>
void measure(const char* what, bool same, int exponent, int bins, float scale) {
  Item* items;
  int* counts;
  cudaStream_t stream;
  int n = 1 << exponent;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&items, sizeof(Item) << exponent));
  CHECK(cudaMalloc(&counts, sizeof(int) * bins));
  number<<<4096, 256, 0, stream>>>(items, size_t(n), same, scale);
  std::string name = what + (", " + std::to_string(bins)) + " bins, 2^" + std::to_string(exponent);
  bool small = sizeof(Item) << exponent < size_t(1) << 26;
  measure_stored(name, small, [&](void* memory, size_t& bytes, cudaStream_t on) {
    Level end = Level(scale);
    return cub::DeviceHistogram::HistogramEven(memory, bytes, items, counts, bins + 1, Level(0), end, n, on);
  }, stream, repeats);
  CHECK(cudaFree(items));
  CHECK(cudaFree(counts));
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
