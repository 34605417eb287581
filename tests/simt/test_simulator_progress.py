"""No launch hangs: spinning that nobody can end, and loops that touch nothing."""

import time

import numpy as np
from numba import cuda

from warpkit.errors import NoProgress

from .simulator_helpers import FULL, fault


def test_plain_spinning_without_a_writer():
    def kernel(flag):
        if cuda.laneid == 3:
            cuda.syncwarp(1 << 3)
        while flag[0] == 0:
            pass

    start = time.monotonic()
    message = fault(NoProgress, kernel, np.zeros(1, np.int32), blocks=2)
    assert "no progress: every running thread reads without end and nobody writes" in message
    assert "`while flag[0] == 0:`" in message
    assert time.monotonic() - start < 20


def test_spinning_in_atomics_collectives_and_at_a_barrier():
    def lock(flag):
        while cuda.atomic.cas(flag, 0, 0, 1) != 0:
            cuda.nanosleep(100)

    fault(NoProgress, lock, np.ones(1, np.int32))

    def together(flag):
        while cuda.all_sync(FULL, flag[0] == 0):
            pass

    fault(NoProgress, together, np.zeros(1, np.int32))

    def barrier(flag):
        if cuda.threadIdx.x == 0:
            while flag[0] == 0:
                pass
        cuda.syncthreads()

    assert "waits at" in fault(NoProgress, barrier, np.zeros(1, np.int32), threads=64)


def test_spinning_beside_dtypes_and_functions_of_numpy():
    item, places, reduce = np.dtype(np.float32), range(3), np.add

    def kernel(flag):
        while flag[0] == 0 and item.itemsize == 4 and len(places) == 3 and reduce.nin == 2:
            pass

    fault(NoProgress, kernel, np.zeros(1, np.int32))


def test_a_loop_that_touches_nothing_is_stopped_by_the_clock(monkeypatch):
    monkeypatch.setenv("WARPKIT_SIM_TIMEOUT", "0.5")

    def kernel():
        turns = 0
        while True:
            turns += 1

    message = fault(NoProgress, kernel)
    assert "longer than 0.5 s (WARPKIT_SIM_TIMEOUT)" in message
    assert "thread (0, 0, 0) of block (0, 0, 0)" in message


def test_long_honest_work_is_not_mistaken_for_spinning():
    @cuda.jit
    def kernel(x, out):
        total = 0
        for _ in range(40):
            for i in range(32):
                total += x[i]
            total += cuda.shfl_xor_sync(FULL, 0, 1)
        out[cuda.laneid] = total

    out = np.zeros(32, np.int64)
    kernel[1, 32](np.ones(32, np.int32), out)
    assert (out == 1280).all()


def test_counting_by_reading_one_word_is_no_spinning():
    @cuda.jit
    def kernel(x, out):
        total = x[0] - x[0]
        while total < 15000:
            total += x[0]
        out[0] = total

    out = np.zeros(1)
    kernel[1, 1](np.ones(1, np.int32), out)
    assert out[0] == 15000


def test_barriers_without_end():
    def block():
        while True:
            cuda.syncthreads()

    message = fault(NoProgress, block, threads=64, blocks=2)
    assert "every running thread comes back to where it was without end and nobody writes" in message
    assert "thread (0, 0, 0) of block (0, 0, 0) (warp 0, lane 0) and 127 more" in message
    assert "`cuda.syncthreads()`" in message

    def voting(flag):
        while cuda.syncthreads_or(flag[0]) == 0:
            pass

    fault(NoProgress, voting, np.zeros(1, np.int32), threads=64)

    def grid():
        while True:
            cuda.cg.this_grid().sync()

    assert "this_grid().sync()" in fault(NoProgress, grid, blocks=2)


def test_barriers_that_count_are_no_standstill():
    @cuda.jit
    def kernel(out):
        turns = 0
        while turns < 1000:
            cuda.syncthreads()
            turns += cuda.syncthreads_count(True) - 1
        out[cuda.threadIdx.x] = turns

    out = np.zeros(2, np.int64)
    kernel[1, 2](out)
    assert (out == 1000).all()
