"""Sorting over the logical warp: ascending, pairs stable, every type that has an order."""

import numpy as np
import pytest

import warpkit as wk
from tests import reference
from tests.reference import assert_same, at

from . import kernels
from .kernels import cuda
from .matrix import FULL, MASKS, REALS, WIDTHS, bit_patterns, data, label, sentinel

WHOLE = np.full(8, FULL, np.uint32)


def in_order(x, warp, lanes):
    """Return the values of these lanes, ascending."""
    return np.sort(np.array(at(x, warp, lanes)), kind="stable")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", REALS, ids=label)
def test_values_ascend_over_the_logical_warp(dtype, width):
    x, out = data("sum", dtype, 256), sentinel(dtype, 256)
    x[:64] = bit_patterns(np.uint8, 64).astype(dtype) % 4  # repeats
    expected = reference.over(WHOLE, width, lambda warp, lanes: in_order(x, warp, lanes), out.copy())
    kernels.launch(kernels.one(wk.warp_sort, width), WHOLE, x, out)
    assert_same(out, expected)


@pytest.mark.parametrize("named", [False, True], ids=["implicit", "named"])
@pytest.mark.parametrize("width", [32, 8])
def test_participants_sort_among_themselves(width, named):
    count = 32 * len(MASKS)
    x, out = data("sum", np.int32, count), sentinel(np.int32, count)
    expected = reference.over(MASKS, width, lambda warp, lanes: in_order(x, warp, lanes), out.copy())
    kernels.launch(kernels.one(wk.warp_sort, width, named), MASKS, x, out)
    assert_same(out, expected)


@cuda.jit(device=True)
def store_both(v, a, b, i):
    """Write a key and its value."""
    a[i] = v[0]
    b[i] = v[1]


def pairs_kernel(width):
    """Return the kernel (out_key[i], out_value[i]) = warp_sort_pairs(key[i], value[i])."""

    @cuda.jit
    def run(masks, key, value, out_key, out_value):
        i = cuda.grid(1)
        if kernels.takes_part(masks[i // 32], i):
            store_both(wk.warp_sort_pairs(key[i], value[i], width=width), out_key, out_value, i)

    return run


PAIRS = {width: pairs_kernel(width) for width in (32, 16, 4)}


@pytest.mark.parametrize("width", PAIRS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.float32, np.float64], ids=label)
def test_pairs_are_stable(dtype, width):
    key = (bit_patterns(np.uint8, 256) % 5).astype(dtype)
    if np.dtype(dtype).kind != "u":
        key -= 2
    value = np.arange(256, dtype=np.int64) * 3 + (1 << 40)
    out_key, out_value = sentinel(dtype, 256), sentinel(np.int64, 256)
    order = reference.over(
        WHOLE,
        width,
        lambda w, lanes: 32 * w + lanes[0] + np.argsort(np.array(at(key, w, lanes)), kind="stable"),
        np.zeros(256, int),
    )
    kernels.launch(PAIRS[width], WHOLE, key, value, out_key, out_value)
    assert_same(out_key, key[order])
    assert_same(out_value, value[order])


def test_pairs_sort_under_a_mask():
    count = 32 * len(MASKS)
    key = (bit_patterns(np.uint8, count) % 5).astype(np.int32)
    value, out_key, out_value = np.arange(count), sentinel(np.int32, count), sentinel(np.int64, count)

    def order(warp, lanes):
        return [32 * warp + lanes[k] for k in np.argsort(np.array(at(key, warp, lanes)), kind="stable")]

    right = reference.over(MASKS, 32, order, out_value.copy())
    kernels.launch(PAIRS[32], MASKS, key, value, out_key, out_value)
    assert_same(out_value, right)
    on = right != sentinel(np.int64, count)
    assert (out_key[on] == key[right[on]]).all()
    assert (out_key[~on] == sentinel(np.int32, count)[~on]).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=label)
def test_nans_come_last_and_infinities_at_the_ends(dtype):
    x, out = np.arange(32, dtype=dtype)[::-1].copy(), np.zeros(32, dtype)
    x[[3, 17]], x[5], x[6], x[8] = np.nan, np.inf, -np.inf, -1
    kernels.launch(kernels.one(wk.warp_sort), np.array([FULL], np.uint32), x, out)
    assert_same(out, np.sort(x))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64], ids=label)
def test_the_extremes_sort(dtype):
    limits = np.iinfo(dtype)
    x, out = np.tile(np.array([limits.max, 0, limits.min, 7], dtype), 8), np.zeros(32, dtype)
    kernels.launch(kernels.one(wk.warp_sort), np.array([FULL], np.uint32), x, out)
    assert_same(out, np.sort(x))
