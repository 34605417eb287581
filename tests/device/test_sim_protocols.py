"""Scan and select under random schedules of blocks and lanes, launch after launch on the same states."""

import numpy as np
import pytest

import warpkit as wk
from tests.block.schedules import explore
from tests.reference import inclusive
from tests.warp import operators
from warpkit.device import select_keep, select_runs, select_tile
from warpkit.device.select_kernel import Compaction
from warpkit.device.tiles import TileShape

from . import kernels

FEW = 12
TINY = TileShape(32, 1, 3, 2)


def scans(ring):
    """Return run(seed): a non-commutative scan of a few tiles."""
    kept = wk.tile_states(9, np.int64)

    def run(seed):
        count = 1 + 37 * seed % 280
        x = np.where(np.arange(count) % 11 == seed % 11, np.arange(count) + 1, 0)
        found = kernels.scan(
            x, operators.last_nonzero, shape=TINY, grid=1 + seed % 4, ring=ring, states=kept, reverse=seed % 3 == 0
        )
        wanted = x[::-1] if seed % 3 == 0 else x
        wanted = inclusive(operators.py_last_nonzero, wanted.tolist())
        assert found.tolist() == (wanted[::-1] if seed % 3 == 0 else wanted)

    return run


def sums(ring):
    """Return run(seed): sums, with whole warps, whose lanes look at tiles in turn."""
    kept = wk.tile_states(9, np.int64)
    shape = TileShape(32, 1, 2)

    def run(seed):
        x = np.random.default_rng(seed).integers(-9, 9, 1 + 37 * seed % 280)
        found = kernels.scan(x, wk.add, shape=shape, grid=1 + seed % 4, ring=ring, states=kept, init=seed)
        assert found.tolist() == (seed + np.cumsum(x)).tolist()

    return run


def long_walks(ring):
    """Return run(seed): a non-commutative scan of many tiles, of states that are read in more than one access."""
    kept = wk.tile_states(12, np.complex128)
    shape = TileShape(32, 1, 2)

    def run(seed):
        count = 1 + 111 * seed % 380
        x = np.where(np.arange(count) % 35 == seed % 35, np.arange(count) + 1j, 0)
        found = kernels.scan(x, operators.last_nonzero, shape=shape, grid=1 + seed % 6, ring=ring, states=kept)
        assert found.tolist() == inclusive(operators.py_last_nonzero, x.tolist())

    return run


def runs(ring):
    """Return run(seed): runs of a few tiles, each with its length."""
    kept = wk.tile_states(9, (np.uint32,) * 3)
    what = Compaction(
        np.dtype(np.int32),
        select_keep.keep_changed,
        led=True,
        previous=select_keep.previous_in_slot,
        positioned=True,
        move=select_tile.move_both,
        summarise=select_runs.as_runs,
        op=select_runs.join_runs,
        zero=select_runs.NO_RUNS,
        emit=select_runs.emit_runs,
        finish=select_runs.finish_runs,
    )

    def run(seed):
        x = np.sort(np.random.default_rng(seed).integers(0, 1 + seed % 40, 1 + 37 * seed % 280)).astype(np.int32)
        values, lengths, _ = kernels.compact(x, what, shape=TINY, grid=1 + seed % 4, ring=ring, states=kept)
        wanted = np.unique(x, return_counts=True)
        assert values.tolist() == wanted[0].tolist()
        assert lengths.tolist() == wanted[1].tolist()

    return run


@pytest.mark.parametrize("ring", [True, False], ids=["ring", "tiles"])
@pytest.mark.parametrize("make", [scans, sums, long_walks, runs])
def test_right_under_random_schedules(make, ring):
    explore(make(ring), FEW)
