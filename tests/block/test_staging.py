"""Staging: whatever the size, type and alignment, the items are there after the wait, and nothing beyond them."""

import functools

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.kinds import RECORDS
from tests.warp.matrix import SIMULATOR, label

from .kernels import place

ROOM = 1100  # items of a stage
GUARD = 5


@functools.cache
def staged(dtype):
    """Kernel: out[: num_items] = source[base :] through shared memory, and the items behind it from before the copy."""

    @cuda.jit
    def run(source, base, num_items, out):
        index, size, _ = place()
        tile = wk.shared_array(ROOM, dtype)
        for i in range(index, ROOM, size):
            tile[i] = source[0]
        wk.sync_block()
        pipe = wk.block_copy_pipeline(1)
        wk.block_copy_async(pipe, tile, source, base, num_items)
        wk.block_copy_wait(pipe, 0)
        for i in range(index, min(max(num_items, 0) + GUARD, ROOM), size):
            out[i] = tile[i]

    return run


def check(dtype, base, num_items, block=64):
    """Copy `num_items` from `base` on and compare bytes."""
    dtype = np.dtype(dtype)
    raw = np.random.default_rng(num_items + 10).integers(1, 100, (ROOM + 40) * dtype.itemsize, np.uint8)
    source = raw.view(dtype)
    out = np.zeros(ROOM, dtype)
    staged(dtype)[1, block](source, base, num_items, out)
    stored = max(num_items, 0)
    assert_same(out[:stored], source[base : base + stored])
    behind = out[stored : min(stored + GUARD, ROOM)]
    assert_same(behind, np.repeat(source[:1], len(behind)))


def assert_same(found, wanted):
    """Compare bytes, of records those of the fields: what is between fields need not survive an assignment."""
    for name in wanted.dtype.names or [...]:
        assert found[name].tobytes() == wanted[name].tobytes()


@pytest.mark.parametrize("base", [0, 1, 2, 4, 7])
@pytest.mark.parametrize("num_items", [-2, 0, 1, 3, 4, 7, 64, 255, 256, 1001])
def test_every_size_and_base(num_items, base):
    check(np.float32, base, num_items)


@pytest.mark.parametrize("base", [0, 1, 2, 8])
@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int16, np.float16, np.int32, np.float64, np.complex64, np.complex128], ids=label
)
def test_every_type(dtype, base):
    for num_items in (5, 131):
        check(dtype, base, num_items)


@pytest.mark.parametrize("name", RECORDS)
def test_records(name):
    for num_items, base in ((3, 0), (45, 1)):
        check(RECORDS[name], base, num_items)


@pytest.mark.parametrize("block", [(1,), (33,), (8, 5)], ids=str)
def test_every_block_shape(block):
    check(np.float32, 3, 50 if SIMULATOR else 500, block)


def test_a_source_that_starts_in_the_middle_of_a_word():
    memory = np.arange(900, dtype=np.uint8)
    source = memory[3:803].view(np.uint8)
    out = np.zeros(ROOM, np.uint8)
    staged(np.dtype(np.uint8))[1, 64](cuda.to_device(memory)[3:803], 1, 700, out)
    assert (out[:700] == source[1:701]).all()


@functools.cache
def two_stages(tile_items):
    """Kernel: out = source through two stages that take turns: one is copied while the other is worked on."""

    @cuda.jit
    def run(source, out):
        index, size, _ = place()
        tiles = wk.shared_array((2, tile_items), np.float32)
        pipe = wk.block_copy_pipeline(2)
        wk.block_copy_async(pipe, tiles[0], source, 0, min(tile_items, source.size))
        stage = 0
        for first in range(0, source.size, tile_items):
            following = first + tile_items
            left = min(max(source.size - following, 0), tile_items)
            wk.block_copy_async(pipe, tiles[1 - stage], source, following, left)
            wk.block_copy_wait(pipe, 1)
            for i in range(index, min(tile_items, source.size - first), size):
                out[first + i] = tiles[stage, i]
            wk.sync_block()
            stage = 1 - stage
        wk.block_copy_wait(pipe, 0)

    return run


