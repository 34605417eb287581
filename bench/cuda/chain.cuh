// What the CUDA C++ peers of bench/ share: the clocked dependent chain, its median, one printed line a case.
#pragma once
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "check.cuh"

constexpr int rounds = 128;
constexpr int repeats = 31;

template <class T> constexpr const char* name_of = nullptr;
template <> inline constexpr const char* name_of<int> = "i32";
template <> inline constexpr const char* name_of<long long> = "i64";
template <> inline constexpr const char* name_of<__half> = "f16";
template <> inline constexpr const char* name_of<float> = "f32";
template <> inline constexpr const char* name_of<double> = "f64";

// The cheap step between two dependent calls, the same as in bench/chains.py.
template <class T> __device__ T scaled(T value, float factor) { return value * T(factor); }
template <> __device__ int scaled(int value, float) { return (value & 0xff) + 1; }
template <> __device__ long long scaled(long long value, float) { return ((value ^ (value >> 32)) & 0xff) + 1; }
template <class T> __device__ T scaled_plus_one(T value, float factor) { return value * T(factor) + T(1); }
template <> __device__ int scaled_plus_one(int value, float factor) { return scaled(value, factor); }
template <> __device__ long long scaled_plus_one(long long value, float factor) { return scaled(value, factor); }

template <class T> __device__ T first_value(int thread) { return T(thread + 1); }
template <> __device__ float first_value(int thread) { return (thread + 1) * 0.001f; }
template <> __device__ double first_value(int thread) { return (thread + 1) * 0.001; }
template <> __device__ __half first_value(int thread) { return __float2half((thread + 1) * 0.001f); }

// Print the median cycles per call of `kernel`, launched as one block, as `what dtype threads<tab>cycles`.
template <class T> void measure(void (*kernel)(T*, long long*, int), const char* what, int threads) {
  T* out;
  long long *ticks, taken;
  std::vector<long long> all;
  CHECK(cudaMalloc(&out, threads * sizeof(*out)));
  CHECK(cudaMalloc(&ticks, threads * sizeof(*ticks)));
  for (int i = -3; i < repeats; ++i) {  // three to warm up
    kernel<<<1, threads>>>(out, ticks, rounds);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&taken, ticks, sizeof(taken), cudaMemcpyDeviceToHost));
    if (i >= 0) all.push_back(taken);
  }
  std::sort(all.begin(), all.end());
  std::printf("%s %s %d\t%.2f\n", what, name_of<T>, threads, double(all[repeats / 2]) / rounds);
  CHECK(cudaFree(out));
  CHECK(cudaFree(ticks));
}
