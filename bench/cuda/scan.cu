// Peer of bench/device_scan.py: cub::DeviceScan::InclusiveScan with the same types of items, totals and results, its
// temporary storage allocated before. From 2^24 items on one call behind another one, below a graph of 100 calls.
// Usage: scan EXPONENTS..., of 2. PART: which of the cases this program has; they build side by side.
#include <cub/cub.cuh>

#include <cstdint>
#include <vector>

#include "sizes.cuh"

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

template <>
__device__ Pair made<Pair>(size_t i) { return {small(i) < 2 ? 1.0f : -1.0f, float(small(i + 1) - 1)}; }

// Print the time of scanning n items for every n of `exponents` (of 2).
template <typename Item, typename Result, typename Operator>
void measure(const char* what, Operator op, const std::vector<int>& exponents, int most) {
  auto scan = [=](void* memory, size_t& bytes, const Item* items, Result* out, int64_t n, cudaStream_t on) {
    return cub::DeviceScan::InclusiveScan(memory, bytes, items, out, op, n, on);
  };
  measure_sizes<Item, Result>(what, exponents, most, int64_t(1) << most, 20, scan);
}

int main(int count, char** arguments) {
  std::vector<int> exponents = read_exponents(count, arguments);
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
