// Peer of bench/lookback.py: look-back alone over `tiles` tiles of one value each, on CUB's ScanTileState and
// TilePrefixCallbackOp. Timed with the launch that initialises the states, as a scan needs it before every run.
#include <cub/cub.cuh>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "check.cuh"

constexpr int tiles = 1 << 20;
constexpr int repeats = 30;

struct Add {
  __device__ float operator()(float earlier, float later) const { return earlier + later; }
};

using State = cub::ScanTileState<float>;
using Prefix = cub::TilePrefixCallbackOp<float, Add, State>;

__global__ void initialise(State state) { state.InitializeStatus(tiles); }

// The exclusive prefix of `tile`, in every thread of the block.
__device__ float prefix_of(int tile, float value, State& state, typename Prefix::TempStorage& storage) {
  if (tile == 0) {
    if (threadIdx.x == 0) state.SetInclusive(0, value);
    return 0;
  }
  Prefix prefix(state, storage, Add{}, tile);
  if (threadIdx.x < 32) prefix(value);
  __syncthreads();
  return prefix.GetExclusivePrefix();
}

// As CUB's own scan: one tile a block.
__global__ void one_tile_a_block(State state, const float* values, float* out) {
  __shared__ typename Prefix::TempStorage storage;
  float before = prefix_of(blockIdx.x, values[blockIdx.x], state, storage);
  if (threadIdx.x == 0) out[blockIdx.x] = before;
}

// No more blocks than the GPU holds at once, else they would wait for ever: each takes every gridDim.x-th tile.
__global__ void resident_blocks(State state, const float* values, float* out) {
  __shared__ typename Prefix::TempStorage storage;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float before = prefix_of(tile, values[tile], state, storage);
    if (threadIdx.x == 0) out[tile] = before;
    __syncthreads();
  }
}

struct Arrays {
  State state;
  float *values, *out;
  std::vector<float> right;
};

void run(const Arrays& on, void (*kernel)(State, const float*, float*), int blocks, int threads) {
  initialise<<<(tiles + 255) / 256, 256>>>(on.state);
  kernel<<<blocks, threads>>>(on.state, on.values, on.out);
}

// Print the median time in microseconds of one run that is queued behind another, after checking the result.
void measure(const Arrays& on, void (*kernel)(State, const float*, float*), const char* what, int blocks, int threads) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> taken;
  CHECK(cudaMemset(on.out, 0xff, tiles * sizeof(float)));
  for (int i = -2; i < repeats; ++i) {  // two to warm up
    float milliseconds;
    run(on, kernel, blocks, threads);
    CHECK(cudaEventRecord(begin));
    run(on, kernel, blocks, threads);
    CHECK(cudaEventRecord(end));
    CHECK(cudaGetLastError());
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    if (i >= 0) taken.push_back(1000 * milliseconds);
  }
  std::vector<float> found(tiles);
  CHECK(cudaMemcpy(found.data(), on.out, tiles * sizeof(float), cudaMemcpyDeviceToHost));
  if (found != on.right) {
    std::fprintf(stderr, "%s, %d blocks of %d threads: wrong values\n", what, blocks, threads);
    std::exit(1);
  }
  std::sort(taken.begin(), taken.end());
  std::printf("%s %d\t%.2f\n", what, threads, taken[repeats / 2]);
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
}

int main() {
  Arrays on;
  size_t bytes = 0;
  void* memory;
  CHECK(State::AllocationSize(tiles, bytes));
  CHECK(cudaMalloc(&memory, bytes));
  CHECK(on.state.Init(tiles, memory, bytes));
  CHECK(cudaMalloc(&on.values, tiles * sizeof(float)));
  CHECK(cudaMalloc(&on.out, tiles * sizeof(float)));
  std::vector<float> values(tiles);
  float before = 0;  // small integers: their sums are exact in any order
  for (int tile = 0; tile < tiles; ++tile) {
    values[tile] = tile * 2654435761u >> 30;
    on.right.push_back(before);
    before += values[tile];
  }
  CHECK(cudaMemcpy(on.values, values.data(), tiles * sizeof(float), cudaMemcpyHostToDevice));
  int processors, of_each;
  CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  for (int threads : {32, 64, 128, 256}) {
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_each, resident_blocks, threads, 0));
    measure(on, one_tile_a_block, "one tile a block", tiles, threads);
    measure(on, resident_blocks, "all resident blocks", processors * of_each, threads);
    measure(on, resident_blocks, "half as many blocks", processors * of_each / 2, threads);
    measure(on, resident_blocks, "a quarter as many blocks", processors * of_each / 4, threads);
  }
  return 0;
}
