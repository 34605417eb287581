"""Reductions under random schedules: every access a switch point, blocks stalled at random; and with a fence left out.

WARPKIT_TEST_SCHEDULES sets how many schedules each runs under.
"""

import functools

import numpy as np
import pytest

from tests.block.matrix import bit_strings
from tests.block.schedules import explore, found_by
from tests.warp import operators
from warpkit import device
from warpkit.block import grid
from warpkit.errors import Fault

from .reductions import to_device
from .test_reduce_operators import append_bits

FEW = 6
POLICY = device.ReducePolicy(threads=64, loads=1, least_loads=1, single_loads=1, single_threads=32)


def any_order():
    """Return run(seed): sums, on the same scratch again and again, of grids of one to four blocks."""

    def run(seed):
        n = 100 * (1 + seed % 9)
        assert device.sum(to_device(np.arange(n)), policy=POLICY) == n * (n - 1) // 2

    return run


def in_order():
    """Return run(seed): an operator that is not commutative, with items before and behind the vectors."""

    def run(seed):
        x = bit_strings(101 + 60 * (seed % 9))[seed % 2 :]
        expected = functools.reduce(operators.py_append_bits, x.tolist())
        assert device.reduce(to_device(x), append_bits, policy=POLICY) == expected

    return run


def places():
    """Return run(seed): the place of the largest of few different items."""

    def run(seed):
        x = np.random.default_rng(seed).integers(0, 5, 700).astype(np.float32)
        assert device.argmax(to_device(x), policy=POLICY) == np.argmax(x)

    return run


@pytest.mark.parametrize("make", [any_order, in_order, places])
def test_every_schedule_gives_the_result(make):
    explore(make(), FEW)


@pytest.mark.parametrize("make", [any_order, in_order])
def test_without_fences_the_simulator_reports_it(make, monkeypatch):
    monkeypatch.setattr(grid, "fence_device", lambda: None)
    assert found_by(make(), Fault, 20) is not None
