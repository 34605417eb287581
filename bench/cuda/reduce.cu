// Peer of bench/device_reduce.py: cub::DeviceReduce with the same types of items and totals, its temporary storage
// allocated before. Large sizes: one call that waits on the stream behind another one. Small sizes: a graph of 100 calls.
#include <cub/cub.cuh>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sizes.cuh"

constexpr int64_t spread = int64_t(1) << 28;  // bytes: several times what the L2 cache holds

template <typename Total>
struct Largest {
  __host__ __device__ Total operator()(Total earlier, Total later) const { return earlier < later ? later : earlier; }
};

// Print the time of reducing n items for every n of `exponents` (of 2).
template <typename Item, typename Total, typename Operator>
void measure(const char* what, Total init, Operator op, const std::vector<int>& exponents, int most) {
  int64_t turn = 0;
  auto reduce = [&](void* memory, size_t& bytes, const Item* items, Total* out, int64_t n, cudaStream_t on) {
    // Many calls on few bytes take turns on different parts of the array, so that it is not the L2 cache that is read.
    bool large = n >= (1 << 24);
    int64_t parts = large ? std::max<int64_t>(1, std::min<int64_t>(int64_t(1) << most, spread / sizeof(Item)) / n) : 1;
    return cub::DeviceReduce::Reduce(memory, bytes, items + n * (turn++ % parts), out, n, op, init, on);
  };
  measure_sizes<Item, Total>(what, exponents, most, 1, 30, reduce);
}

int main(int count, char** arguments) {
  std::vector<int> exponents = read_exponents(count, arguments);
  measure<float, float>("sum float32", 0.0f, Add<float>{}, exponents, 31);
  measure<int32_t, int64_t>("sum int32", int64_t(0), Add<int64_t>{}, exponents, 30);
  measure<double, double>("sum float64", 0.0, Add<double>{}, exponents, 30);
  measure<__half, float>("sum float16", 0.0f, Add<float>{}, exponents, 30);
  measure<uint8_t, uint64_t>("sum uint8", uint64_t(0), Add<uint64_t>{}, exponents, 30);
  measure<float, float>("max float32", -INFINITY, Largest<float>{}, exponents, 30);
  return 0;
}
