"""Block reductions: every shape, dtype, operator and num_valid; the result comes to every thread, of its block only."""

import numpy as np
import pytest

import warpkit as wk
from tests.reference import OPS, assert_same, fold, identity
from tests.warp import operators
from tests.warp.kinds import FLAT, INT_PAIR, MATRIX, NESTED_INTS, dummies
from tests.warp.matrix import NUMBERS, REALS, label, sentinel
from tests.warp.test_reduce import BUILT_IN, as_tuples, flat, parts

from . import kernels
from .matrix import FEW, SHAPES, bit_strings, cells, counts, data, each_block, threads

REDUCTIONS = {
    "sum": (wk.block_sum, NUMBERS),
    "product": (wk.block_product, NUMBERS),
    "min": (wk.block_min, REALS),
    "max": (wk.block_max, REALS),
}
CASES = [(name, dtype, shape) for name, (_, dtypes) in REDUCTIONS.items() for dtype, shape in cells(dtypes)]


def reduced(op, x, valid=None, empty=None):
    """Return what every thread gets: the fold over its block's first `valid` items; for none `empty(item)`."""

    def rule(items):
        taken = items if valid is None else items[: max(valid, 0)]
        return [fold(op, taken)] * len(items) if taken else [empty(item) for item in items]

    return np.array(each_block(rule, x), x.dtype)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64], ids=label)
def test_n11_num_valid_may_be_of_every_integer_type(dtype):
    x = data("sum", np.int32, 2 * 40)
    for valid in {5, int(np.iinfo(dtype).max), int(np.iinfo(dtype).min)}:
        out = sentinel(np.int32, 2 * 40)
        kernels.launch(kernels.counted(wk.block_sum), (40,), x, np.array([valid], dtype), out)
        assert_same(out, reduced(OPS["sum"], x, valid, lambda item: 0), f"num_valid {valid}")


@pytest.mark.parametrize(("name", "dtype", "shape"), CASES, ids=label)
def test_every_thread_gets_the_result_of_its_block(name, dtype, shape):
    x, out = data(name, dtype, 2 * threads(shape)), sentinel(dtype, 2 * threads(shape))
    kernels.launch(kernels.one(REDUCTIONS[name][0]), shape, x, out)
    assert_same(out, reduced(OPS[name], x))


@pytest.mark.parametrize("shape", FEW, ids=label)
@pytest.mark.parametrize(("name", "dtype"), [("sum", np.float32), ("max", np.int16)], ids=label)
def test_only_the_first_threads_contribute(name, dtype, shape):
    x = data(name, dtype, 2 * threads(shape))
    for valid in counts(shape):
        out = sentinel(dtype, len(x))
        kernels.launch(kernels.counted(REDUCTIONS[name][0]), shape, x, np.array([valid]), out)
        assert_same(out, reduced(OPS[name], x, valid, lambda item: identity(name, dtype)), f"num_valid {valid}")


@pytest.mark.parametrize("name", REDUCTIONS)
def test_none_gives_the_identity(name):
    for dtype in (np.uint8, np.float64):
        x, out = data(name, dtype, 40), sentinel(dtype, 40)
        kernels.launch(kernels.counted(REDUCTIONS[name][0]), (20,), x, np.zeros(1, np.int32), out)
        assert_same(out, np.full(40, identity(name, dtype)))


@pytest.mark.parametrize("kind", FLAT, ids=str)
@pytest.mark.parametrize("name", ["sum", "max"])
def test_vectors_and_flat_tuples_are_combined_part_by_part(name, kind):
    for shape in FEW:
        inputs = [data(name, dtype, 2 * threads(shape), seed) for seed, dtype in enumerate(kind.dtypes)]
        outputs = [sentinel(x.dtype, len(x)) for x in inputs]
        run = kernels.columns(REDUCTIONS[name][0], kind.build, kind.store)
        kernels.launch(run, shape, *dummies(inputs), *dummies(outputs))
        for got, x in zip(outputs, inputs):
            assert_same(got, reduced(OPS[name], x), kind.name)


