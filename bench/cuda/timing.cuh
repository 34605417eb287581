// Clocks of the peers: device time of one large call that waits on the stream behind another one, and of one small call
// in a graph of 100. Medians, in microseconds; one printed line a case.
#pragma once
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "check.cuh"

constexpr int calls_in_graph = 100;

inline float median(std::vector<float> taken) {
  std::sort(taken.begin(), taken.end());
  return taken[taken.size() / 2];
}

template <typename Call>
float queued(Call call, cudaStream_t stream, int repeats = 30) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> taken;
  for (int i = -2; i < repeats; ++i) {  // two to warm up
    float milliseconds;
    call(stream);
    call(stream);
    CHECK(cudaEventRecord(begin, stream));
    call(stream);
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    if (i >= 0) taken.push_back(1000 * milliseconds);
  }
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return median(taken);
}

template <typename Call>
float in_graph(Call call, cudaStream_t stream, int repeats = 30) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  for (int i = 0; i < calls_in_graph; ++i) call(stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  float taken = queued([&](cudaStream_t on) { CHECK(cudaGraphLaunch(ready, on)); }, stream, repeats) / calls_in_graph;
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(graph));
  return taken;
}

// Print the time of call(stream) as `name<tab>microseconds`; where the work is small, that of one call in a graph.
template <typename Call>
void measure_call(const std::string& name, bool small, Call call, cudaStream_t stream, int repeats = 30) {
  call(stream);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(stream));
  float taken = small ? in_graph(call, stream, repeats) : queued(call, stream, repeats);
  std::printf("%s\t%.3f\n", name.c_str(), taken);
  std::fflush(stdout);
}

// The same of a function of CUB, call(memory, bytes, stream), its temporary storage allocated before.
template <typename Call>
void measure_stored(const std::string& name, bool small, Call call, cudaStream_t stream, int repeats = 30) {
  size_t bytes = 0;
  void* memory;
  CHECK(call(nullptr, bytes, stream));
  CHECK(cudaMalloc(&memory, bytes));
  measure_call(name, small, [&](cudaStream_t on) { CHECK(call(memory, bytes, on)); }, stream, repeats);
  CHECK(cudaFree(memory));
}
