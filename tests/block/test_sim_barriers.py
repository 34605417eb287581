"""What the simulator counts: the barriers that a thread meets in each collective, as the docstrings say."""

import operator

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit.simt import sync

from . import kernels


@pytest.fixture
def barriers(monkeypatch):
    """Return a function that gives the barriers met so far by all threads."""
    count = [0]
    meet = sync.simulator.barrier

    def counted(*args):
        count[0] += 1
        return meet(*args)

    monkeypatch.setattr(sync.simulator, "barrier", counted)
    return lambda: count[0]


@pytest.mark.parametrize("size", [1, 2, 3, 33, 64, 100])
def test_a12_a_tree_has_two_barriers_a_step_and_two_to_hand_out(size, barriers):
    x, out = np.arange(size, dtype=np.int32), np.zeros(size, np.int32)
    kernels.launch(kernels.one(wk.block_tree_sum), (size,), x, out, blocks=1)
    assert barriers() == size * (2 * int(np.ceil(np.log2(size))) + 2)
    assert (out == x.sum()).all()


def on_items(function, *args):
    """Return a device function of one value that runs `function` on two items."""

    @cuda.jit(device=True)
    def run(value):
        items = wk.local_array(2, np.float64)
        items[0] = items[1] = value
        function(items, *args)
        return items[0]

    return run


VALUES = {
    "reduce": (2, wk.block_sum),
    "prefix": (2, wk.block_prefix_sum),
    "inclusive": (2, wk.block_inclusive_sum),
    "total": (2, lambda value: wk.block_prefix_sum_total(value)[0]),
    "broadcast": (2, lambda value: wk.block_broadcast(value, 0)),
    "all": (1, lambda value: wk.block_all(value > 0)),
    "any": (1, lambda value: wk.block_any(value > 0)),
    "count": (1, lambda value: wk.block_count(value > 0)),
    "sync": (1, lambda value: wk.sync_block() or value),
    "shuffle": (2, lambda value: wk.block_shuffle_up(value, 3)),
    "reduce items": (2, on_items(wk.block_reduce_items, wk.add)),
    "scan items": (2, on_items(wk.block_inclusive_scan_items, wk.add)),
    "exclusive items": (2, on_items(wk.block_exclusive_scan_items, wk.add, 1)),
    "exchange": (2, on_items(wk.block_striped_to_blocked)),
    "heads": (2, on_items(wk.block_discontinuity_heads, operator.ne)),
    "tails": (2, on_items(wk.block_discontinuity_tails, operator.ne)),
    "difference": (2, on_items(wk.block_adjacent_difference, operator.sub)),
}


MANY = [(name, (300,)) for name in ("reduce", "total", "exchange")]


@pytest.mark.parametrize(("name", "shape"), [*((name, (33,)) for name in VALUES), *MANY])
def test_a_collective_has_as_many_barriers_as_its_docstring_says(name, shape, barriers):
    number, function = VALUES[name]
    x = np.arange(1, shape[0] + 1, dtype=np.float64)
    kernels.launch(kernels.one(function), shape, x, np.zeros_like(x), blocks=1)
    assert barriers() == number * shape[0]


def test_more_items_than_the_pool_holds_take_two_barriers_a_round(barriers):
    @cuda.jit
    def run(out):
        index, _, i = kernels.place()
        items = wk.local_array(20, np.complex128)
        for k in range(20):
            items[k] = index + 64 * k
        wk.block_striped_to_blocked(items)
        out[i] = items[0]

    out = np.zeros(64, np.complex128)
    kernels.launch(run, (64,), out, blocks=1)
    assert barriers() == 64 * 2 * 3  # 1280 items, 512 a round
    assert (out == 20 * np.arange(64)).all()


@pytest.mark.parametrize(
    ("threads", "size", "dtype", "number"),
    [
        (64, 4, np.float32, 0),  # a vector a thread
        (64, 3, np.float32, 1),
        (96, 7, np.complex128, 2),  # by warps, two of which the pool has room for
        (33, 3, np.float32, 2),
        (32, 17, np.complex128, 4),  # a warp has more items than the pool has room for
    ],
)
def test_a_transposed_load_has_the_barriers_of_its_docstring(threads, size, dtype, number, barriers):
    @cuda.jit
    def run(x, out):
        index, _, _ = kernels.place()
        items = wk.local_array(size, dtype)
        wk.block_load_transposed(items, x, 0)
        for k in range(size):
            out[index * size + k] = items[k]

    x = np.arange(threads * size).astype(dtype)
    out = np.zeros_like(x)
    kernels.launch(run, (threads,), x, out, blocks=1)
    assert barriers() == number * threads
    assert (out == x).all()
