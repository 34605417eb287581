// Peer of bench/warp.py: CUB's warp collectives in the same dependent chain.
#include "chain.cuh"

#include <cub/cub.cuh>
#include <cuda/functional>

struct Add {
  template <class T> __device__ T operator()(T earlier, T later) const { return earlier + later; }
};

template <class Reduce, int Width, int Threads> struct Logical {
  using Storage = typename Reduce::TempStorage[Threads / Width];
  static __device__ Reduce in(Storage& storage) { return Reduce(storage[threadIdx.x / Width]); }
};

template <class T, int Threads, int Width = 32> struct Sum : Logical<cub::WarpReduce<T, Width>, Width, Threads> {
  using Value = T;
  using Base = Logical<cub::WarpReduce<T, Width>, Width, Threads>;
  static __device__ T call(typename Base::Storage& storage, T value) {
    return scaled(Base::in(storage).Sum(value), 0.96f / Width);
  }
};

template <class T, int Threads, class Op> struct Reduce : Logical<cub::WarpReduce<T>, 32, Threads> {
  using Value = T;
  using Base = Logical<cub::WarpReduce<T>, 32, Threads>;
  static __device__ T call(typename Base::Storage& storage, T value) {
    constexpr float factor = std::is_same_v<Op, Add> ? 0.03f : 0.97f;
    return scaled(Base::in(storage).Reduce(value, Op{}), factor);
  }
};

template <class T, int Threads> struct Exclusive : Logical<cub::WarpScan<T>, 32, Threads> {
  using Value = T;
  using Base = Logical<cub::WarpScan<T>, 32, Threads>;
  static __device__ T call(typename Base::Storage& storage, T value) {
    T result;
    Base::in(storage).ExclusiveSum(value, result);
    return scaled_plus_one(result, 0.03f);
  }
};

template <class T, int Threads> struct Inclusive : Logical<cub::WarpScan<T>, 32, Threads> {
  using Value = T;
  using Base = Logical<cub::WarpScan<T>, 32, Threads>;
  static __device__ T call(typename Base::Storage& storage, T value) {
    T result;
    Base::in(storage).InclusiveSum(value, result);
    return scaled_plus_one(result, 0.03f);
  }
};

// `Call` has a Value, a Storage in shared memory and `call(storage, value)`: one collective and its step.
template <class Call> __global__ void chain(typename Call::Value* out, long long* ticks, int count) {
  __shared__ typename Call::Storage storage;
  auto value = first_value<typename Call::Value>(threadIdx.x);
  long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i < count; ++i) value = Call::call(storage, value);
  long long end = clock64();
  out[threadIdx.x] = value;
  ticks[threadIdx.x] = end - begin;
}

template <class Call> void measure_chain(const char* what, int threads) { measure(chain<Call>, what, threads); }

template <class T, int Threads> void sums_and_scans() {
  measure_chain<Sum<T, Threads>>("sum", Threads);
  measure_chain<Exclusive<T, Threads>>("exclusive sum", Threads);
  measure_chain<Inclusive<T, Threads>>("inclusive sum", Threads);
}

template <class T, int Threads> void the_rest() {
  measure_chain<Sum<T, Threads, 8>>("sum width 8", Threads);
  measure_chain<Sum<T, Threads, 16>>("sum width 16", Threads);
  measure_chain<Reduce<T, Threads, cuda::minimum<>>>("min", Threads);
  measure_chain<Reduce<T, Threads, cuda::maximum<>>>("max", Threads);
  measure_chain<Reduce<T, Threads, Add>>("reduce lambda", Threads);
}

template <int Threads> void all() {
  sums_and_scans<float, Threads>();
  sums_and_scans<int, Threads>();
  sums_and_scans<double, Threads>();
  sums_and_scans<long long, Threads>();
  measure_chain<Sum<__half, Threads>>("sum", Threads);
  the_rest<float, Threads>();
  the_rest<int, Threads>();
}

int main() {
  all<32>();
  all<256>();
  return 0;
}
