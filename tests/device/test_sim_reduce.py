"""Reductions under random schedules: every access a switch point, blocks stalled at random; and with parts taken out.

WARPKIT_TEST_SCHEDULES sets how many schedules each runs under.
"""

import functools
from dataclasses import replace

import numpy as np
import pytest

from tests.block.matrix import bit_strings
from tests.block.schedules import explore, found_by
from tests.block.test_sim_protocols import plain_add, plain_store
from tests.warp import operators
from warpkit import device
from warpkit.device import reduce_blocks, reduce_few
from warpkit.errors import Fault
from warpkit.simt import memory, states

from .reductions import to_device
from .test_reduce_operators import append_bits

FEW = 6
POLICY = device.ReducePolicy(threads=64, loads=1, least_loads=1, single_loads=1, single_threads=32, few_until=0)
FEW_ITEMS = replace(POLICY, few_until=1 << 10)


def any_order(policy=POLICY):
    """Return run(seed): sums, on the same scratch again and again, of grids of one to four blocks."""

    def run(seed):
        n = 100 * (1 + seed % 9)
        assert device.sum(to_device(np.arange(n)), policy=policy) == n * (n - 1) // 2

    return run


def few_items():
    """Return run(seed): such sums by the kernels of few items, of one to eight blocks."""
    return any_order(FEW_ITEMS)


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


def places_of_doubles(policy=POLICY):
    """Return run(seed): pairs of 16 bytes, whose tag is released after them."""

    def run(seed):
        x = np.random.default_rng(seed).integers(0, 5, 700).astype(np.float64)
        assert device.argmax(to_device(x), policy=policy) == np.argmax(x)

    return run


def few_places_of_doubles():
    """Return run(seed): the same by the kernels of few items."""
    return places_of_doubles(FEW_ITEMS)


@pytest.mark.parametrize("make", [any_order, few_items, in_order, places, places_of_doubles, few_places_of_doubles])
def test_every_schedule_gives_the_result(make):
    explore(make(), FEW)


# What is taken out: who notices, the module that calls it, its name there, what stands in its place.
REMOVED = {
    "totals stored plainly": (any_order, states, "store_relaxed", plain_store),
    "totals stored plainly, in order": (in_order, states, "store_relaxed", plain_store),
    "blocks not counted in one step": (any_order, reduce_blocks, "atomic_add", plain_add),
    "few: totals stored plainly": (few_items, states, "store_relaxed", plain_store),
    "few: blocks not counted in one step": (few_items, reduce_few, "atomic_add", plain_add),
    "few: no release behind a long total": (few_places_of_doubles, states, "store_release", memory.store_relaxed),
    "no release behind a long total": (places_of_doubles, states, "store_release", memory.store_relaxed),
}


@pytest.mark.parametrize("what", REMOVED)
def test_what_is_taken_out_is_reported(what, monkeypatch):
    make, module, name, instead = REMOVED[what]
    monkeypatch.setattr(module, name, instead)
    assert found_by(make(), Fault, 20) is not None


def test_a_total_that_is_still_on_its_way_is_awaited(monkeypatch):
    """The last block looks again: here the first look finds nothing."""
    looks, end_load = [], reduce_blocks.end_load

    def too_early(store, begun, index, epoch, like):
        looks.append(index)
        return like, states.ABSENT

    monkeypatch.setattr(reduce_blocks, "end_load", too_early)
    any_order()(8)
    assert len(looks) > 1
    monkeypatch.setattr(reduce_blocks, "end_load", end_load)
    any_order()(8)
