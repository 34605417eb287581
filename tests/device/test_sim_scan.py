"""Scans as array functions under random schedules of blocks and lanes: epochs, in place, several at once."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.block.schedules import explore
from tests.warp import operators
from warpkit import device

from .scans import fold, same

FEW = 6
TILES = device.ScanPolicy(threads=32, items=1, stages=2, blocks=2, ring_from=10**6, tile_threads=32, tile_items=1)
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
