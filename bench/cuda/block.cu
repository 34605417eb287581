// Peer of the block suite: CUB's BlockReduce and BlockScan in a dependent chain, each followed by the barrier
// that its storage needs before the next call. Every thread holds `Items` values; 1, 4, 8 and 16 are measured.
#include "chain.cuh"

#include <cub/cub.cuh>

// The sum arrives in thread 0 only; the other threads go on from their own partial sums.
template <class T, int Threads, int Items> struct Sum {
  using Reduce = cub::BlockReduce<T, Threads>;
  using Storage = typename Reduce::TempStorage;
  static __device__ void call(Storage& storage, T (&items)[Items]) {
    T total = Reduce(storage).Sum(items);
#pragma unroll
    for (int k = 0; k < Items; ++k) items[k] = scaled(total, 0.001f) + T(int(threadIdx.x) + k);
  }
};

template <class T, int Threads, int Items, cub::BlockScanAlgorithm Algorithm> struct Exclusive {
  using Scan = cub::BlockScan<T, Threads, Algorithm>;
  using Storage = typename Scan::TempStorage;
  static __device__ void call(Storage& storage, T (&items)[Items]) {
    Scan(storage).ExclusiveSum(items, items);
#pragma unroll
    for (int k = 0; k < Items; ++k) items[k] = scaled_plus_one(items[k], 0.001f);
  }
};

template <class T, int Items, class Call> __global__ void chain(T* out, long long* ticks, int count) {
  __shared__ typename Call::Storage storage;
  T items[Items];
#pragma unroll
  for (int k = 0; k < Items; ++k) items[k] = first_value<T>(threadIdx.x * Items + k);
  long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    Call::call(storage, items);
    __syncthreads();
  }
  long long end = clock64();
  T last = items[0];
#pragma unroll
  for (int k = 1; k < Items; ++k) last = last + items[k];
  out[threadIdx.x] = last;
  ticks[threadIdx.x] = end - begin;
}

template <class T, int Threads, int Items> void three() {
  using Raking = Exclusive<T, Threads, Items, cub::BLOCK_SCAN_RAKING>;
  using Warps = Exclusive<T, Threads, Items, cub::BLOCK_SCAN_WARP_SCANS>;
  char what[64];
  std::snprintf(what, sizeof what, "sum items %d", Items);
  measure(chain<T, Items, Sum<T, Threads, Items>>, what, Threads);
  std::snprintf(what, sizeof what, "exclusive sum items %d", Items);
  measure(chain<T, Items, Raking>, what, Threads);  // CUB's default
  std::snprintf(what, sizeof what, "exclusive sum by warps items %d", Items);
  measure(chain<T, Items, Warps>, what, Threads);
}

template <class T> void all() {
  three<T, 64, 1>();
  three<T, 128, 1>();
  three<T, 256, 1>();
  three<T, 512, 1>();
  three<T, 1024, 1>();
  three<T, 256, 4>();
  three<T, 256, 8>();
  three<T, 256, 16>();
}

int main() {
  all<float>();
  all<int>();
  all<double>();
  return 0;
}