# ------------------------------------------------------------------ any operator


@pytest.mark.parametrize("shape", SHAPES, ids=label)
def test_operands_stay_in_thread_order(shape):
    x = bit_strings(2 * threads(shape))
    out = sentinel(np.int64, len(x))
    kernels.launch(kernels.with_op(wk.block_reduce, operators.append_bits), shape, x, out)
    assert_same(out, reduced(operators.py_append_bits, x))


@pytest.mark.parametrize("shape", FEW, ids=label)
def test_ignored_threads_are_not_combined_and_none_gives_the_own_value(shape):
    x = bit_strings(2 * threads(shape))
    for valid in counts(shape):
        out = sentinel(np.int64, len(x))
        run = kernels.counted_with_op(wk.block_reduce, operators.append_bits)
        kernels.launch(run, shape, x, np.array([valid]), out)
        assert_same(out, reduced(operators.py_append_bits, x, valid, lambda item: item), f"num_valid {valid}")


TUPLE_OPS = {
    "affine": (INT_PAIR, operators.affine, operators.py_affine(np.int32)),
    "matrix 2x2": (MATRIX, operators.matmul2, operators.py_matmul2(np.int32)),
    "nested": (NESTED_INTS, operators.nested_last, operators.py_nested_last),
}


def check_tuples(run, kind, rule, shape):
    """Launch a columns kernel on small integers and compare every part with `rule(items of a block)`."""
    inputs = parts(kind, 2 * threads(shape))
    outputs = [sentinel(x.dtype, len(x)) for x in inputs]
    items, size = as_tuples(kind, inputs), threads(shape)
    expected = [flat(value) for at in (0, size) for value in rule(items[at : at + size])]
    kernels.launch(run, shape, *dummies(inputs), *dummies(outputs))
    for got, column in zip(outputs, zip(*expected)):
        assert_same(got, np.array(column, got.dtype), kind.name)


@pytest.mark.parametrize("shape", FEW, ids=label)
@pytest.mark.parametrize("name", TUPLE_OPS)
def test_a_users_operator_gets_whole_tuples_in_order(name, shape):
    kind, device, plain = TUPLE_OPS[name]
    run = kernels.columns_with_op(wk.block_reduce, device, kind.build, kind.store)
    check_tuples(run, kind, lambda items: [fold(plain, items)] * len(items), shape)


@pytest.mark.parametrize("op", BUILT_IN)
def test_pythons_and_numpys_and_warpkits_operators_are_operators(op):
    function, name = BUILT_IN[op]
    x = data(name if name in REDUCTIONS else "sum", np.uint32, 66)
    out = sentinel(np.uint32, 66)
    kernels.launch(kernels.with_op(wk.block_reduce, function), (33,), x, out)
    assert_same(out, reduced(OPS[name], x))


SPECIALS = {
    "nan": [1.0, np.nan, -3.0],
    "zeros": [0.0, -0.0],
    "inf": [np.inf, 1.0, -np.inf],
    "all inf": [np.inf],
    "all minus inf": [-np.inf],
}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=label)
@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("special", SPECIALS)
def test_min_and_max_know_nan_and_the_sign_of_zero(special, name, dtype):
    x, out = np.random.default_rng(7).choice(SPECIALS[special], 80).astype(dtype), sentinel(dtype, 80)
    kernels.launch(kernels.one(REDUCTIONS[name][0]), (40,), x, out)
    assert_same(out, reduced(OPS[name], x))


@pytest.mark.parametrize("shape", FEW, ids=label)
def test_a_sum_that_must_round_is_near_and_the_same_in_all_threads(shape):
    x = np.random.default_rng(8).random(2 * threads(shape)).astype(np.float32)
    out = np.zeros_like(x)
    kernels.launch(kernels.one(wk.block_sum), shape, x, out)
    for got, part in zip(np.split(out, 2), np.split(x, 2)):
        assert (got == got[0]).all()
        assert abs(got[0] - part.sum(dtype=np.float64)) <= 1e-6 * part.sum(dtype=np.float64)
