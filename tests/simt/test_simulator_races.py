"""Races on shared memory are reported always, with both lines; what barriers and atomics order is not."""

import numpy as np
import pytest
from numba import cuda

from warpkit.errors import RaceFault

from .simulator_helpers import FULL, fault


def race(body, threads=64):
    return fault(RaceFault, body, threads=threads)


def test_read_of_shared_memory_that_no_barrier_separates_from_the_write():
    def kernel():
        s = cuda.shared.array(64, np.int32)
        s[cuda.threadIdx.x] = 1
        s[63 - cuda.threadIdx.x]

    message = race(kernel)
    assert "a shared array of int32, shape (64,)" in message
    assert message.count(__file__) == 2
    assert "`s[cuda.threadIdx.x] = 1`" in message
    assert "`s[63 - cuda.threadIdx.x]`" in message


def test_write_after_read_and_different_writes():
    def overwrites():
        s = cuda.shared.array(64, np.int32)
        t = cuda.threadIdx.x
        s[t] = 1
        cuda.syncthreads()
        value = s[(t + 40) % 64]
        s[t] = value + 1

    assert "reads it" in race(overwrites)

    def next_one():
        s = cuda.shared.array(64, np.int32)
        t = cuda.threadIdx.x
        s[t] = 1
        cuda.syncthreads()
        value = s[(t + 1) % 64]
        s[t] = value + 1

    message = race(next_one)
    assert "thread (1, 0, 0) of block (0, 0, 0) (warp 0, lane 1) writes it" in message
    assert "thread (0, 0, 0) of block (0, 0, 0) (warp 0, lane 0) read it" in message

    def both_write():
        cuda.shared.array(1, np.int32)[0] = cuda.threadIdx.x

    assert "writes it" in race(both_write)


def test_scratch_used_twice_without_a_barrier_between():
    def kernel():
        def exchange(value):
            s[cuda.threadIdx.x] = value
            cuda.syncthreads()
            return s[63 - cuda.threadIdx.x]

        s = cuda.shared.array(64, np.int32)
        exchange(1)
        exchange(2)

    race(kernel)


def test_plain_zeroing_before_atomics_needs_a_barrier_and_so_does_reading_after():
    def zeroing():
        s = cuda.shared.array(1, np.int32)
        if cuda.threadIdx.x == 0:
            s[0] = 0
        cuda.atomic.add(s, 0, 1)

    assert "atomically" in race(zeroing)

    def reading():
        s = cuda.shared.array(1, np.int32)
        if cuda.threadIdx.x == 0:
            s[0] = 0
        cuda.syncthreads()
        cuda.atomic.add(s, 0, 1)
        s[0]

    assert "atomically" in race(reading)


def test_a_shuffle_is_no_memory_barrier_and_syncwarp_orders_its_lanes_only():
    def shuffled():
        s = cuda.shared.array(32, np.int32)
        s[cuda.laneid] = 1
        cuda.shfl_sync(FULL, 1, 0)
        s[31 - cuda.laneid]

    race(shuffled, 32)

    def other_half():
        s = cuda.shared.array(32, np.int32)
        s[cuda.laneid] = 1
        cuda.syncwarp(0xFFFF if cuda.laneid < 16 else 0xFFFF0000)
        s[31 - cuda.laneid]

    race(other_half, 32)


def test_overlapping_items_of_different_sizes_race_too():
    def kernel():
        wide, narrow = cuda.shared.array(0, np.int64), cuda.shared.array(0, np.uint8)
        if cuda.threadIdx.x == 0:
            wide[0] = 1
        else:
            narrow[7] = 1

    with pytest.raises(RaceFault):
        cuda.jit(kernel)[1, 2, 0, 64]()


def test_no_race_between_barriers_equal_writes_atomics_and_lanes_after_syncwarp():
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        s, n, flag = cuda.shared.array(64, np.int32), cuda.shared.array(1, np.int32), cuda.shared.array(1, np.int8)
        flag[0] = 1
        if t == 0:
            n[0] = 0
        s[t] = t
        cuda.syncwarp()
        value = s[t ^ 1]
        cuda.syncthreads()
        s[t] = value
        cuda.atomic.add(n, 0, 1)
        cuda.syncthreads()
        out[t] = s[63 - t] + n[0] + flag[0]

    out = np.zeros(64, np.int64)
    kernel[1, 64](out)
    assert (out == ((63 - np.arange(64)) ^ 1) + 65).all()


@pytest.mark.parametrize("step", [1, 2])
def test_a_slice_is_every_item_of_it(step):
    """A run of items is looked at as one, and the fault names the byte that two threads touch."""

    def kernel(out):
        shared = cuda.shared.array(16, np.int32)
        if cuda.threadIdx.x == 0:
            out[0] = shared[6]
        elif cuda.threadIdx.x == 1:
            out[1] = shared[12]
        elif cuda.threadIdx.x == 2:
            shared[2:12:step] = 7

    message = fault(RaceFault, kernel, np.zeros(2))
    assert "race on byte 24 of a shared array" in message
