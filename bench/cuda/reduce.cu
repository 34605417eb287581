// Peer of bench/device_reduce.py: cub::DeviceReduce with the same types of items and totals, its temporary storage
// allocated before. Large sizes: one call that waits on the stream behind another one. Small sizes: a graph of 100 calls.
#include <cub/cub.cuh>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "timing.cuh"

constexpr int64_t spread = int64_t(1) << 28;  // bytes: several times what the L2 cache holds

template <typename Total>
struct Add {
  __host__ __device__ Total operator()(Total earlier, Total later) const { return earlier + later; }
};

template <typename Total>
struct Largest {
  __host__ __device__ Total operator()(Total earlier, Total later) const { return earlier < later ? later : earlier; }
};

// Small numbers that differ, so that no value is special; every sum of theirs is exact.
template <typename Item>
__global__ void number(Item* items, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    items[i] = Item(static_cast<float>((i * 2654435761u >> 7) & 3));
  }
}

// Print the time of reducing n items for every n of `exponents` (of 2).
template <typename Item, typename Total, typename Operator>
void measure(const char* what, Total init, Operator op, const std::vector<int>& exponents, int most) {
  Item* items;
  Total* out;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&items, sizeof(Item) << most));
  CHECK(cudaMalloc(&out, sizeof(Total)));
  number<<<4096, 256, 0, stream>>>(items, size_t(1) << most);
  for (int exponent : exponents) {
    if (exponent > most) continue;
    int64_t n = int64_t(1) << exponent;
    size_t bytes = 0;
    void* memory;
    CHECK(cub::DeviceReduce::Reduce(nullptr, bytes, items, out, n, op, init, stream));
    CHECK(cudaMalloc(&memory, bytes));
    // Many calls on few bytes take turns on different parts of the array, so that it is not the L2 cache that is read.
    bool large = n >= (1 << 24);
    int64_t parts = large ? std::max<int64_t>(1, std::min<int64_t>(int64_t(1) << most, spread / sizeof(Item)) / n) : 1;
    int64_t turn = 0;
    auto call = [&](cudaStream_t on) {
      const Item* part = items + n * (turn++ % parts);
      CHECK(cub::DeviceReduce::Reduce(memory, bytes, part, out, n, op, init, on));
    };
    call(stream);
    CHECK(cudaStreamSynchronize(stream));
    std::printf("%s 2^%d\t%.3f\n", what, exponent, large ? queued(call, stream) : in_graph(call, stream));
    std::fflush(stdout);
    CHECK(cudaFree(memory));
  }
  CHECK(cudaFree(items));
  CHECK(cudaFree(out));
  CHECK(cudaStreamDestroy(stream));
}

int main(int count, char** arguments) {
  std::vector<int> exponents;
  for (int i = 1; i < count; ++i) exponents.push_back(std::atoi(arguments[i]));
  measure<float, float>("sum float32", 0.0f, Add<float>{}, exponents, 31);
  measure<int32_t, int64_t>("sum int32", int64_t(0), Add<int64_t>{}, exponents, 30);
  measure<double, double>("sum float64", 0.0, Add<double>{}, exponents, 30);
  measure<__half, float>("sum float16", 0.0f, Add<float>{}, exponents, 30);
  measure<uint8_t, uint64_t>("sum uint8", uint64_t(0), Add<uint64_t>{}, exponents, 30);
  measure<float, float>("max float32", -INFINITY, Largest<float>{}, exponents, 30);
  return 0;
}
