"""Reductions and scans of several items a thread: in item order, in place; num_valid counts items."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.reference import assert_same, exclusive, fold, inclusive
from tests.warp import operators
from tests.warp.matrix import NUMBERS, label, sentinel

from .items import SIZES, folded, folded_from, tiles
from .kernels import item, launch
from .matrix import FEW, SIMULATOR, bit_strings, data, threads

START = np.array([0b101 << 6 | 3])
SHAPES = [(33,), (8, 5)] if SIMULATOR else FEW


def valid_counts(size, shape):
    """Return the telling values of num_valid: none, one, the edges of a thread and of a warp, all, more."""
    every = size * threads(shape)
    if SIMULATOR and size == 1:
        return [0, 1, 32, every - 1]
    return sorted(
        {-1, 0, 1, size - 1, size, size + 1, min(32 * size, every), min(32 * size + 1, every), every - 1, every, 9999}
    )


def check(run, rule, x, shape, size, *extra, valid=None):
    """Launch and compare scan and total of every block with `rule(valid items) -> (scan, total)`."""
    out, total = sentinel(x.dtype, len(x)), sentinel(x.dtype, 2 * threads(shape))
    launch(run, shape, x, *extra, out, total)
    scans, totals = [], []
    for tile in tiles(x):
        count = len(tile) if valid is None else min(max(valid, 0), len(tile))
        scan, every = rule(list(tile[:count])) if count else ([], None)
        scans.append(np.concatenate([np.array(scan, x.dtype), tile[count:]]))
        totals.append(np.full(threads(shape), every, x.dtype) if count else tile[::size])
    assert_same(out, np.concatenate(scans), f"num_valid {valid}")
    assert_same(total, np.concatenate(totals), f"num_valid {valid}")


def reduced(op):
    """Return the rule of a reduction: the items stay."""
    return lambda items: (items, fold(op, items))


def scanned(op, start=None):
    """Return the rule of a scan, exclusive from `start`; the total is without it."""
    if start is None:
        return lambda items: (inclusive(op, items), fold(op, items))
    return lambda items: (exclusive(op, items, start), fold(op, items))


def strings(count):
    """Return bit strings of which at most 54 a block are not empty, so that `START` has room."""
    x = bit_strings(count)
    x[np.flatnonzero(x)[54:]] = 0
    return x


OP, PY = operators.append_bits, operators.py_append_bits


@pytest.mark.parametrize("shape", SHAPES, ids=label)
@pytest.mark.parametrize("size", SIZES)
def test_items_stay_in_order(size, shape):
    x = strings(2 * size * threads(shape))
    check(folded(wk.block_reduce_items, OP, size, np.int64), reduced(PY), x, shape, size)
    check(folded(wk.block_inclusive_scan_items, OP, size, np.int64), scanned(PY), x, shape, size)
    run = folded_from(wk.block_exclusive_scan_items, OP, size, np.int64)
    check(run, scanned(PY, START[0]), x, shape, size, START)


@pytest.mark.parametrize(
    ("size", "shape"),
    [(3, (2,)), (1, (33,)), (3, (33,))] if SIMULATOR else [(s, h) for s in SIZES for h in FEW],
    ids=label,
)
def test_only_the_first_items_count(size, shape):
    x = strings(2 * size * threads(shape))
    for valid in valid_counts(size, shape):
        n = np.array([valid])
        check(folded(wk.block_reduce_items, OP, size, np.int64, True), reduced(PY), x, shape, size, n, valid=valid)
        run = folded(wk.block_inclusive_scan_items, OP, size, np.int64, True)
        check(run, scanned(PY), x, shape, size, n, valid=valid)
        run = folded_from(wk.block_exclusive_scan_items, OP, size, np.int64, True)
        check(run, scanned(PY, START[0]), x, shape, size, START, n, valid=valid)


@pytest.mark.parametrize("dtype", NUMBERS, ids=label)
def test_sums_of_every_type(dtype):
    x, start = data("sum", dtype, 2 * 4 * 33), np.ones(1, dtype)
    with np.errstate(all="ignore"):
        check(folded(wk.block_inclusive_scan_items, wk.add, 4, dtype), scanned(np.add), x, (33,), 4)
        run = folded_from(wk.block_exclusive_scan_items, wk.add, 4, dtype)
        check(run, scanned(np.add, start[0]), x, (33,), 4, start)


def test_items_of_tuples():
    pair = (np.int32, np.int32)
    affine = operators.affine

    @cuda.jit
    def run(a, b, oa, ob, ta, tb):
        i = item()
        items = wk.local_array(2, pair)
        for k in range(2):
            items[k] = (a[2 * i + k], b[2 * i + k])
        total = wk.block_inclusive_scan_items(items, affine)
        for k in range(2):
            oa[2 * i + k] = items[k][0]
            ob[2 * i + k] = items[k][1]
        ta[i] = total[0]
        tb[i] = total[1]

    rng = np.random.default_rng(2)
    a, b = (rng.integers(-3, 4, 80).astype(np.int32) for _ in range(2))
    oa, ob, ta, tb = (np.zeros(80, np.int32) for _ in range(4))
    launch(run, (40,), a, b, oa, ob, ta, tb, blocks=1)
    rows = [(int(p), int(q)) for p, q in zip(a, b)]
    scan = inclusive(operators.py_affine(np.int32), rows)
    assert list(zip(oa.tolist(), ob.tolist())) == scan
    assert set(zip(ta[:40].tolist(), tb[:40].tolist())) == {scan[-1]}
