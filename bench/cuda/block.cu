// Peer of bench/block_cycles.py: CUB's BlockReduce and BlockScan in the same dependent chain, each followed by the
// barrier that its storage needs before the next call. Every thread holds `Items` values; 1, 4, 8 and 16 are measured.
// Built with -DCHAIN_VALUE=float, int or double.
#include "chain.cuh"

#include <cub/cub.cuh>

struct Add {
  template <class T> __device__ T operator()(T earlier, T later) const { return earlier + later; }
};

// What follows a reduction: the total, scaled so that the chain stays finite, and the item's number.
// The total arrives in thread 0 only; the other threads go on from their own partial results.
template <class T, int Threads, int Items> __device__ void go_on(T (&items)[Items], T total) {
#pragma unroll
  for (int k = 0; k < Items; ++k) items[k] = scaled(total, 0.5f / (Threads * Items)) + T(int(threadIdx.x) + k);
}

template <class T, int Items> __device__ void go_on(T (&items)[Items]) {
#pragma unroll
  for (int k = 0; k < Items; ++k) items[k] = scaled_plus_one(items[k], 0.001f);
}

template <class T, int Threads, int Items> struct Sum {
  using Reduce = cub::BlockReduce<T, Threads>;
  using Storage = typename Reduce::TempStorage;
  static __device__ void call(Storage& storage, T (&items)[Items]) {
    go_on<T, Threads>(items, Reduce(storage).Sum(items));
  }
};

template <class T, int Threads> struct ReduceLambda {
  using Reduce = cub::BlockReduce<T, Threads>;
  using Storage = typename Reduce::TempStorage;
  static __device__ void call(Storage& storage, T (&items)[1]) {
    go_on<T, Threads>(items, Reduce(storage).Reduce(items, Add{}));
  }
};

template <class T, int Threads, int Items, cub::BlockScanAlgorithm Algorithm> struct Exclusive {
  using Scan = cub::BlockScan<T, Threads, Algorithm>;
  using Storage = typename Scan::TempStorage;
  static __device__ void call(Storage& storage, T (&items)[Items]) {
    Scan(storage).ExclusiveSum(items, items);
    go_on(items);
  }
};

template <class T, int Threads, cub::BlockScanAlgorithm Algorithm> struct Inclusive {
  using Scan = cub::BlockScan<T, Threads, Algorithm>;
  using Storage = typename Scan::TempStorage;
  static __device__ void call(Storage& storage, T (&items)[1]) {
    Scan(storage).InclusiveSum(items, items);
    go_on(items);
  }
};

template <class T, int Threads, int Items, class Call> __global__ void __launch_bounds__(Threads) chain(T* out, long long* ticks, int count) {
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

constexpr auto raking = cub::BLOCK_SCAN_RAKING;  // CUB's default
constexpr auto by_warps = cub::BLOCK_SCAN_WARP_SCANS;

template <class T, int Threads> void values() {
  measure(chain<T, Threads, 1, Sum<T, Threads, 1>>, "sum", Threads);
  measure(chain<T, Threads, 1, ReduceLambda<T, Threads>>, "reduce lambda", Threads);
  measure(chain<T, Threads, 1, Exclusive<T, Threads, 1, raking>>, "exclusive sum", Threads);
  measure(chain<T, Threads, 1, Exclusive<T, Threads, 1, by_warps>>, "exclusive sum by warps", Threads);
  measure(chain<T, Threads, 1, Inclusive<T, Threads, raking>>, "inclusive sum", Threads);
  measure(chain<T, Threads, 1, Inclusive<T, Threads, by_warps>>, "inclusive sum by warps", Threads);
}

template <class T, int Items> void items() {
  char what[64];
  std::snprintf(what, sizeof what, "sum of %d items", Items);
  measure(chain<T, 256, Items, Sum<T, 256, Items>>, what, 256);
  std::snprintf(what, sizeof what, "exclusive sum of %d items", Items);
  measure(chain<T, 256, Items, Exclusive<T, 256, Items, raking>>, what, 256);
  std::snprintf(what, sizeof what, "exclusive sum of %d items by warps", Items);
  measure(chain<T, 256, Items, Exclusive<T, 256, Items, by_warps>>, what, 256);
}

template <class T> void all() {
  values<T, 64>();
  values<T, 128>();
  values<T, 256>();
  values<T, 512>();
  values<T, 1024>();
  items<T, 4>();
  items<T, 8>();
  items<T, 16>();
}

int main() {
  all<CHAIN_VALUE>();
  return 0;
}
