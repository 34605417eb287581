"""Look-back: every tile gets what all tiles before it add up to, whatever the type, operator, grid and history."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.reference import exclusive
from tests.warp import operators
from tests.warp.matrix import SIMULATOR, label
from warpkit.simt import machine

from . import tiles
from .tiles import values

ONES = 100 if SIMULATOR else 102_400
GRID = 12  # blocks; the simulator keeps at most 8 resident, and a GPU test below starts far more than fit


@pytest.mark.parametrize("kernel", [tiles.prefixes, tiles.published_ahead], ids=["at_once", "ahead"])
def test_acceptance_9_ones(kernel):
    x = np.ones(ONES, np.int32)
    found = tiles.run(kernel(wk.add), wk.tile_states(ONES, np.int32), x, GRID, 16 if SIMULATOR else 128)
    assert (found == np.arange(ONES)).all()  # exclusive; with the tile's own aggregate i + 1


def test_acceptance_9_fourteen_tiles():
    x = np.arange(14, dtype=np.uint32)
    found = tiles.run(tiles.prefixes(wk.add), wk.tile_states(14, np.uint32), x, 5, 64)
    assert ((found + x) == np.arange(14) * np.arange(1, 15) // 2).all()


@pytest.mark.parametrize("shape", [(1,), (5,), (33,), (8, 5), (3, 5, 7)], ids=str)
def test_every_block_shape(shape):
    x = values(np.int32, 37)
    found = tiles.run(tiles.published_ahead(wk.add), wk.tile_states(37, np.int32), x, 4, shape)
    assert (found == tiles.sums(x)).all()


@pytest.mark.parametrize("grid", [1, 2, (3, 2), 40], ids=str)
def test_every_grid_more_blocks_than_tiles_too(grid):
    x = values(np.int64, 30)
    found = tiles.run(tiles.prefixes(wk.add), wk.tile_states(30, np.int64), x, grid, 8)
    assert (found == tiles.sums(x)).all()


@pytest.mark.parametrize("name", ["last_nonzero", "append_bits"])
def test_operands_stay_in_tile_order(name):
    op, meaning = getattr(operators, name), getattr(operators, f"py_{name}")
    if name == "append_bits":  # 58 bits of one bit each
        x = (np.random.default_rng(5).integers(0, 2, 50) << 6 | 1).astype(np.int64)
    else:
        x = np.zeros(90, np.int64)
        x[[10, 50, 63, 64]] = 7, 9, 11, 12
    for kernel in (tiles.prefixes(op), tiles.published_ahead(op)):
        found = tiles.run(kernel, wk.tile_states(len(x), np.int64), x, GRID, 16)
        assert found.tolist() == exclusive(meaning, x.tolist(), 0)


def test_launch_after_launch_without_a_reset():
    states = wk.tile_states(50, np.int32)
    for launch, count in enumerate([35, 1, 33, 0, 35, 2] if SIMULATOR else [50, 1, 33, 0, 49] * 200):
        x = values(np.int32, count, launch)
        kernel = tiles.published_ahead(wk.add) if launch % 2 else tiles.prefixes(wk.add)
        assert (tiles.run(kernel, states, x, 1 + launch % 5, 8) == tiles.sums(x)).all()


def words(states):
    """Return a host copy of states as 32-bit words."""
    return machine.to_host(states).view(np.uint32)


def at_epoch(capacity, dtype, epoch):
    """Return states as they are after `epoch` launches of no tile."""
    states = wk.tile_states(capacity, dtype)
    states.view(np.int64)[:1].copy_to_device(np.array([epoch << 32], np.uint64).view(np.int64))
    return states


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.complex128], ids=label)
@pytest.mark.parametrize("epoch", [2**30 - 2, 2**31 - 2, 2**32 - 2], ids=["tag", "sign", "counter"])
def test_epochs_wrap(dtype, epoch):
    states = at_epoch(40, dtype, epoch)
    for launch in range(4):
        x = values(dtype, 10 + launch, launch)
        assert (tiles.run(tiles.prefixes(wk.add), states, x, 3, 8) == tiles.sums(x)).all()


def test_no_state_survives_until_its_epoch_comes_again():
    capacity, used = 12, 3
    states = wk.tile_states(capacity, np.int32)
    tiles.run(tiles.prefixes(wk.add), states, np.ones(capacity, np.int32), 2, 8)
    old = words(states)[2 * 16 + 1 :: 2]  # the tags, past the head of 16 states
    assert (old == 2).sum() == capacity  # all inclusive, in epoch 0
    for _ in range(capacity):
        tiles.run(tiles.prefixes(wk.add), states, np.ones(used, np.int32), 2, 8)
    tags = words(states)[2 * 16 + 1 :: 2]
    assert (tags[:used] == 4 * capacity + 2).all()
    assert (tags[used:] % 4 == 0).all()


@cuda.jit
def in_turn(first, second, num_tiles, x, y, out_x, out_y):
    """Two look-backs at once, of different types, drawn in turn."""
    t = wk.lookback_next_tile(first, num_tiles)
    u = wk.lookback_next_tile(second, num_tiles)
    while t >= 0 or u >= 0:
        if t >= 0:
            wk.lookback_publish(first, t, x[t])
        if u >= 0:
            out_y[u] = wk.lookback_exclusive_prefix(second, u, y[u], wk.add, 0)
            u = wk.lookback_next_tile(second, num_tiles)
        if t >= 0:
            out_x[t] = wk.lookback_exclusive_prefix(first, t, x[t], wk.add, 0)
            t = wk.lookback_next_tile(first, num_tiles)


@pytest.mark.parametrize("dtypes", [(np.int32, np.int32), (np.int32, np.float64), (np.complex128, np.int8)], ids=str)
def test_two_look_backs_in_one_kernel(dtypes):
    states = [wk.tile_states(20, dtype) for dtype in dtypes]
    for launch in range(2):
        x, y = (values(dtype, 20, launch) for dtype in dtypes)
        outs = np.zeros_like(x), np.zeros_like(y)
        in_turn[4, 8](*states, 20, x, y, *outs)
        assert (outs[0] == tiles.sums(x)).all()
        assert (outs[1] == tiles.sums(y)).all()


@cuda.jit
def with_stalls(states, num_tiles, stalled, x, out):
    """Every `stalled`-th tile is late: before it publishes, and the next one before it asks."""
    tile = wk.lookback_next_tile(states, num_tiles)
    while tile >= 0:
        if tile % stalled == stalled - 1:
            for _ in range(30):
                cuda.nanosleep(1000)
        wk.lookback_publish(states, tile, x[tile])
        if tile % stalled == 0:
            for _ in range(30):
                cuda.nanosleep(1000)
        out[tile] = wk.lookback_exclusive_prefix(states, tile, x[tile], operators.last_nonzero, 0)
        tile = wk.lookback_next_tile(states, num_tiles)


@pytest.mark.parametrize("stalled", [2, 7, 40])
def test_stalled_tiles(stalled):
    x = np.where(np.arange(45) % 11 == 5, np.arange(45), 0).astype(np.int32)
    out = np.zeros_like(x)
    with_stalls[5, 4](wk.tile_states(45, np.int32), 45, stalled, x, out)
    assert out.tolist() == exclusive(operators.py_last_nonzero, x.tolist(), 0)


@cuda.jit
def leaves_early(states, num_tiles):
    """Draw one tile and go: what a launch that was aborted leaves behind."""
    wk.lookback_next_tile(states, num_tiles)


def test_reset_after_an_aborted_launch():
    states = wk.tile_states(20, np.int32)
    leaves_early[3, 8](states, 20)
    wk.reset_tile_states(states)
    x = values(np.int32, 20)
    assert (tiles.run(tiles.prefixes(wk.add), states, x, 3, 8) == tiles.sums(x)).all()


@cuda.jit
def filtered(first, second, num_tiles, x, sums, places):
    """Two look-backs with the same tile numbers; the second depends on the first."""
    tile = wk.lookback_next_tile(first, num_tiles, also=second)
    while tile >= 0:
        before = wk.lookback_exclusive_prefix(first, tile, x[tile], wk.add, 0)
        sums[tile] = before
        places[tile] = wk.lookback_exclusive_prefix(second, tile, before % 2, wk.add, 0)
        tile = wk.lookback_next_tile(first, num_tiles, also=second)


@pytest.mark.parametrize("dtype", [np.int32, np.int64], ids=label)
def test_a_second_look_back_with_the_same_tile_numbers(dtype):
    first, second = wk.tile_states(20, dtype), wk.tile_states(25, np.int32)
    for count in (20, 3, 17):
        x = np.random.default_rng(count).integers(0, 9, count).astype(dtype)
        sums, places = np.zeros_like(x), np.zeros(count, np.int32)
        filtered[3, 8](first, second, count, x, sums, places)
        assert (sums == tiles.sums(x)).all()
        assert (places == tiles.sums((sums % 2).astype(np.int32))).all()
