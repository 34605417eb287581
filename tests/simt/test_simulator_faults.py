"""Every fault is an exception of its class and names threads, lanes, mask and the user's line; the simulator lives on."""

import re
import time

import numpy as np
import pytest
from numba import cuda

from warpkit.errors import BarrierFault, BoundsFault, Fault, LaneFault, NoProgress, RaceFault
from warpkit.simt import simulator

FULL = 0xFFFFFFFF
HERE = re.escape(__file__)


def fault(kind, body, *args, blocks=1, threads=32):
    """Launch `body`, expect `kind`, check that the simulator still works; return the message."""
    with pytest.raises(kind) as caught:
        cuda.jit(body)[blocks, threads](*args)
    assert type(caught.value) is kind
    out = np.zeros(32, np.int64)

    @cuda.jit
    def works(out):
        out[cuda.laneid] = cuda.shfl_sync(FULL, cuda.laneid, 5)

    works[1, 32](out)
    assert (out == 5).all()
    message = str(caught.value)
    assert re.search(HERE + r":\d+", message), message
    return message


def test_all_faults_are_faults_and_bounds_are_index_errors():
    assert all(issubclass(kind, Fault) for kind in (BarrierFault, LaneFault, BoundsFault, RaceFault, NoProgress))
    assert issubclass(BoundsFault, IndexError)


def test_barrier_reached_by_part_of_a_block():
    def kernel():
        if cuda.threadIdx.x < 40:
            cuda.syncthreads()
        else:
            cuda.activemask()

    message = fault(BarrierFault, kernel, threads=64)
    assert "40 threads of block (0, 0, 0) wait" in message
    assert "24 of 64 threads never come" in message
    assert "`cuda.syncthreads()`" in message


def test_barrier_after_early_return():
    def kernel():
        if cuda.grid(1) == 35:
            return
        cuda.syncthreads()

    message = fault(BarrierFault, kernel, threads=64)
    assert "thread (35, 0, 0) of block (0, 0, 0) (warp 1, lane 3) has returned" in message


def test_two_different_barriers():
    def kernel():
        if cuda.threadIdx.x < 32:
            cuda.syncthreads()
        else:
            cuda.syncthreads()  # another one

    message = fault(BarrierFault, kernel, threads=64)
    assert "waits at another one" in message
    assert "another one`" not in message.split("but")[0]

    def kinds():
        cuda.syncthreads() if cuda.threadIdx.x < 32 else cuda.syncthreads_count(1)

    assert "another one" in fault(BarrierFault, kinds, threads=64)


def test_grid_barrier_reached_by_part_of_the_grid():
    def kernel():
        if cuda.blockIdx.x != 1:
            cuda.cg.this_grid().sync()

    assert "64 of 96 threads wait" in fault(BarrierFault, kernel, blocks=3)


def test_named_lane_that_has_returned():
    def kernel():
        if cuda.laneid == 9:
            return
        cuda.shfl_sync(FULL, 1, 0)

    message = fault(LaneFault, kernel)
    assert "shfl_sync in warp 0 of block (0, 0, 0), mask 0xffffffff: lane 9 never comes" in message
    assert "has returned" in message


def test_named_lane_that_does_not_exist():
    def kernel():
        cuda.ballot_sync(FULL, 1)

    message = fault(LaneFault, kernel, threads=48)
    assert "warp 1" in message
    assert "lane 16 never comes, it does not exist (this warp has 16 lanes)" in message


def test_named_lane_that_waits_elsewhere():
    def at_a_barrier():
        if cuda.laneid == 4:
            cuda.syncthreads()
        else:
            cuda.shfl_sync(FULL, 1, 0)

    message = fault(LaneFault, at_a_barrier)
    assert "lane 4 never comes, it waits at" in message
    assert "`cuda.syncthreads()`" in message

    def at_another_call():
        if cuda.laneid < 16:
            cuda.any_sync(FULL, 1)
        else:
            cuda.all_sync(FULL, 1)

    assert "lane 16 never comes, it waits at" in fault(LaneFault, at_another_call)


def test_masks_that_disagree():
    def kernel():
        cuda.ballot_sync(0xFF if cuda.laneid < 4 else 0xF0, 1)

    message = fault(LaneFault, kernel, threads=8)
    assert "mask 0x000000ff: lane 4 came with mask 0x000000f0, the masks disagree" in message


def test_caller_outside_its_own_mask():
    def kernel():
        cuda.ballot_sync(0x1F, 1)

    message = fault(LaneFault, kernel)
    assert "lane 5" in message
    assert "is not in its own mask 0x0000001f" in message


def test_read_of_a_lane_that_is_not_there():
    def kernel():
        if cuda.laneid < 8:
            cuda.shfl_sync(0xFF, cuda.laneid, 8)

    message = fault(LaneFault, kernel)
    assert "mask 0x000000ff: lane 0 reads lane 8, which does not take part" in message

    def meets():
        def resolve(lanes):
            raise LaneFault("lane 3 asks too much")

        simulator.meet(1, resolve, name="asking")

    assert "asking in warp 0 of block (0, 0, 0), lanes 0x0000000f without a mask: lane 3 asks too much" in fault(LaneFault, meets, threads=4)


@pytest.mark.parametrize("index", [10, -11, 2**40, np.uint32(2**32 - 1)], ids=str)
def test_index_out_of_bounds(index):
    def read(x):
        x[0] = x[index]

    def write(x):
        x[index] = 1

    def atomic(x):
        cuda.atomic.add(x, index, 1)

    for kernel in (read, write, atomic):
        message = fault(BoundsFault, kernel, np.zeros(10), threads=1)
        assert f"index {int(index)} is outside an array of shape (10,)" in message
        assert "thread (0, 0, 0) of block (0, 0, 0)" in message


def test_index_out_of_bounds_in_any_dimension_space_and_view():
    def shared():
        cuda.shared.array((4, 5), np.int32)[3, 5] = 1

    assert "index (3, 5) is outside an array of shape (4, 5) (axis 1 has 5)" in fault(BoundsFault, shared, threads=1)

    def local():
        cuda.local.array(4, np.int32)[4] = 1

    assert "index 4" in fault(BoundsFault, local, threads=1)

    def view(x):
        x[2:6][4] = 1

    assert "shape (4,)" in fault(BoundsFault, view, np.zeros(10), threads=1)


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

    assert "reads it" in race(overwrites) or "read it" in race(overwrites)

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
