"""The built-in operators: every dtype against NumPy, NaN and the zeros bit by bit, aliases, components."""

import functools
import operator

import numpy as np
import pytest
from numba import cuda

from tests import reference
from tests.reference import assert_same
from tests.simt.waist import SCALARS, device
from tests.warp.kinds import FLAT, INT32X2, dummies
from tests.warp.matrix import COMPLEX, FLOATS, INTEGERS, bit_patterns, label
from warpkit.simt import ops, types


def fmin(a, b):
    """Return the smaller, the number beside a NaN, −0.0 below +0.0."""
    return b if a != a else a if b != b else reference.minimum(a, b)


def fmax(a, b):
    """Return the larger, the number beside a NaN, −0.0 below +0.0."""
    return b if a != a else a if b != b else reference.maximum(a, b)


MEANING = {
    ops.add: np.add,
    ops.mul: np.multiply,
    ops.minimum: reference.minimum,
    ops.maximum: reference.maximum,
    ops.fmin: fmin,
    ops.fmax: fmax,
    ops.bit_and: np.bitwise_and,
    ops.bit_or: np.bitwise_or,
    ops.bit_xor: np.bitwise_xor,
    ops.logical_and: lambda a, b: a != 0 and b != 0,
    ops.logical_or: lambda a, b: a != 0 or b != 0,
}
BITWISE = {ops.bit_and, ops.bit_or, ops.bit_xor}
LOGICAL = {ops.logical_and, ops.logical_or}
EXTREMA = {ops.minimum, ops.maximum, ops.fmin, ops.fmax}


def takes(op, dtype):
    """Say whether `op` is defined on a scalar type."""
    kind = np.dtype(dtype).kind
    refused = {"b": {ops.add}, "f": BITWISE | LOGICAL, "c": BITWISE | LOGICAL | EXTREMA}
    return op not in refused.get(kind, ())


PAIRS = [(op, dtype) for op in MEANING for dtype in SCALARS.values() if takes(op, dtype)]
EDGES = {
    "f": [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 3.5],
    "c": [0, 1, 1j, -1 - 1j, 2.5, -3j, 0.5 + 4j],
    "b": [False, True],
}


def operands(dtype):
    """Return all pairs of edge values and some of random bits (complex: exact numbers only, without NaN)."""
    dtype = np.dtype(dtype)
    edges = EDGES.get(dtype.kind)
    if edges is None:
        limits = np.iinfo(dtype)
        edges = [0, 1, 2, 3, limits.max, limits.min, limits.max - 1, limits.max // 3]
    a, b = (v.ravel() for v in np.meshgrid(np.array(edges, dtype), np.array(edges, dtype)))
    if dtype.kind == "c":
        return a, b
    return np.concatenate([a, bit_patterns(dtype, 96, 1)]), np.concatenate([b, bit_patterns(dtype, 96, 2)])


def expected(op, a, b):
    """Return the operator's meaning, pair by pair, in their dtype."""
    with np.errstate(all="ignore"):
        return np.array([MEANING[op](x, y) for x, y in zip(a, b)]).astype(a.dtype)


@functools.cache
def directly(op):
    """Kernel: out[i] = op(a[i], b[i])."""

    @cuda.jit
    def run(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = op(a[i], b[i])

    return run


@functools.cache
def combining(op):
    """Kernel: out[i] = combine(op, a[i], b[i])."""

    @cuda.jit
    def run(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = types.combine(op, a[i], b[i])

    return run


@pytest.mark.parametrize(("op", "dtype"), PAIRS, ids=label)
def test_an_operator_on_every_type(op, dtype):
    a, b = operands(dtype)
    out = np.zeros_like(a)
    directly(op)[1, 192](a, b, out)
    assert_same(out, expected(op, a, b), op.__name__)


ALIASES = {
    operator.add: ops.add,
    operator.mul: ops.mul,
    operator.and_: ops.bit_and,
    operator.or_: ops.bit_or,
    operator.xor: ops.bit_xor,
    min: ops.fmin,
    max: ops.fmax,
    np.add: ops.add,
    np.multiply: ops.mul,
    np.minimum: ops.minimum,
    np.maximum: ops.maximum,
    np.fmin: ops.fmin,
    np.fmax: ops.fmax,
    np.bitwise_and: ops.bit_and,
    np.bitwise_or: ops.bit_or,
    np.bitwise_xor: ops.bit_xor,
    np.logical_and: ops.logical_and,
    np.logical_or: ops.logical_or,
}


@pytest.mark.parametrize("alias", ALIASES, ids=str)
def test_python_and_numpy_names_mean_the_same_operators(alias):
    op = ALIASES[alias]
    assert ops.known(alias) is op
    for dtype in (np.int16, np.float32):
        if takes(op, dtype):
            a, b = operands(dtype)
            out = np.zeros_like(a)
            combining(alias)[1, 192](a, b, out)
            assert_same(out, expected(op, a, b), str(alias))


def test_every_alias_is_tested_and_a_users_function_is_none():
    assert set(ALIASES) == set(ops.ALIASES)
    assert set(MEANING) == set(ops.IDENTITIES)
    assert ops.known(takes) is None
    assert ops.known([]) is None


@functools.cache
def on_parts(op, kind):
    """Kernel: combine of two values of several parts, this item and the next."""
    build, store = kind.build, kind.store

    @cuda.jit
    def run(a, b, c, d, oa, ob, oc, od):
        i = cuda.grid(1)
        left = build(a, b, c, d, i)
        right = build(a, b, c, d, i + 1)
        store(types.combine(op, left, right), oa, ob, oc, od, i)

    return run


@pytest.mark.parametrize("op", [ops.add, ops.mul, ops.minimum, ops.fmax], ids=label)
@pytest.mark.parametrize("kind", FLAT, ids=str)
def test_built_in_operators_act_on_each_part(kind, op):
    inputs = [operands(dtype)[0][:65] for dtype in kind.dtypes]
    for k, column in enumerate(inputs):
        inputs[k] = np.roll(column, 3 * k)
    outs = [np.zeros(64, dtype) for dtype in kind.dtypes]
    on_parts(op, kind)[1, 64](*dummies(inputs), *dummies(outs))
    for column, out in zip(inputs, outs):
        assert_same(out, expected(op, column[:-1], column[1:]))


@device
def twice_plus(a, b):
    """A user's operator of two numbers."""
    return a * 2 + b


def test_a_users_operator_acts_on_each_component_of_a_vector():
    inputs = [np.arange(33, dtype=np.int32) * 2**27, np.arange(33, dtype=np.int32) - 7]
    outs = [np.zeros(32, np.int32), np.zeros(32, np.int32)]
    on_parts(twice_plus, INT32X2)[1, 32](*dummies(inputs), *dummies(outs))
    for column, out in zip(inputs, outs):
        assert_same(out, column[:-1] * np.int32(2) + column[1:])


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, *COMPLEX], ids=label)
def test_a_users_operator_gives_the_type_of_the_value(dtype):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 100, 32).astype(dtype) for _ in "ab")
    out = np.zeros_like(a)
    combining(twice_plus)[1, 32](a, b, out)
    assert_same(out, (a * np.dtype(dtype).type(2) + b).astype(dtype))


