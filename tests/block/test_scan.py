"""Block scans: every shape, dtype and operator, in thread order; totals never include init."""

import numpy as np
import pytest

import warpkit as wk
from tests.reference import OPS, assert_same, exclusive, fold, inclusive
from tests.warp import operators
from tests.warp.kinds import FLAT, INT_PAIR, NESTED_INTS, dummies
from tests.warp.matrix import NUMBERS, label, sentinel

from . import kernels
from .matrix import FEW, MANY, SHAPES, SIMULATOR, bit_strings, cells, data, each_block, threads
from .test_reduce import check_tuples

SUMS = {
    "exclusive": (wk.block_prefix_sum, lambda items: exclusive(np.add, items, items[0].dtype.type(0))),
    "inclusive": (wk.block_inclusive_sum, lambda items: inclusive(np.add, items)),
}


@pytest.mark.parametrize(("dtype", "shape"), cells(NUMBERS), ids=label)
@pytest.mark.parametrize("form", SUMS)
def test_sums_of_every_type(form, dtype, shape):
    function, rule = SUMS[form]
    x = data("sum", dtype, 2 * threads(shape))
    out = sentinel(dtype, len(x))
    kernels.launch(kernels.one(function), shape, x, out)
    assert_same(out, np.array(each_block(rule, x), dtype))


@pytest.mark.parametrize("shape", FEW, ids=label)
def test_a_prefix_sum_with_its_total(shape):
    x = data("sum", np.float64, 2 * threads(shape))
    out, total = sentinel(np.float64, len(x)), sentinel(np.float64, len(x))
    kernels.launch(kernels.pair(wk.block_prefix_sum_total), shape, x, out, total)
    assert_same(out, np.array(each_block(SUMS["exclusive"][1], x)))
    assert_same(total, np.array(each_block(lambda items: [fold(np.add, items)] * len(items), x)))


# ------------------------------------------------------------------ any operator

START = np.array([0b101 << 6 | 3])


def plain(form, op, items, start):
    """Return (scan, totals) of one block's items."""
    scan = exclusive(op, items, start) if form == "exclusive" else inclusive(op, items)
    return scan, [fold(op, items)] * len(items)


@pytest.mark.parametrize("shape", SHAPES, ids=label)
@pytest.mark.parametrize("form", ["exclusive", "inclusive"])
def test_operands_stay_in_thread_order_and_the_total_is_without_init(form, shape):
    op, x = operators.append_bits, bit_strings(2 * threads(shape))
    outs = [sentinel(np.int64, len(x)) for _ in range(3)]
    few = not SIMULATOR or shape not in MANY  # the same core with and without a total
    if form == "exclusive":
        x[x != 0] = np.where(np.arange(np.count_nonzero(x)) % 2, x[x != 0], 0)  # room for the three bits of init
        if few:
            kernels.launch(kernels.from_init(wk.block_exclusive_scan, op), shape, x, START, outs[0])
        kernels.launch(kernels.pair_from_init(wk.block_exclusive_scan_total, op), shape, x, START, *outs[1:])
    else:
        if few:
            kernels.launch(kernels.with_op(wk.block_inclusive_scan, op), shape, x, outs[0])
        kernels.launch(kernels.pair_with_op(wk.block_inclusive_scan_total, op), shape, x, *outs[1:])
    scan = each_block(lambda items: plain(form, operators.py_append_bits, items, START[0])[0], x)
    total = each_block(lambda items: plain(form, operators.py_append_bits, items, START[0])[1], x)
    if few:
        assert_same(outs[0], np.array(scan))
    assert_same(outs[1], np.array(scan))
    assert_same(outs[2], np.array(total))


TUPLE_OPS = {
    "affine": (INT_PAIR, operators.affine, operators.py_affine(np.int32)),
    "nested": (NESTED_INTS, operators.nested_last, operators.py_nested_last),
}


@pytest.mark.parametrize("shape", FEW, ids=label)
@pytest.mark.parametrize("name", TUPLE_OPS)
def test_a_users_operator_gets_whole_tuples_in_order(name, shape):
    kind, device, python = TUPLE_OPS[name]
    run = kernels.columns_with_op(wk.block_inclusive_scan, device, kind.build, kind.store)
    check_tuples(run, kind, lambda items: inclusive(python, items), shape)


@pytest.mark.parametrize("kind", FLAT, ids=str)
def test_vectors_and_flat_tuples_are_summed_part_by_part(kind):
    inputs = [data("sum", dtype, 80, seed) for seed, dtype in enumerate(kind.dtypes)]
    outputs = [sentinel(x.dtype, len(x)) for x in inputs]
    run = kernels.columns(wk.block_prefix_sum, kind.build, kind.store)
    kernels.launch(run, (8, 5), *dummies(inputs), *dummies(outputs))
    for got, x in zip(outputs, inputs):
        assert_same(got, np.array(each_block(SUMS["exclusive"][1], x), x.dtype), kind.name)


@pytest.mark.parametrize("dtype", [np.int8, np.float32], ids=label)
@pytest.mark.parametrize(("op", "name"), [(max, "max"), (np.minimum, "min"), (wk.mul, "product")], ids=label)
def test_pythons_and_numpys_and_warpkits_operators_are_operators(op, name, dtype):
    x, start = data(name, dtype, 80), np.ones(1, dtype)
    out = sentinel(dtype, 80)
    kernels.launch(kernels.from_init(wk.block_exclusive_scan, op), (40,), x, start, out)
    assert_same(out, np.array(each_block(lambda items: exclusive(OPS[name], items, start[0]), x), dtype))


def test_a_negative_zero_stays_one():
    x = np.full(40, -0.0, np.float32)
    for function in (wk.block_prefix_sum, wk.block_inclusive_sum):
        out = sentinel(np.float32, 40)
        kernels.launch(kernels.one(function), (40,), x, out, blocks=1)
        assert np.signbit(out[1:]).all()
