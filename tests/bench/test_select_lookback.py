"""The benchmark's kernel of a user's: it keeps what it says, in tiles of any size, on arrays that end anywhere."""

import types
from pathlib import Path

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from bench import select_lookback
from tests.warp.matrix import SIMULATOR


def of_small_tiles():
    """Return the module with the smallest tiles of its kind: the simulator runs every thread."""
    lines = Path(select_lookback.__file__).read_text(encoding="utf-8").splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("THREADS, ITEMS"))
    lines[at] = "THREADS, ITEMS, STAGES, AHEAD, BLOCKS = 64, 5, 4, 2, 1"
    module = types.ModuleType("small")
    exec(compile("\n".join(lines), select_lookback.__file__, "exec"), module.__dict__)
    return module


MODULE = of_small_tiles() if SIMULATOR else select_lookback
TILE = MODULE.TILE


@pytest.mark.parametrize("count", [1, 6, TILE, TILE + 1, 3 * TILE - 7, 11 * TILE + 3])
@pytest.mark.parametrize("grid", [1, 3])
def test_it_keeps_what_it_says_launch_after_launch(count, grid):
    states = wk.tile_states(-(-count // TILE), np.int32)
    for seed in range(2):
        x = np.random.default_rng(seed).integers(-(2**31), 2**31, count).astype(np.int32)
        wanted = x[np.cumsum(x & 1) & 1 == 1]
        out, found = cuda.to_device(np.full(count, -1, np.int32)), cuda.to_device(np.full(1, -1, np.int64))
        wk.launch(
            MODULE.map_scan_select, grid, MODULE.THREADS, cuda.to_device(x), states, out, found,
            shared=MODULE.odd_counts.shared_bytes,
        )  # fmt: skip
        assert found.copy_to_host()[0] == len(wanted)
        np.testing.assert_array_equal(out.copy_to_host(), np.append(wanted, np.full(count - len(wanted), -1)))


@pytest.mark.parametrize("value", [0, 1, 2, 3])
def test_items_that_are_all_alike(value):
    x = np.full(3 * TILE + 2, value, np.int32)
    out, found = cuda.to_device(np.full(x.size, -1, np.int32)), cuda.to_device(np.full(1, -1, np.int64))
    states = wk.tile_states(4, np.int32)
    given = cuda.to_device(x), states, out, found
    wk.launch(MODULE.map_scan_select, 2, MODULE.THREADS, *given, shared=MODULE.odd_counts.shared_bytes)
    assert found.copy_to_host()[0] == ((x.size + 1) // 2 if value & 1 else 0)
