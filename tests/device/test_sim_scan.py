"""Scans as array functions under random schedules of blocks and lanes: epochs, in place, several at once."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.block.schedules import explore
from tests.warp import operators
from warpkit import device

from .scans import NONE_FEW, fold, same

FEW = 6
TILES = device.ScanPolicy(
    threads=32, items=1, stages=2, blocks=2, ring_from=10**6, tile_threads=32, tile_items=1, **NONE_FEW
)
RINGS = device.ScanPolicy(threads=32, items=1, stages=3, blocks=2, ring_from=0)


@pytest.mark.parametrize("policy", [TILES, RINGS], ids=["tiles", "rings"])
def test_in_place_launch_after_launch(policy):
    def run(seed):
        n = 1 + 61 * seed % 230
        x = np.where(np.arange(n) % 13 == seed % 13, np.arange(n) + 1, 0)
        there, reverse = cuda.to_device(x), seed % 2 == 1
        device.inclusive_scan(there, operators.last_nonzero, out=there, reverse=reverse, policy=policy)
        same(there.copy_to_host(), np.array(fold(operators.py_last_nonzero, x.tolist(), reverse=reverse)))

    explore(run, FEW)


def test_a_count_on_the_device_and_a_count_in_turn():
    x, count = cuda.to_device(np.ones(230, np.int64)), cuda.to_device(np.array([0]))
    out = cuda.to_device(np.zeros(230, np.int64))

    def run(seed):
        n = 37 * seed % 231
        count.copy_to_device(np.array([n]))
        out.copy_to_device(np.full(230, -1))
        device.exclusive_scan(x, wk.add, out=out, init=seed, num_items=count, policy=RINGS)
        same(out.copy_to_host(), np.append(seed + np.arange(n), np.full(230 - n, -1)))

    explore(run, FEW)


@pytest.mark.parametrize("patience", [0, 1, 50])
@pytest.mark.parametrize("states", [1, 2])
@pytest.mark.parametrize("kind", ["look_until", "tile_states"])
def test_blocks_that_look_back_do_the_work_of_those_that_do_not_answer(kind, states, patience):
    none = NONE_FEW | ({kind: 10**6} if kind == "look_until" else {kind: states})
    policy = device.ScanPolicy(
        **none, look_threads=32, look_items=1, look_states=states, look_patience=patience, tile_threads=32, tile_items=1
    )
    most = 1100 * states  # more tiles than are looked at together
    x = np.arange(most) % 11 - 5
    given, out = cuda.to_device(x), cuda.to_device(np.zeros(most, np.int64))

    def run(seed):
        n = most - seed if seed % FEW == 0 else 33 + 613 * seed % 800  # one is long enough for several windows
        device.cumsum(given[:n], out=out[:n], reverse=seed % 2 == 1, policy=policy)
        wanted = np.cumsum(x[:n][::-1])[::-1] if seed % 2 else np.cumsum(x[:n])
        same(out[:n].copy_to_host(), np.ascontiguousarray(wanted))

    explore(run, FEW)
