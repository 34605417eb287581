"""Barrier, lane and bounds faults: each names threads, lanes, mask and the user's line; the simulator lives on."""

import numpy as np
import pytest
from numba import cuda

from warpkit.errors import BarrierFault, BoundsFault, Fault, LaneFault, NoProgress, RaceFault
from warpkit.simt import simulator

from .simulator_helpers import FULL, fault


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

    assert "asking in warp 0 of block (0, 0, 0), lanes 0x0000000f without a mask: lane 3 asks too much" in fault(
        LaneFault, meets, threads=4
    )


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
