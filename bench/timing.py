"""Clocks: device time of large and of small work, host time per call, and the copy everything is compared with.

All times are medians, in µs. Work is a function of one argument, the stream to run on. In the simulator a time is what
one call took, which says nothing about a GPU.
"""

import ctypes
import statistics
import time

import numpy as np
from cuda.bindings import driver
from numba import cuda

from .mode import MODE

SMALL = 1 << 26
"""Bytes below which the events around one call would measure its launch."""

EMPTY_KERNEL = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry empty(.param .u64 pointer) { ret; }
\0"""


class Median(float):
    """A median of repeats; `noise`: half the range between their quartiles, over the median."""

    noise = None

    @classmethod
    def of(cls, times, scale=1.0):
        """Return the median of times, scaled."""
        times = list(times)
        median = cls(statistics.median(times) * scale)
        if len(times) >= 4 and median:
            low, _, high = statistics.quantiles(times, n=4)
            median.noise = (high - low) * scale / 2 / median
        return median


def _wall(work):
    """Return what one call took, by the host's clock."""
    begin = time.perf_counter()
    work(0)
    return Median((time.perf_counter() - begin) * 1e6)


def _ask(answer):
    """Return what a driver call gave, or raise with its error's name."""
    status, *values = answer
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the CUDA driver answered {status.name}")
    return values[0] if len(values) == 1 else values


def _between_events(work, stream):
    begin, end = cuda.event(), cuda.event()
    begin.record(stream)
    work(stream)
    end.record(stream)
    end.synchronize()
    return 1000 * cuda.event_elapsed_time(begin, end)


def device_time(*works, repeats=30):
    """Time one call of large work between two events; several works (other inputs) take turns."""
    if MODE.simulated:
        return _wall(works[0])
    repeats = MODE.fewer(repeats, 9)
    stream = cuda.stream()
    for work in works * 2:
        work(stream)
    stream.synchronize()
    return Median.of(_between_events(works[i % len(works)], stream) for i in range(repeats))


COVER, MOST_AHEAD = 200, 10
"""µs of calls on the stream ahead of one that is timed, in which the host gets it there; the most such calls."""


def queued_time(work, before=None, repeats=30):
    """Time one call of large work that waits on the stream behind `before`, else behind calls of its own.

    Between its events nothing waits for the host: the launch is on the stream long before its turn comes.
    """
    if MODE.simulated:
        if before is not None:
            before(0)
        return _wall(work)
    repeats = MODE.fewer(repeats, 9)
    stream = cuda.stream()
    work(stream)
    calls = 1 + min(int(COVER / _between_events(work, stream)), MOST_AHEAD)

    def measure():
        for ahead in [before] if before else [work] * calls:
            ahead(stream)
        return _between_events(work, stream)

    return Median.of([measure() for _ in range(repeats + 2)][2:])


class Graph:
    """`count` identical calls of `work` captured into one graph, launched as often as wanted."""

    def __init__(self, work, count):
        stream = cuda.stream()
        work(stream)  # whatever the first call has to build is built outside the capture
        stream.synchronize()
        handle = driver.CUstream(int(stream))
        _ask(driver.cuStreamBeginCapture(handle, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED))
        try:
            for _ in range(count):
                work(stream)
        finally:
            ended = driver.cuStreamEndCapture(handle)
        self._graph = _ask(ended)
        self._instance = _ask(driver.cuGraphInstantiate(self._graph, 0))

    def __call__(self, stream):
        """Launch the graph on `stream`."""
        _ask(driver.cuGraphLaunch(self._instance, driver.CUstream(int(stream))))

    def close(self):
        """Give the graph back to the driver."""
        _ask(driver.cuGraphExecDestroy(self._instance))
        _ask(driver.cuGraphDestroy(self._graph))


def graph_time(work, repeats=30, count=100):
    """Time one call of small work: a graph of `count` calls, replayed, divided by `count`."""
    if MODE.simulated:
        return _wall(work)
    graph = Graph(work, count)
    try:
        taken = device_time(graph, repeats=repeats)
        each = Median(taken / count)
        each.noise = taken.noise
        return each
    finally:
        graph.close()


def fill(array, byte):
    """Set every byte of a device array."""
    if MODE.simulated:
        array.copy_to_device(np.frombuffer(bytes([byte]) * array.nbytes, array.dtype).reshape(array.shape))
        return
    _ask(driver.cuMemsetD8(array.__cuda_array_interface__["data"][0], byte, array.nbytes))


def copy_time(num_bytes, repeats=30):
    """Time a device-to-device copy that reads and writes `num_bytes` in total, its launch not counted."""
    if MODE.simulated:
        return None
    half = max(num_bytes // 2, 1)
    source, target = cuda.device_array(half, "u1"), cuda.device_array(half, "u1")
    to, start = target.__cuda_array_interface__["data"][0], source.__cuda_array_interface__["data"][0]
    fill(source, 1)

    def work(stream):
        _ask(driver.cuMemcpyDtoDAsync(to, start, half, driver.CUstream(int(stream))))

    return graph_time(work, repeats) if num_bytes < SMALL else queued_time(work, repeats=repeats)


def host_time(call, calls=2000, blocks=5):
    """Time what one call costs the host: `calls` calls between two synchronisations; GPU work negligible."""
    calls, blocks = MODE.fewer(calls, calls // 10), MODE.fewer(blocks, 3)
    call()
    times = []
    for _ in range(blocks):
        cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        cuda.synchronize()
        times.append((time.perf_counter() - begin) / calls * 1e6)
    return Median.of(times)


def prebuilt_launch_time():
    """Time the host's peer: `cuLaunchKernel` of an empty kernel, its one argument packed beforehand."""
    cuda.current_context()
    module = _ask(driver.cuModuleLoadData(EMPTY_KERNEL))
    function = _ask(driver.cuModuleGetFunction(module, b"empty"))
    pointer = ctypes.c_void_p(0)
    packed = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
    address = ctypes.addressof(packed)
    taken = host_time(lambda: driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, address, 0))
    _ask(driver.cuModuleUnload(module))
    return taken