@pytest.mark.parametrize("num_items", [2048, 1000, 256, 255, 1])
def test_acceptance_14_two_stages(num_items):
    source = np.random.default_rng(1).random(num_items, np.float32)
    out = np.zeros_like(source)
    two_stages(256 if num_items > 256 else 64)[1, 64](source, out)
    assert (out == source).all()


@cuda.jit
def modulo(out):
    """Stage the block's own items through shared memory: item i of block b is i."""
    tile = wk.shared_array(32, np.int32)
    i = cuda.threadIdx.x
    tile[i] = i
    wk.sync_block()
    out[cuda.grid(1)] = tile[31 - (31 - i)]


def test_acceptance_14_block_of_32():
    out = np.zeros(1024, np.int32)
    modulo[32, 32](out)
    assert (out == np.arange(1024) % 32).all()


@cuda.jit
def three_ahead(source, out):
    """Four stages in flight, waited for one by one; each in its own part of the memory."""
    index, size, _ = place()
    tiles = wk.shared_array((4, 40), np.int64)
    pipe = wk.block_copy_pipeline(4)
    for stage in range(4):
        wk.block_copy_async(pipe, tiles[stage], source, 40 * stage, 40)
    for stage in range(4):
        wk.block_copy_wait(pipe, 3 - stage)
        for i in range(index, 40, size):
            out[40 * stage + i] = tiles[stage, i]


def test_several_stages_in_flight():
    source = np.arange(160) * 3
    out = np.zeros_like(source)
    three_ahead[1, 32](source, out)
    assert (out == source).all()


@cuda.jit
def many_turns(source, out, turns):
    """Go around the stages many times: the phases of their barriers alternate."""
    index = place()[0]
    tiles = wk.shared_array((3, 320), np.float32)
    pipe = wk.block_copy_pipeline(3)
    for turn in range(turns + 2):
        if turn < turns:
            count = 320 if turn % 3 else 7  # with and without a bulk copy
            wk.block_copy_async(pipe, tiles[turn % 3], source, 4 * turn, count)
        if turn >= 2:
            wk.block_copy_wait(pipe, min(2, turns + 1 - turn))
            if index < 7:
                out[turn - 2, index] = tiles[(turn - 2) % 3, index]
            wk.sync_block()


def test_stages_are_used_again_and_again():
    turns = 20
    source = np.arange(4 * turns + 320, dtype=np.float32)
    out = np.zeros((turns, 7), np.float32)
    many_turns[1, 32](source, out, turns)
    assert (out == (4 * np.arange(turns))[:, None] + np.arange(7)).all()


@functools.cache
def means(width):
    """Kernel: one level of a mipmap, means of 2 × 2, tile by tile through a staged pair of rows; sizes may be odd."""

    @cuda.jit
    def run(source, rows, columns, out):
        index, size, _ = place()
        pair = wk.shared_array((2, width), np.float32)
        pipe = wk.block_copy_pipeline(2)
        for row in range(cuda.blockIdx.x, rows // 2, cuda.gridDim.x):
            for k in range(2):
                wk.block_copy_async(pipe, pair[k], source, (2 * row + k) * columns, columns)
            wk.block_copy_wait(pipe, 0)
            for c in range(index, columns // 2, size):
                total = pair[0, 2 * c] + pair[0, 2 * c + 1] + pair[1, 2 * c] + pair[1, 2 * c + 1]
                out[row * (columns // 2) + c] = total * np.float32(0.25)
            wk.sync_block()

    return run


@pytest.mark.parametrize("shape", [(32, 32), (33, 35)], ids=str)
def test_acceptance_14_mipmap(shape):
    level = np.random.default_rng(3).random(shape, np.float32)
    for _ in range(5):
        rows, columns = level.shape
        out = np.zeros((rows // 2, columns // 2), np.float32)
        means(64)[4, 32](level.ravel(), rows, columns, out.reshape(-1))
        cut = level[: rows // 2 * 2, : columns // 2 * 2].astype(np.float64)
        assert np.allclose(out, cut.reshape(rows // 2, 2, columns // 2, 2).mean(axis=(1, 3)), rtol=1e-6)
        level = out
