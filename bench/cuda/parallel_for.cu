// Peer of bench/parallel_for.py: the same loops written by hand, one item a thread, native grids where they fit.
// Small work: a graph of 100 launches. Large work: one launch that waits on the stream behind another one.
#include "timing.cuh"

// ------------------------------------------------------------------ kernels

__global__ void copy_1(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

__global__ void copy_2(const float* x, float* y, int n0, int n1) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n0 && j < n1) {
    long long at = static_cast<long long>(i) * n1 + j;
    y[at] = x[at];
  }
}

// One dimension of a range: the indices begin, begin + step, …, in an array of so many elements.
struct Axis {
  int begin, step, count, extent;
  __device__ int index(int k) const { return begin + step * k; }
};

__global__ void copy_3(const float* x, float* y, int n0, int n1, int n2) {
  int k = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  int i = blockIdx.z * blockDim.z + threadIdx.z;
  if (i < n0 && j < n1 && k < n2) {
    long long at = (static_cast<long long>(i) * n1 + j) * n2 + k;
    y[at] = x[at];
  }
}

__global__ void stepped_3(const float* x, float* y, Axis a, Axis b, Axis c) {
  int k = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  int i = blockIdx.z * blockDim.z + threadIdx.z;
  if (i < a.count && j < b.count && k < c.count) {
    long long at = (static_cast<long long>(a.index(i)) * b.extent + b.index(j)) * c.extent + c.index(k);
    y[at] = x[at];
  }
}

// The two outer dimensions share the grid's last axis: one division a thread.
__global__ void stepped_4(const float* x, float* y, Axis a, Axis b, Axis c, Axis d) {
  int m = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y * blockDim.y + threadIdx.y;
  int outer = blockIdx.z, i = outer / b.count, j = outer - i * b.count;
  if (k < c.count && m < d.count) {
    long long row = static_cast<long long>(a.index(i)) * b.extent + b.index(j);
    long long at = (row * c.extent + c.index(k)) * d.extent + d.index(m);
    y[at] = x[at];
  }
}

template <int entries>
struct Table {
  float values[entries];
};

template <int entries>
__global__ void look_up(const __grid_constant__ Table<entries> table, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = table.values[i * 37 & (entries - 1)];
}

template <int entries>
__global__ void look_up_in_memory(const float* table, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = table[i * 37 & (entries - 1)];
}

// ------------------------------------------------------------------ timing

cudaStream_t stream;

template <typename Call>
void measure(const char* what, long long items, Call call) {
  measure_call(what, items < (1 << 24), [&](cudaStream_t) { call(); }, stream);
}

unsigned blocks(int items, int threads) { return (items + threads - 1) / threads; }

// ------------------------------------------------------------------ cases

struct Arrays {
  float *x, *y;
};

void one(const char* what, Arrays on, int n) {
  measure(what, n, [=] { copy_1<<<blocks(n, 256), 256, 0, stream>>>(on.x, on.y, n); });
}

void two(const char* what, Arrays on, int n0, int n1) {
  dim3 block(32, 8), grid(blocks(n1, 32), blocks(n0, 8));
  measure(what, 1LL * n0 * n1, [=] { copy_2<<<grid, block, 0, stream>>>(on.x, on.y, n0, n1); });
}

void three(const char* what, Arrays on, int n0, int n1, int n2) {
  dim3 block(32, 4, 2), grid(blocks(n2, 32), blocks(n1, 4), blocks(n0, 2));
  measure(what, 1LL * n0 * n1 * n2, [=] { copy_3<<<grid, block, 0, stream>>>(on.x, on.y, n0, n1, n2); });
}

void three(const char* what, Arrays on, Axis a, Axis b, Axis c) {
  dim3 block(32, 4, 2), grid(blocks(c.count, 32), blocks(b.count, 4), blocks(a.count, 2));
  measure(what, 1LL * a.count * b.count * c.count, [=] { stepped_3<<<grid, block, 0, stream>>>(on.x, on.y, a, b, c); });
}

void four(const char* what, Arrays on, Axis a, Axis b, Axis c, Axis d) {
  dim3 block(32, 8), grid(blocks(d.count, 32), blocks(c.count, 8), a.count * b.count);
  long long items = 1LL * a.count * b.count * c.count * d.count;
  measure(what, items, [=] { stepped_4<<<grid, block, 0, stream>>>(on.x, on.y, a, b, c, d); });
}

// A dense dimension.
Axis all(int count) { return {0, 1, count, count}; }

template <int entries>
void table(const char* in_parameters, const char* in_memory, Arrays on, int n) {
  static Table<entries> values;
  for (int i = 0; i < entries; ++i) values.values[i] = static_cast<float>(i);
  CHECK(cudaMemcpy(on.x, values.values, sizeof values, cudaMemcpyHostToDevice));
  measure(in_parameters, n, [=] { look_up<entries><<<blocks(n, 256), 256, 0, stream>>>(values, on.y, n); });
  measure(in_memory, n, [=] { look_up_in_memory<entries><<<blocks(n, 256), 256, 0, stream>>>(on.x, on.y, n); });
}

int main() {
  constexpr long long most = 1LL << 29;  // bytes: the stepped ranges touch every second to third element
  Arrays on;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&on.x, 6 * most));
  CHECK(cudaMalloc(&on.y, 6 * most));
  CHECK(cudaMemset(on.x, 1, 6 * most));
  one("copy 2M, 1-D", on, 1 << 21);
  two("copy 2M, 1024 x 2048", on, 1024, 2048);
  three("copy 2M, 128 x 128 x 128", on, 128, 128, 128);
  one("copy 64M, 1-D", on, 1 << 26);
  two("copy 64M, 8192 x 8192", on, 8192, 8192);
  three("copy 64M, 512 x 256 x 512", on, 512, 256, 512);
  three("odd 2M, 127 x 129 x 131", on, 127, 129, 131);
  three("odd 64M, 401 x 409 x 411", on, 401, 409, 411);
  four("odd 2M, 37 x 39 x 37 x 41", on, all(37), all(39), all(37), all(41));
  four("odd 64M, 89 x 91 x 93 x 91", on, all(89), all(91), all(93), all(91));
  three("stepped 2M, 3-D", on, {1, 2, 127, 255}, {2, 3, 129, 387}, {3, 2, 131, 264});
  three("stepped 64M, 3-D", on, {1, 2, 401, 802}, {2, 1, 409, 411}, {3, 2, 411, 824});
  four("stepped 2M, 4-D", on, {1, 2, 37, 75}, {0, 3, 39, 117}, {2, 1, 37, 39}, {1, 2, 41, 83});
  four("stepped 64M, 4-D", on, {1, 2, 89, 179}, {0, 1, 91, 91}, {2, 1, 93, 95}, {1, 2, 91, 183});
  for (int n : {1 << 12, 1 << 21}) {
    bool few = n == 1 << 12;
    table<512>(few ? "table of 2 KB, 4K, parameters" : "table of 2 KB, 2M, parameters",
               few ? "table of 2 KB, 4K, memory" : "table of 2 KB, 2M, memory", on, n);
    table<2048>(few ? "table of 8 KB, 4K, parameters" : "table of 8 KB, 2M, parameters",
                few ? "table of 8 KB, 4K, memory" : "table of 8 KB, 2M, memory", on, n);
  }
  CHECK(cudaGetLastError());
  return 0;
}
