"""Reductions: every mask, dtype, width, operator; the value comes to every participant and to nobody else."""

import numpy as np
import pytest

import warpkit as wk
from tests import reference
from tests.reference import OPS, assert_same, at, fold

from . import kernels, operators
from .kinds import FLAT, INT32X2, INT_PAIR, LONG_PAIR, MATRIX, NESTED_INTS, dummies
from .matrix import COMPLEX, FULL, INTEGERS, MASKS, NUMBERS, REALS, WIDTHS, cells, data, label, sentinel

COUNT = 32 * len(MASKS)
REDUCTIONS = {
    "sum": (wk.warp_active_sum, NUMBERS),
    "product": (wk.warp_active_product, NUMBERS),
    "min": (wk.warp_active_min, REALS),
    "max": (wk.warp_active_max, REALS),
    "bit_and": (wk.warp_active_bit_and, INTEGERS),
    "bit_or": (wk.warp_active_bit_or, INTEGERS),
    "bit_xor": (wk.warp_active_bit_xor, INTEGERS),
}
CASES = [(name, dtype, width) for name, (_, dtypes) in REDUCTIONS.items() for dtype, width in cells(dtypes)]


def reduced(op, x, masks, width, out):
    """Fill `out` with each group's fold."""
    rule = lambda warp, lanes: [fold(op, at(x, warp, lanes))] * len(lanes)
    return reference.over(masks, width, rule, out)


@pytest.mark.parametrize(("name", "dtype", "width"), CASES, ids=label)
def test_every_participant_gets_the_result_and_the_others_nothing(name, dtype, width):
    x, out = data(name, dtype, COUNT), sentinel(dtype, COUNT)
    expected = reduced(OPS[name], x, MASKS, width, out.copy())
    kernels.launch(kernels.one(REDUCTIONS[name][0], width), MASKS, x, out)
    assert_same(out, expected)


NAMED = [
    (name, dtype, width)
    for name, (_, dtypes) in REDUCTIONS.items()
    for dtype, width in [(np.int32, 32), (np.int32, 8), (np.uint8, 32), (np.float32, 32), (np.float64, 8)]
    if dtype in dtypes
]


@pytest.mark.parametrize(("name", "dtype", "width"), NAMED, ids=label)
def test_a_named_mask_gives_the_same(name, dtype, width):
    x, out = data(name, dtype, COUNT), sentinel(dtype, COUNT)
    expected = reduced(OPS[name], x, MASKS, width, out.copy())
    kernels.launch(kernels.one(REDUCTIONS[name][0], width, named=True), MASKS, x, out)
    assert_same(out, expected)


@pytest.mark.parametrize("kind", FLAT, ids=str)
@pytest.mark.parametrize("name", ["sum", "product", "min", "max"])
def test_vectors_and_flat_tuples_are_combined_part_by_part(name, kind):
    inputs = [data(name, dtype, COUNT, seed) for seed, dtype in enumerate(kind.dtypes)]
    outputs = [sentinel(dtype, COUNT) for dtype in kind.dtypes]
    expected = [reduced(OPS[name], x, MASKS, 32, out.copy()) for x, out in zip(inputs, outputs)]
    run = kernels.columns(REDUCTIONS[name][0], kind.build, kind.store)
    kernels.launch(run, MASKS, *dummies(inputs), *dummies(outputs))
    for got, right in zip(outputs, expected):
        assert_same(got, right, kind.name)


# ------------------------------------------------------------------ any operator


def bit_strings(count):
    """Return one-bit strings for `append_bits`."""
    return np.random.default_rng(3).integers(0, 2, count) << 6 | 1


def sparse(dtype, count):
    """Return mostly zeros, for `last_nonzero`."""
    rng = np.random.default_rng(4)
    return np.where(rng.random(count) < 0.2, rng.integers(1, 100, count), 0).astype(dtype)


ORDERED = {
    "last_nonzero": (operators.last_nonzero, operators.py_last_nonzero, sparse),
    "append_bits": (operators.append_bits, operators.py_append_bits, lambda dtype, count: bit_strings(count)),
}


