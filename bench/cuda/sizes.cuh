// What the peers of reductions and scans share: small numbers as items, and one line for every size that is asked for.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "timing.cuh"

template <typename Total>
struct Add {
  __host__ __device__ Total operator()(Total earlier, Total later) const { return earlier + later; }
};

__host__ __device__ inline int small(size_t i) { return (i * 2654435761u >> 7) & 3; }

// Small numbers that differ, so that no value is special; every sum of theirs is exact.
template <typename Item>
__device__ Item made(size_t i) { return Item(static_cast<float>(small(i))); }

template <typename Item>
__global__ void number(Item* items, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    items[i] = made<Item>(i);
  }
}

inline std::vector<int> read_exponents(int count, char** arguments) {
  std::vector<int> exponents;
  for (int i = 1; i < count; ++i) exponents.push_back(std::atoi(arguments[i]));
  return exponents;
}

// Print the time of a function of CUB for n items, every n of `exponents` (of 2) up to `most`; `results`: how many it
// has room for. call(memory, bytes, items, out, n, stream).
template <typename Item, typename Result, typename Call>
void measure_sizes(const std::string& what, const std::vector<int>& exponents, int most, int64_t results, int repeats,
                   Call call) {
  Item* items;
  Result* out;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&items, sizeof(Item) << most));
  CHECK(cudaMalloc(&out, sizeof(Result) * results));
  number<<<4096, 256, 0, stream>>>(items, size_t(1) << most);
  for (int exponent : exponents) {
    if (exponent > most) continue;
    int64_t n = int64_t(1) << exponent;
    auto sized = [&](void* memory, size_t& bytes, cudaStream_t on) { return call(memory, bytes, items, out, n, on); };
    measure_stored(what + " 2^" + std::to_string(exponent), exponent < 24, sized, stream, repeats);
  }
  CHECK(cudaFree(items));
  CHECK(cudaFree(out));
  CHECK(cudaStreamDestroy(stream));
}
