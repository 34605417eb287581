"""Misuse of staging that a GPU answers with wrong items: the simulator says so."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk


def run(body, *arrays, threads=32):
    """Launch a kernel of one block."""
    cuda.jit(body)[1, threads](*arrays)


def test_without_a_wait_the_items_are_poison():
    def forgets(x, out):
        tile = wk.shared_array(32, np.float32)
        pipe = wk.block_copy_pipeline(1)
        wk.block_copy_async(pipe, tile, x, 0, 32)
        wk.sync_block()
        out[cuda.threadIdx.x] = tile[cuda.threadIdx.x]

    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    run(forgets, x, out)
    assert (out.view(np.uint32) == 0xCDCDCDCD).all()


def test_a_wait_that_leaves_the_stage_in_flight():
    def leaves(x, out):
        tile = wk.shared_array(32, np.int32)
        pipe = wk.block_copy_pipeline(2)
        wk.block_copy_async(pipe, tile, x, 0, 32)
        wk.block_copy_wait(pipe, 1)
        out[cuda.threadIdx.x] = tile[cuda.threadIdx.x]

    out = np.zeros(32, np.int32)
    run(leaves, np.arange(32, dtype=np.int32), out)
    assert (out.view(np.uint32) == 0xCDCDCDCD).all()


def test_reading_before_the_wait_is_a_race():
    def reads(x, out):
        tile = wk.shared_array(32, np.int32)
        pipe = wk.block_copy_pipeline(1)
        wk.block_copy_async(pipe, tile, x, 0, 32)
        out[cuda.threadIdx.x] = tile[31 - cuda.threadIdx.x]
        wk.block_copy_wait(pipe, 0)

    with pytest.raises(wk.RaceFault, match=r"block_copy_async|tile"):
        run(reads, np.arange(32, dtype=np.int32), np.zeros(32, np.int32))


def test_copying_into_a_tile_that_is_still_read_is_a_race():
    def hurries(x, out):
        tile = wk.shared_array(64, np.int32)
        pipe = wk.block_copy_pipeline(1)
        for first in range(0, 128, 64):
            wk.block_copy_async(pipe, tile, x, first, 64)
            wk.block_copy_wait(pipe, 0)
            out[first + cuda.threadIdx.x] = tile[63 - cuda.threadIdx.x]  # and no barrier before the next copy

    with pytest.raises(wk.RaceFault):
        run(hurries, np.arange(128, dtype=np.int32), np.zeros(128, np.int32), threads=64)


def test_more_stages_in_flight_than_the_pipeline_has():
    def crowds(x):
        tile = wk.shared_array((3, 8), np.int32)
        pipe = wk.block_copy_pipeline(2)
        for stage in range(3):
            wk.block_copy_async(pipe, tile[stage], x, 0, 8)

    with pytest.raises(wk.Fault, match="3 stages in flight in a pipeline of 2"):
        run(crowds, np.zeros(8, np.int32))


@pytest.mark.parametrize("count", [33, 40])
def test_beyond_the_target_or_the_source(count):
    def overruns(x, out):
        tile = wk.shared_array(32, np.int32)
        pipe = wk.block_copy_pipeline(1)
        wk.block_copy_async(pipe, tile, x, 0, count)

    with pytest.raises(wk.BoundsFault, match="block_copy_async"):
        run(overruns, np.zeros(64, np.int32), np.zeros(1, np.int32))
    with pytest.raises(wk.BoundsFault, match="block_copy_async"):
        run(lambda x: from_end(x), np.zeros(20, np.int32))


@cuda.jit(device=True)
def from_end(x):
    """Copy more than there is behind `base`."""
    tile = wk.shared_array(32, np.int32)
    pipe = wk.block_copy_pipeline(1)
    wk.block_copy_async(pipe, tile, x, 10, 11)
