"""The kernels and transfers of suite `claims` that are about memory: who reads what, and who waits for a copy."""

import statistics
import time

import numpy as np
from numba import cuda

import warpkit as wk

from .claim_kernels import THREADS

CHUNKS = 8
"""In how many parts a transfer that overlaps with work is cut."""


@cuda.jit
def strided_before(x, out):
    """Neighbouring lanes read items that are 32 apart; in all every item is read once, a row of blocks a column."""
    row, column = cuda.grid(2)
    out[column * cuda.gridDim.x * cuda.blockDim.x + row] = x[(row << 5) + column]


@cuda.jit
def coalesced(x, out):
    """Neighbouring lanes read neighbouring items."""
    i = cuda.grid(1)
    out[i] = x[i]


@cuda.jit
def vectorized(x, out):
    """Four items a thread in accesses of 16 bytes."""
    items = wk.local_array(4, np.int32)
    base = 4 * THREADS * cuda.blockIdx.x
    wk.block_load_vectorized(items, x, base)
    wk.block_store_vectorized(items, out, base)


@cuda.jit(device=True)
def transpose_through(tile, x, out):
    """Transpose a tile of 32 × 32 through shared memory, 8 rows at a time."""
    row, column, lane = 32 * cuda.blockIdx.y, 32 * cuda.blockIdx.x, cuda.threadIdx.x
    for k in range(cuda.threadIdx.y, 32, 8):
        tile[k, lane] = x[row + k, column + lane]
    wk.sync_block()
    for k in range(cuda.threadIdx.y, 32, 8):
        out[column + k, row + lane] = tile[lane, k]


@cuda.jit
def tile_before(x, out):
    """A tile of 32 × 32: the lanes of a warp read a column of it from one bank."""
    transpose_through(wk.shared_array((32, 32), np.int32), x, out)


@cuda.jit
def tile_after(x, out):
    """A tile of 32 × 33: from 32 banks."""
    transpose_through(wk.shared_array((32, 33), np.int32), x, out)


@cuda.jit
def work_on(x, out):
    """Some arithmetic an item, for copies to overlap with."""
    i = cuda.grid(1)
    if i < x.size:
        value = x[i]
        for _ in range(64):
            value = (value * 5 + 1) & 1023
        out[i] = value


class Transfer:
    """Bring `x` to the GPU, work on it and bring the result back, in several ways; the host waits at the end."""

    def __init__(self, x):
        self.pageable = x.copy(), np.empty_like(x)
        self.pinned = cuda.pinned_array(x.size, x.dtype), cuda.pinned_array(x.size, x.dtype)
        self.pinned[0][:] = x
        self.device = cuda.device_array(x.size, x.dtype), cuda.device_array(x.size, x.dtype)
        self.streams = [cuda.stream(), cuda.stream()]
        self.size = x.size

    def upload(self, host):
        """Only bring it there."""
        self.device[0].copy_to_device(host[0], stream=self.streams[0])
        self.streams[0].synchronize()

    def in_order(self, host):
        """Upload, work, download, each all of it."""
        stream = self.streams[0]
        self.part(host, slice(0, self.size), stream)
        stream.synchronize()

    def overlapped(self, host):
        """The same in parts, on two streams: one part is copied while another one is worked on."""
        length = -(-self.size // CHUNKS)
        for k in range(CHUNKS):
            part = slice(k * length, min((k + 1) * length, self.size))
            self.part(host, part, self.streams[k & 1])
        for stream in self.streams:
            stream.synchronize()

    def part(self, host, part, stream):
        """Enqueue the three steps for some of the items."""
        source, target = (array[part] for array in self.device)
        source.copy_to_device(host[0][part], stream=stream)
        work_on[-(-source.size // THREADS), THREADS, stream](source, target)
        target.copy_to_host(host[1][part], stream=stream)


def worked_on(x):
    """Return what `work_on` computes, by NumPy."""
    table = np.arange(1024, dtype=x.dtype)
    for _ in range(64):
        table = (table * 5 + 1) & 1023
    return table[x]


def host_time(call, repeats=11):
    """Return the median time of a call that waits for the GPU itself."""
    call()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(times)


def measure_transfers(x):
    """Return times of (pageable upload, pinned upload, all in order from pageable, from pinned, overlapped)."""
    transfer, expected = Transfer(x), worked_on(x)
    times = [host_time(lambda host=host: transfer.upload(host)) for host in (transfer.pageable, transfer.pinned)]
    ways = (
        (transfer.in_order, transfer.pageable),
        (transfer.in_order, transfer.pinned),
        (transfer.overlapped, transfer.pinned),
    )
    for way, host in ways:
        host[1][:] = -1
        times.append(host_time(lambda: way(host)))  # noqa: B023
        if not np.array_equal(host[1], expected):
            raise ValueError(f"wrong values {way.__name__}")
    return times
