// Peer of bench/device_scan.py: cub::DeviceScan::InclusiveScan with the same types of items, totals and results, its
// temporary storage allocated before. From 2^24 items on one call behind another one, below a graph of 100 calls.
// Usage: scan EXPONENTS..., of 2. PART: which of the cases this program has; they build side by side.
#include <cub/cub.cuh>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "timing.cuh"

template <typename Total>
struct Add {
  __host__ __device__ Total operator()(Total earlier, Total later) const { return earlier + later; }
};

struct Pair {
  float a, b;
};

struct Compose {  // x -> a x + b, first the earlier one
  __host__ __device__ Pair operator()(Pair earlier, Pair later) const {
    return {earlier.a * later.a, later.a * earlier.b + later.b};
  }
};

struct Multiply {  // complex numbers
  __host__ __device__ Pair operator()(Pair p, Pair q) const {
    return {p.a * q.a - p.b * q.b, p.a * q.b + p.b * q.a};
  }
};

__host__ __device__ inline int small(size_t i) { return (i * 2654435761u >> 7) & 3; }

template <typename Item>
__device__ Item made(size_t i) { return Item(small(i)); }
template <>
__device__ Pair made<Pair>(size_t i) { return {small(i) < 2 ? 1.0f : -1.0f, float(small(i + 1) - 1)}; }

template <typename Item>
__global__ void number(Item* items, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    items[i] = made<Item>(i);
  }
}

// Print the time of scanning n items for every n of `exponents` (of 2).
template <typename Item, typename Result, typename Operator>
void measure(const char* what, Operator op, const std::vector<int>& exponents, int most) {
  Item* items;
  Result* out;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&items, sizeof(Item) << most));
  CHECK(cudaMalloc(&out, sizeof(Result) << most));
  number<<<4096, 256, 0, stream>>>(items, size_t(1) << most);
  for (int exponent : exponents) {
    if (exponent > most) continue;
    int64_t n = int64_t(1) << exponent;
    size_t bytes = 0;
    void* memory;
    CHECK(cub::DeviceScan::InclusiveScan(nullptr, bytes, items, out, op, n, stream));
    CHECK(cudaMalloc(&memory, bytes));
    auto call = [&](cudaStream_t on) {
      CHECK(cub::DeviceScan::InclusiveScan(memory, bytes, items, out, op, n, on));
    };
    call(stream);
    CHECK(cudaStreamSynchronize(stream));
    std::printf("%s 2^%d\t%.3f\n", what, exponent, exponent >= 24 ? queued(call, stream, 20) : in_graph(call, stream, 20));
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
#if PART == 0
  measure<float, float>("cumsum float32", Add<float>{}, exponents, 31);
  measure<int32_t, int32_t>("cumsum int32", Add<int32_t>{}, exponents, 30);
#elif PART == 1
  measure<double, double>("cumsum float64", Add<double>{}, exponents, 28);
  measure<uint8_t, uint64_t>("cumsum uint8 to uint64", Add<uint64_t>{}, exponents, 28);
#else
  measure<Pair, Pair>("affine pairs of float32", Compose{}, exponents, 28);
  measure<Pair, Pair>("products of complex64", Multiply{}, exponents, 28);
#endif
  return 0;
}
