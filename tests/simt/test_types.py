"""Types: casting like a value, comparing, holding; on both machines."""

import functools
import itertools

import numpy as np
import pytest
from numba import cuda

from tests.reference import assert_same
from tests.simt.waist import MORE_RECORDS, SCALARS, VALUES, assert_same_bytes, carry, device, kernel
from tests.warp.kinds import COMPOUND, RECORDS, dummies
from tests.warp.matrix import COMPLEX, FLOATS, INTEGERS, REALS, bit_patterns, label
from warpkit.simt import ops, types

RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


@functools.cache
def casting():
    """Kernel: out[i] = cast_like(like[0], x[i])."""

    @cuda.jit
    def run(like, x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = types.cast_like(like[0], x[i])

    return run


def cast(target, x):
    """Return `x` cast by the waist."""
    out = np.zeros(len(x), target)
    casting()[1, len(x)](np.zeros(1, target), x, out)
    return out


def sources(target):
    """Return the types that may become `target`: none that loses a fraction or an imaginary part."""
    kind = np.dtype(target).kind
    return [t for t in SCALARS.values() if RANKS[t.kind] <= RANKS[kind] or (kind == "b" and t.kind in "iu")]


def samples(source, target):
    """Return values of `source` that show wrapping and rounding, as far as `target` can hold them."""
    source = np.dtype(source)
    if source.kind == "b":
        return np.array([False, True])
    if source.kind in "iu":
        if np.dtype(target).kind in "biu":
            return np.concatenate([np.array([0, 1], source), bit_patterns(source, 62)])
        return np.array([0, 1, 100, *([-1, -100] if source.kind == "i" else [])], source)
    if np.dtype(target).kind == "c":
        return np.array([0.0, 1.5, -2.25, 1 / 3, 1000.1]).astype(source) * source.type(1j if source.kind == "c" else 1)
    return np.array([0.0, -0.0, 1.5, -2.25, 1 / 3, 1000.1, np.inf, -np.inf, np.nan]).astype(source)


@pytest.mark.parametrize("target", SCALARS.values(), ids=str)
def test_a_cast_wraps_integers_and_rounds_floats(target):
    for source in sources(target):
        x = samples(source, target)
        with np.errstate(all="ignore"):
            expected = x.astype(target)
        assert_same(cast(target, x), expected, f"{source} to {target}")


@kernel("int64", "float64", "int8", "uint16", "float32", "complex64", "boolean")
def cast_parts(a, b, o1, o2, o3, o4, flag):
    """A nested tuple, part by part."""
    i = cuda.grid(1)
    like = ((o1[i], o2[i]), (o3[i], o4[i]), flag[i])
    result = types.cast_like(like, ((a[i], a[i]), (b[i], b[i]), a[i]))
    o1[i] = result[0][0]
    o2[i] = result[0][1]
    o3[i] = result[1][0]
    o4[i] = result[1][1]
    flag[i] = result[2]


@kernel("float32", "float64", "int64", "int32", "int32", "int32")
def cut(a, b, c, x, y, z):
    """Numbers of three types as int32."""
    i = cuda.grid(1)
    x[i] = types.truncated(a[i])
    y[i] = types.truncated(b[i])
    z[i] = types.truncated(c[i])


def test_numbers_are_cut_towards_0():
    a = np.array([-2.9, -0.5, 0.5, 0.99999, 1.0, 7.7, 1e6 + 0.5, -1e6], np.float32)
    x, y, z = (np.zeros(8, np.int32) for _ in "xyz")
    cut[1, 8](a, a.astype(np.float64), np.arange(8) - 4, x, y, z)
    assert x.tolist() == y.tolist() == [-2, 0, 0, 0, 1, 7, 1000000, -1000000]
    assert z.tolist() == list(range(-4, 4))


def test_tuples_are_cast_part_by_part():
    a, b = np.arange(-32, 32) * 4099, np.arange(64) / 3
    outs = [np.zeros(64, t) for t in ("int8", "uint16", "float32", "complex64", "bool")]
    cast_parts[1, 64](a, b, *outs)
    for out, source in zip(outs, (a, a, b, b, a)):
        assert_same(out, source.astype(out.dtype))


@kernel("int64", "float32", "float32", "int64")
def between_vectors_and_tuples(a, x, y, z):
    """A vector like a tuple, a tuple like a vector, a vector like another."""
    i = cuda.grid(1)
    vector = cuda.float32x2(0, 0)
    made = types.cast_like(vector, (a[i], a[i] + 1))
    x[i] = made.x + types.cast_like(vector, cuda.int32x2(a[i], 0)).x
    y[i] = made.y
    pair = types.cast_like((a[i], a[i]), cuda.int8x2(a[i], a[i]))
    z[i] = pair[0] + pair[1]


def test_vectors_and_tuples_stand_for_each_other():
    a = np.arange(-8, 8) * 50
    x, y, z = np.zeros(16, np.float32), np.zeros(16, np.float32), np.zeros(16, np.int64)
    between_vectors_and_tuples[1, 16](a, x, y, z)
    assert (x == 2 * a).all()
    assert (y == a + 1).all()
    assert (z == 2 * a.astype(np.int8).astype(np.int64)).all()


FIELDS = np.dtype([("a", "i4"), ("b", "f4"), ("c", "u1")])


@kernel(FIELDS, "int64", "float32", "int32")
def record_of_a_tuple(out, a, b, first):
    """A record out of its fields, and a tuple out of a record."""
    i = cuda.grid(1)
    out[i] = types.cast_like(out[i], (a[i], b[i], a[i]))
    first[i] = types.cast_like((first[i], 0.0, 0), out[i])[0]


def test_a_tuple_becomes_a_record_and_a_record_a_tuple():
    a, b, out = np.arange(-16, 16) * 1000, np.arange(32, dtype=np.float32) / 4, np.zeros(32, FIELDS)
    first = np.zeros(32, np.int32)
    record_of_a_tuple[1, 32](out, a, b, first)
    assert (first == a).all()
    assert_same(out["a"], a.astype(np.int32))
    assert_same(out["b"], b)
    assert_same(out["c"], a.astype(np.uint8))


# ------------------------------------------------------------------ hold


@device
def held(value, i):
    """The value itself."""
    return types.hold(value)


@pytest.mark.parametrize("name", VALUES)
def test_a_held_value_is_the_value(name):
    for x, out in carry(held, name):
        assert_same_bytes(out, x)


@kernel(FIELDS, FIELDS)
def hold_then_change(x, out):
    """What is held does not follow later stores; an element of an array in Numba does."""
    i = cuda.grid(1)
    record = types.hold(x[i])
    nested = types.hold((x[i], 1))
    x[i].a = -1
    out[2 * i] = record
    out[2 * i + 1] = nested[0]


def test_a_held_record_does_not_follow_the_array():
    x, out = np.zeros(8, FIELDS), np.zeros(16, FIELDS)
    x["a"], x["b"], x["c"] = np.arange(8), 0.5, 200
    before = x.copy()
    hold_then_change[1, 8](x, out)
    assert (x["a"] == -1).all()
    assert (out == np.repeat(before, 2)).all()


# ------------------------------------------------------------------ comparing


@functools.cache
def comparing(compare):
    """Kernel: out[i, k] = compare(x[i], x[k])."""

    @cuda.jit
    def run(x, out):
        i = cuda.grid(1)
        for k in range(x.size):
            out[i * x.size + k] = compare(x[i], x[k])

    return run


def compared(compare, x):
    """Return the table of all pairs."""
    out = np.zeros((len(x), len(x)), np.bool_)
    comparing(compare)[1, len(x)](x, out.reshape(-1))
    return out


def edges(dtype):
    """Return the telling values of a type."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        return np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1, 7, np.iinfo(dtype).max - 1], dtype)
    floats = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, np.finfo(dtype).tiny, np.finfo(dtype).max])
    return floats.astype(dtype) if dtype.kind == "f" else np.array([0, -0.0, 1j, 1, 1 + 1j, np.nan, 2], dtype)


@pytest.mark.parametrize("dtype", [np.bool_, *REALS], ids=label)
def test_precedes_puts_nan_last(dtype):
    x = edges(dtype)
    with np.errstate(invalid="ignore"):
        expected = [[bool(a < b or (b != b and a == a)) for b in x] for a in x]
    assert compared(types.precedes, x).tolist() == expected


@pytest.mark.parametrize("dtype", SCALARS.values(), ids=str)
def test_equal_is_that_of_numbers_and_equal_bits_that_of_bits(dtype):
    x = edges(dtype)
    assert compared(types.equal, x).tolist() == [[bool(a == b) for b in x] for a in x]
    assert compared(types.equal_bits, x).tolist() == [[a.tobytes() == b.tobytes() for b in x] for a in x]


@pytest.mark.parametrize("name", [*RECORDS, *MORE_RECORDS])
def test_records_are_equal_in_their_bits(name):
    x = bit_patterns(VALUES[name], 6)
    x.view(np.uint8).reshape(6, -1)[3] = x[1:2].view(np.uint8)  # with the holes
    raw = [r.tobytes() for r in x]
    assert compared(types.equal_bits, x).tolist() == [[a == b for b in raw] for a in raw]


@functools.cache
def comparing_parts(kind):
    """Kernel: per item, are its parts equal to those of the next, one by one and in all their bits."""
    build = kind.build
    parts = len(kind.dtypes)

    @cuda.jit
    def run(a, b, c, d, each, bits):
        i = cuda.grid(1)
        mine = build(a, b, c, d, i)
        following = build(a, b, c, d, i + 1)
        flags = types.equal(mine, following)
        for k in range(parts):
            each[parts * i + k] = flags[k]
        bits[i] = types.equal_bits(mine, following)

    return run


@pytest.mark.parametrize("kind", COMPOUND, ids=str)
def test_vectors_and_tuples_are_equal_part_by_part(kind):
    rng = np.random.default_rng(2)
    pools = [np.array([0, -0.0, np.nan, 1] if np.dtype(t).kind == "f" else [0, 1], t) for t in kind.dtypes]
    columns = [rng.choice(pool, 65) for pool in pools]
    each, bits = np.zeros((64, len(columns)), np.bool_), np.zeros(64, np.bool_)
    comparing_parts(kind)[1, 64](*dummies(columns), each.reshape(-1), bits)
    for k, column in enumerate(columns):
        assert (each[:, k] == (column[:-1] == column[1:])).all()
    rows = [b"".join(part.tobytes() for part in row) for row in zip(*columns)]
    assert bits.tolist() == [a == b for a, b in itertools.pairwise(rows)]


# ------------------------------------------------------------------ questions about an operator


@device
def users(a, b):
    """A user's operator."""
    return a


@functools.cache
def asking(op):
    """Kernel: out[0] = is_commutative(op)."""

    @cuda.jit
    def run(out):
        out[0] = types.is_commutative(op)

    return run


@pytest.mark.parametrize(
    ("op", "known"),
    [(ops.add, True), (min, True), (np.multiply, True), (ops.logical_or, True), (users, False)],
    ids=label,
)
def test_only_built_in_operators_are_known_to_commute(op, known):
    out = np.array([not known])
    asking(op)[1, 1](out)
    assert out[0] == known


def test_the_tables_cover_every_scalar():
    assert set(SCALARS.values()) == {np.dtype(t) for t in (np.bool_, *INTEGERS, *FLOATS, *COMPLEX)}
