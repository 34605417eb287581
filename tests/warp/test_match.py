"""Lanes that hold the same: masks of equal values (by their bits), and results per key."""

import numpy as np
import pytest

import warpkit as wk
from tests import reference
from tests.reference import assert_same, at, exclusive, fold

from . import kernels, operators
from .kinds import COMPOUND, RECORDS, dummies
from .matrix import FULL, MASKS, NUMBERS, WIDTHS, bit_patterns, data, label, sentinel

COUNT = 32 * len(MASKS)
TYPES = {label(t): np.dtype(t) for t in (np.bool_, *NUMBERS)}


def few(dtype, seed=40, kinds=4):
    """Return values of `dtype` of few different bit patterns; some warps hold only one."""
    rng = np.random.default_rng(seed)
    pool = bit_patterns(dtype, kinds, seed)
    index = rng.integers(0, kinds, COUNT)
    index.reshape(-1, 32)[::3] = 1
    return pool[index]


def keys_of(x):
    """Return each item's bytes."""
    size = x.dtype.itemsize
    raw = x.tobytes()
    return [raw[i : i + size] for i in range(0, len(raw), size)]


def alike(keys, warp, lanes):
    """Return, per lane, the mask of the lanes with the same key."""
    mine = at(keys, warp, lanes)
    return [sum(1 << k for k, other in zip(lanes, mine) if other == key) for key in mine]


def by_key(rule, items, keys):
    """Apply `rule` (list -> list) to the items of each key."""
    out = [None] * len(items)
    for key in set(keys):
        places = [i for i, k in enumerate(keys) if k == key]
        for place, result in zip(places, rule([items[p] for p in places])):
            out[place] = result
    return out


@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize("name", TYPES)
def test_match_compares_bits_of_every_type(name, width):
    x = few(TYPES[name])
    keys, out, same = keys_of(x), np.full(COUNT, 99, np.uint32), np.arange(COUNT) % 2 == 0
    expected = reference.over(MASKS, width, lambda w, lanes: alike(keys, w, lanes), out.copy())
    agree = reference.over(MASKS, width, lambda w, lanes: [len(set(at(keys, w, lanes))) == 1] * len(lanes), same.copy())
    kernels.launch(kernels.one(wk.warp_match_any, width), MASKS, x, out)
    kernels.launch(kernels.one(wk.warp_match_all, width), MASKS, x, same)
    assert_same(out, expected)
    assert_same(same, agree)


@pytest.mark.parametrize("width", WIDTHS)
def test_match_of_every_width_with_a_named_mask(width):
    x = few(np.int32)
    keys, out, same = keys_of(x), np.full(COUNT, 99, np.uint32), np.arange(COUNT) % 2 == 0
    expected = reference.over(MASKS, width, lambda w, lanes: alike(keys, w, lanes), out.copy())
    agree = reference.over(MASKS, width, lambda w, lanes: [len(set(at(keys, w, lanes))) == 1] * len(lanes), same.copy())
    kernels.launch(kernels.one(wk.warp_match_any, width, named=True), MASKS, x, out)
    kernels.launch(kernels.one(wk.warp_match_all, width, named=True), MASKS, x, same)
    assert_same(out, expected)
    assert_same(same, agree)


@pytest.mark.parametrize("kind", COMPOUND, ids=str)
def test_vectors_and_tuples_match_in_all_their_parts(kind):
    inputs = [few(dtype, 41 + k, kinds=2) for k, dtype in enumerate(kind.dtypes)]
    keys = list(zip(*map(keys_of, inputs)))
    out = np.full(COUNT, 99, np.uint32)
    expected = reference.over(MASKS, 32, lambda w, lanes: alike(keys, w, lanes), out.copy())
    run = kernels.columns(wk.warp_match_any, kind.build, store_mask)
    kernels.launch(run, MASKS, *dummies(inputs), *dummies([out]))
    assert_same(out, expected)


@kernels.cuda.jit(device=True)
def store_mask(v, a, b, c, d, i):
    """Write a mask to the first column."""
    a[i] = v


@pytest.mark.parametrize("name", ["rec3", "rec12", "rec24"])
def test_records_match_by_their_bytes(name):
    x, out = few(RECORDS[name]), np.full(COUNT, 99, np.uint32)
    expected = reference.over(MASKS, 32, lambda w, lanes: alike(keys_of(x), w, lanes), out.copy())
    kernels.launch(kernels.one(wk.warp_match_any), MASKS, x, out)
    assert_same(out, expected)


def test_match_tells_the_zeros_apart_and_finds_a_nan():
    x, out = np.array([0.0, -0.0, np.nan, 1.0] * 8), np.zeros(32, np.uint32)
    kernels.launch(kernels.one(wk.warp_match_any), np.array([FULL], np.uint32), x, out)
    assert (out == 0x11111111 << np.arange(32) % 4).all()


@pytest.mark.parametrize("key", [np.int32, np.uint8, np.int64], ids=label)
@pytest.mark.parametrize(
    ("dtype", "width"), [(np.int32, 32), (np.uint8, 8), (np.float32, 32), (np.float64, 16)], ids=label
)
def test_multi_prefix_sum_counts_each_key_by_itself(dtype, width, key):
    x, k, out = data("sum", dtype, COUNT), few(key), sentinel(dtype, COUNT)
    zero = np.dtype(dtype).type(0)

    def rule(warp, lanes):
        return by_key(lambda items: exclusive(np.add, items, zero), at(x, warp, lanes), at(k, warp, lanes))

    expected = reference.over(MASKS, width, rule, out.copy())
    kernels.launch(kernels.two(wk.warp_multi_prefix_sum, width), MASKS, x, k, out)
    assert_same(out, expected)


@pytest.mark.parametrize("named", [False, True], ids=["implicit", "named"])
@pytest.mark.parametrize("width", WIDTHS)
def test_multi_reduce_folds_each_key_in_order(width, named):
    x = np.random.default_rng(42).integers(0, 2, COUNT) << 6 | 1
    k, out = few(np.int32), sentinel(np.int64, COUNT)

    def rule(warp, lanes):
        total = lambda items: [fold(operators.py_append_bits, items)] * len(items)
        return by_key(total, at(x, warp, lanes), at(k, warp, lanes))

    expected = reference.over(MASKS, width, rule, out.copy())
    run = kernels.two_with_op(wk.warp_multi_reduce, operators.append_bits, width, named)
    kernels.launch(run, MASKS, x, k, out)
    assert_same(out, expected)