@pytest.mark.parametrize("named", [False, True], ids=["implicit", "named"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("op", "dtype"), [("last_nonzero", np.int32), ("append_bits", np.int64)], ids=label)
def test_operands_stay_in_lane_order(op, dtype, width, named):
    device, plain, make = ORDERED[op]
    x, out = make(dtype, COUNT), sentinel(dtype, COUNT)
    expected = reduced(plain, x, MASKS, width, out.copy())
    kernels.launch(kernels.with_op(wk.warp_reduce, device, width, named), MASKS, x, out)
    assert_same(out, expected)


def parts(kind, count):
    """Return one column of small integers per part of `kind`."""
    rng = np.random.default_rng(5)
    return [rng.integers(-4, 5, count).astype(dtype) for dtype in kind.dtypes]


def as_tuples(kind, columns):
    """Return the items of these columns as plain Python values, shaped as `kind`."""
    rows = [tuple(int(v) for v in row) for row in zip(*columns)]
    return [((a, b), c) for a, b, c in rows] if kind is NESTED_INTS else rows


TUPLE_OPS = {
    "affine int32": (INT_PAIR, operators.affine, operators.py_affine(np.int32)),
    "affine int64": (LONG_PAIR, operators.affine, operators.py_affine(np.int64)),
    "parts of vectors": (INT32X2, operators.last_nonzero, operators.py_last_of_each),
    "matrix 2x2": (MATRIX, operators.matmul2, operators.py_matmul2(np.int32)),
    "nested": (NESTED_INTS, operators.nested_last, operators.py_nested_last),
}


def flat(value):
    """Return the leaves of a nested tuple."""
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple) else [value]


def check_tuples(run, kind, rule, masks, width):
    """Launch a columns kernel on small integers and compare every part with `rule(items, warp, lanes)`."""
    inputs, outputs = parts(kind, COUNT), [sentinel(dtype, COUNT) for dtype in kind.dtypes]
    items = as_tuples(kind, inputs)
    result = reference.over(masks, width, lambda warp, lanes: rule(at(items, warp, lanes)), [None] * COUNT)
    expected = [out.copy() for out in outputs]
    for i, value in enumerate(result):
        if value is not None:
            for column, leaf in zip(expected, flat(value)):
                column[i] = leaf
    kernels.launch(run, masks, *dummies(inputs), *dummies(outputs))
    for got, right in zip(outputs, expected):
        assert_same(got, right, kind.name)


@pytest.mark.parametrize(("width", "named"), [(32, False), (32, True), (8, False), (4, True)])
@pytest.mark.parametrize("name", TUPLE_OPS)
def test_a_users_operator_gets_whole_tuples_and_parts_of_vectors_in_order(name, width, named):
    kind, device, plain = TUPLE_OPS[name]
    run = kernels.columns_with_op(wk.warp_reduce, device, kind.build, kind.store, width, named)
    check_tuples(run, kind, lambda items: [fold(plain, items)] * len(items), MASKS, width)


BUILT_IN = {
    "min": (min, "min"),
    "max": (max, "max"),
    "np.maximum": (np.maximum, "max"),
    "np.minimum": (np.minimum, "min"),
    "np.add": (np.add, "sum"),
    "np.multiply": (np.multiply, "product"),
    "np.bitwise_or": (np.bitwise_or, "bit_or"),
    "ops.add": (wk.add, "sum"),
    "ops.mul": (wk.mul, "product"),
    "ops.minimum": (wk.minimum, "min"),
    "ops.maximum": (wk.maximum, "max"),
    "ops.bit_and": (wk.bit_and, "bit_and"),
    "ops.bit_or": (wk.bit_or, "bit_or"),
    "ops.bit_xor": (wk.bit_xor, "bit_xor"),
}


@pytest.mark.parametrize("dtype", [np.int16, np.uint32], ids=label)
@pytest.mark.parametrize("op", BUILT_IN)
def test_pythons_and_numpys_and_warpkits_operators_are_operators(op, dtype):
    function, name = BUILT_IN[op]
    x, out = data(name, dtype, COUNT), sentinel(dtype, COUNT)
    expected = reduced(OPS[name], x, MASKS, 32, out.copy())
    kernels.launch(kernels.with_op(wk.warp_reduce, function), MASKS, x, out)
    assert_same(out, expected)


@pytest.mark.parametrize(("op", "rule"), [(wk.logical_and, all), (wk.logical_or, any)], ids=label)
def test_logical_operators_combine_bools(op, rule):
    x, out = np.random.default_rng(6).random(COUNT) < 0.6, np.zeros(COUNT, np.bool_)
    x[: 32 * 6] |= np.arange(32 * 6) // 32 % 2 == 0  # some warps all true, so that `all` is true somewhere
    expected = reference.over(MASKS, 32, lambda warp, lanes: [rule(at(x, warp, lanes))] * len(lanes), out.copy())
    kernels.launch(kernels.with_op(wk.warp_reduce, op), MASKS, x, out)
    assert_same(out, expected)


@pytest.mark.parametrize(("name", "rule"), [("min", all), ("max", any), ("bit_and", all), ("bit_or", any)])
def test_bools_have_an_order_and_bits(name, rule):
    x, out = np.random.default_rng(60).random(COUNT) < 0.7, np.zeros(COUNT, np.bool_)
    x[: 32 * 6] |= np.arange(32 * 6) // 32 % 2 == 0
    expected = reference.over(MASKS, 32, lambda warp, lanes: [rule(at(x, warp, lanes))] * len(lanes), out.copy())
    kernels.launch(kernels.one(REDUCTIONS[name][0]), MASKS, x, out)
    assert_same(out, expected)