@pytest.mark.parametrize(("op", "dtype"), PAIRS, ids=label)
def test_the_identity_changes_nothing(op, dtype):
    a, _ = operands(dtype)
    if op in (ops.fmin, ops.fmax) and np.dtype(dtype).kind == "f":
        a = a[~np.isnan(a)]  # beside a NaN the identity, a number, stays
    before, after, alone = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    with_identity(op)[1, 192](a, before, after, alone)
    kept = a if op not in LOGICAL else (a != 0).astype(dtype)
    if op is ops.add and np.dtype(dtype).kind == "f":
        kept = a + np.dtype(dtype).type(0)  # −0.0 + 0.0 is 0.0
    for got in (before, after):
        assert_same(got, kept.astype(dtype), op.__name__)
    assert len(set(alone.tolist())) == 1


@functools.cache
def with_identity(op):
    """Kernel: the identity before, after, and alone."""

    @cuda.jit
    def run(a, before, after, alone):
        i = cuda.grid(1)
        if i < a.size:
            one = types.identity_like(op, a[i])
            before[i] = op(one, a[i])
            after[i] = op(a[i], one)
            alone[i] = one

    return run


@functools.cache
def identity_of_parts(op, kind):
    """Kernel: the identity of a value of several parts."""
    build, store = kind.build, kind.store

    @cuda.jit
    def run(a, b, c, d, oa, ob, oc, od):
        store(types.identity_like(op, build(a, b, c, d, 0)), oa, ob, oc, od, 0)

    return run


@pytest.mark.parametrize("name", ["sum", "product", "min", "max"])
@pytest.mark.parametrize("kind", FLAT, ids=str)
def test_the_identity_of_parts(kind, name):
    op = {"sum": ops.add, "product": ops.mul, "min": ops.minimum, "max": ops.maximum}[name]
    columns = [np.full(1, 5, dtype) for dtype in kind.dtypes]
    outs = [np.full(1, 9, dtype) for dtype in kind.dtypes]
    identity_of_parts(op, kind)[1, 1](*dummies(columns), *dummies(outs))
    assert [out[0] for out in outs] == [reference.identity(name, dtype) for dtype in kind.dtypes]
