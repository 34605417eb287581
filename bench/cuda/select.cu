// Peer of bench/device_select.py: cub::DeviceSelect, DevicePartition and DeviceRunLengthEncode, their temporary storage
// allocated before. Large sizes: one call that waits on the stream behind another one. Small sizes: a graph of 100 calls.
// Usage: select LARGE... 0 SMALL..., exponents of 2, the small ones behind a 0.
#include <cub/cub.cuh>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "timing.cuh"

constexpr int repeats = 20;
constexpr int64_t period = 1 << 22;  // items after which an array repeats

struct Positive {
  __host__ __device__ bool operator()(int32_t value) const { return value > 0; }
};

// An array of n items that repeats a piece.
template <typename Item>
Item* repeated(std::vector<Item> piece, int64_t n) {
  Item* items;
  CHECK(cudaMalloc(&items, sizeof(Item) * n));
  int64_t there = std::min<int64_t>(n, piece.size());
  CHECK(cudaMemcpy(items, piece.data(), sizeof(Item) * there, cudaMemcpyHostToDevice));
  while (there < n) {
    int64_t more = std::min(there, n - there);
    CHECK(cudaMemcpy(items + there, items, sizeof(Item) * more, cudaMemcpyDeviceToDevice));
    there += more;
  }
  return items;
}

struct Data {
  int32_t* half;
  uint8_t* flags;
  int32_t* runs2;
  int32_t* runs100;
};

Data make(int64_t n) {
  std::mt19937 random(1);
  std::vector<int32_t> half(period), runs2(period), runs100(period);
  std::vector<uint8_t> flags(period);
  for (int64_t i = 0; i < period; ++i) {
    half[i] = int32_t(random());
    flags[i] = random() & 1;
    runs2[i] = i == 0 ? 0 : runs2[i - 1] + (random() % 2 == 0);
    runs100[i] = i == 0 ? 0 : runs100[i - 1] + (random() % 100 == 0);
  }
  return {repeated(half, n), repeated(flags, n), repeated(runs2, n), repeated(runs100, n)};
}

template <typename Call>
void measure(const std::string& what, int exponent, bool small, Call call, cudaStream_t stream) {
  measure_stored(what + ", 2^" + std::to_string(exponent), small, call, stream, repeats);
}

int main(int count, char** arguments) {
  std::vector<int> large, few;
  bool behind = false;
  int most = 1;
  for (int i = 1; i < count; ++i) {
    int exponent = std::atoi(arguments[i]);
    if (exponent == 0 && !behind) {
      behind = true;
      continue;
    }
    (behind ? few : large).push_back(exponent);
    most = std::max(most, exponent);
  }
  int64_t n = int64_t(1) << most;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Data data = make(n);
  int32_t *out, *lengths, *kept;
  CHECK(cudaMalloc(&out, sizeof(int32_t) * n));
  CHECK(cudaMalloc(&lengths, sizeof(int32_t) * n));
  CHECK(cudaMalloc(&kept, sizeof(int32_t)));
  for (bool small : {false, true}) {
    for (int exponent : small ? few : large) {
      int items = 1 << exponent;
      measure("select half of int32", exponent, small, [&](void* memory, size_t& bytes, cudaStream_t on) {
        return cub::DeviceSelect::If(memory, bytes, data.half, out, kept, items, Positive{}, on);
      }, stream);
      measure("select_flagged half of int32", exponent, small, [&](void* memory, size_t& bytes, cudaStream_t on) {
        return cub::DeviceSelect::Flagged(memory, bytes, data.half, data.flags, out, kept, items, on);
      }, stream);
      for (bool longer : {false, true}) {
        int32_t* runs = longer ? data.runs100 : data.runs2;
        std::string of = longer ? " of runs of 100" : " of runs of 2";
        measure("unique" + of, exponent, small, [&](void* memory, size_t& bytes, cudaStream_t on) {
          return cub::DeviceSelect::Unique(memory, bytes, runs, out, kept, items, on);
        }, stream);
        measure("run_length_encode" + of, exponent, small, [&](void* memory, size_t& bytes, cudaStream_t on) {
          return cub::DeviceRunLengthEncode::Encode(memory, bytes, runs, out, lengths, kept, items, on);
        }, stream);
      }
      measure("partition half of int32", exponent, small, [&](void* memory, size_t& bytes, cudaStream_t on) {
        return cub::DevicePartition::If(memory, bytes, data.half, out, kept, items, Positive{}, on);
      }, stream);
    }
  }
  return 0;
}