# ------------------------------------------------------------------ num_valid


def reduce_valid(op, values, lanes, width, num_valid):
    """Each participant gets the fold of those before `num_valid` in its logical warp; with none, its own value."""
    valid = [v for v, lane in zip(values, lanes) if lane % width < num_valid]
    return [fold(op, valid)] * len(values) if valid else values


@pytest.mark.parametrize("num_valid", [0, 1, 5, 8, 20, 31, 32, 40])
@pytest.mark.parametrize("width", [32, 8, 2])
def test_lanes_from_num_valid_on_are_ignored(width, num_valid):
    x, out = bit_strings(COUNT), sentinel(np.int64, COUNT)
    count = np.full(COUNT, num_valid, np.int32)

    def rule(warp, lanes):
        return reduce_valid(operators.py_append_bits, at(x, warp, lanes), lanes, width, num_valid)

    expected = reference.over(MASKS, width, rule, out.copy())
    run = VALID[width]
    kernels.launch(run, MASKS, x, count, out)
    assert_same(out, expected)


def valid_kernel(width):
    """Return the kernel out[i] = warp_reduce_valid(x[i], append_bits, n[i])."""
    op = operators.append_bits

    @kernels.cuda.jit
    def run(masks, x, n, out):
        i = kernels.cuda.grid(1)
        if kernels.takes_part(masks[i // 32], i):
            out[i] = wk.warp_reduce_valid(x[i], op, n[i], width=width)

    return run


VALID = {width: valid_kernel(width) for width in (32, 8, 2)}


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64], ids=label)
def test_n11_num_valid_may_be_of_every_integer_type(dtype):
    x = bit_strings(COUNT)
    for num_valid in {5, int(np.iinfo(dtype).max), int(np.iinfo(dtype).min)}:
        out = sentinel(np.int64, COUNT)

        def rule(warp, lanes, num_valid=num_valid):
            return reduce_valid(operators.py_append_bits, at(x, warp, lanes), lanes, 32, num_valid)

        expected = reference.over(MASKS, 32, rule, out.copy())
        kernels.launch(VALID[32], MASKS, x, np.full(COUNT, num_valid, dtype), out)
        assert_same(out, expected, f"num_valid {num_valid}")


# ------------------------------------------------------------------ floats whose order is special

SPECIALS = {
    "nan": [1.0, np.nan, -3.0],
    "zeros": [0.0, -0.0],
    "inf": [np.inf, 1.0, -np.inf],
    "all inf": [np.inf],
    "all minus inf": [-np.inf],
    "all nan": [np.nan],
    "nan and inf": [np.nan, np.inf, -np.inf, -0.0],
    "subnormal": None,  # of the dtype: see below
}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=label)
@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("special", SPECIALS)
def test_min_and_max_know_nan_and_the_sign_of_zero(special, name, dtype):
    rng = np.random.default_rng(7)
    tiny = np.finfo(dtype).smallest_subnormal
    x = rng.choice(SPECIALS[special] or [-tiny, tiny, 0.0], COUNT).astype(dtype)
    out = sentinel(dtype, COUNT)
    expected = reduced(OPS[name], x, MASKS, 32, out.copy())
    kernels.launch(kernels.one(REDUCTIONS[name][0]), MASKS, x, out)
    assert_same(out, expected)


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("place", [0, 1, 15, 31])
def test_r06_a_nan_propagates_from_every_place(place, name):
    x, out = np.arange(1, 33, dtype=np.float32), np.zeros(32, np.float32)
    x[place] = np.nan
    kernels.launch(kernels.one(REDUCTIONS[name][0]), np.array([FULL], np.uint32), x, out)
    assert np.isnan(out).all()


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.int8], ids=label)
def test_r08_extreme_integers_survive(dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    for value, name in [(low, "max"), (high, "min"), (low, "min"), (high, "max")]:
        x, out = np.full(32, value, dtype), np.zeros(32, dtype)
        kernels.launch(kernels.one(REDUCTIONS[name][0]), np.array([0x00F0F00F], np.uint32), x, out)
        on = 0x00F0F00F >> np.arange(32) & 1 == 1
        assert (out[on] == value).all()
        assert (out[~on] == 0).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, *COMPLEX], ids=label)
def test_a_sum_that_must_round_is_near_and_the_same_in_all_participants(dtype):
    rng = np.random.default_rng(8)
    x, out = rng.random(COUNT).astype(dtype), np.zeros(COUNT, dtype)
    kernels.launch(kernels.one(wk.warp_active_sum), MASKS, x, out)
    for warp, mask in enumerate(MASKS):
        lanes = reference.participants(mask)
        if lanes:
            got = np.array(at(out, warp, lanes))
            assert (got == got[0]).all()
            exact = np.sum(at(x, warp, lanes), dtype=np.complex128)
            assert abs(got[0] - exact) <= 32 * np.finfo(dtype).eps * abs(exact)
