"""Casts, comparisons and `hold` in registers: no call, no memory."""

import pytest
from numba import cuda

from tests.ptx import assert_register_only, count, result_type
from tests.simt import test_types
from tests.simt.waist import MORE_RECORDS, SCALARS, VALUES, array_of, carried_ptx, device, registered
from tests.warp.kinds import COMPOUND, RECORDS
from warpkit.simt import types


@device
def store_casts_of_integers(like, b, i1, i2, i4, i8, u1, u2, u4, u8, out):
    """Cast bool and every integer."""
    out[0] = types.cast_like(like[0], b[0])
    out[1] = types.cast_like(like[0], i1[0])
    out[2] = types.cast_like(like[0], i2[0])
    out[3] = types.cast_like(like[0], i4[0])
    out[4] = types.cast_like(like[0], i8[0])
    out[5] = types.cast_like(like[0], u1[0])
    out[6] = types.cast_like(like[0], u2[0])
    out[7] = types.cast_like(like[0], u4[0])
    out[8] = types.cast_like(like[0], u8[0])


def to_integer(like, b, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8, c8, c16, out):
    """Cast what may become an integer."""
    store_casts_of_integers(like, b, i1, i2, i4, i8, u1, u2, u4, u8, out)


def to_float(like, b, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8, c8, c16, out):
    """Cast what may become a float."""
    store_casts_of_integers(like, b, i1, i2, i4, i8, u1, u2, u4, u8, out)
    out[9] = types.cast_like(like[0], f2[0])
    out[10] = types.cast_like(like[0], f4[0])
    out[11] = types.cast_like(like[0], f8[0])


def to_complex(like, b, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8, c8, c16, out):
    """Cast everything."""
    to_float_too(like, b, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8, c8, c16, out)
    out[12] = types.cast_like(like[0], c8[0])
    out[13] = types.cast_like(like[0], c16[0])


to_float_too = device(to_float)
TARGETS = [SCALARS[name] for name in ("bool", "int8", "uint32", "int64", "float16", "float32", "float64", "complex64")]
ALL = [array_of(dtype) for dtype in SCALARS.values()]
FAMILY = {"b": to_integer, "i": to_integer, "u": to_integer, "f": to_float, "c": to_complex}


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_casts_are_inline_and_have_the_type(compile_ptx, target):
    like = array_of(target)
    ptx = compile_ptx(FAMILY[target.kind], like, *ALL, like)
    assert ".local" not in ptx
    assert count(ptx, "call") == 0
    for source in ("uint8", "bool", "int64"):
        x = array_of(source).dtype
        assert result_type(lambda like, x: types.cast_like(like, x), like.dtype, x) == like.dtype


def to_and_from_bfloat16(b, f4, f2, i8, out):
    """Through float32, without a call."""
    out[0] = types.cast_like(f4[0], b[0])
    out[1] = types.cast_like(f2[0], b[0])
    b[1] = types.cast_like(b[0], f4[0])
    b[2] = types.cast_like(b[0], i8[0])
    b[3] = types.cast_like(b[0], b[4])


def test_bfloat16_is_cast_without_a_call(compile_ptx):
    others = [array_of(name) for name in ("float32", "float16", "int64", "float32")]
    assert_register_only(compile_ptx(to_and_from_bfloat16, cuda.types.bfloat16[::1], *others))


def test_parts_are_cast_in_registers(compile_ptx):
    for name in ("cast_parts", "between_vectors_and_tuples", "record_of_a_tuple"):
        ptx = compile_ptx(*registered(name))
        assert count(ptx, "call") == 0
        assert ".local" not in ptx


@pytest.mark.parametrize("name", [*SCALARS, "nested", "uint8x4", "float32x3"])
def test_a_held_value_costs_nothing(compile_ptx, name):
    ptx = carried_ptx(compile_ptx, test_types.held, name)
    assert_register_only(ptx)
    kind = VALUES[name]
    if kind in SCALARS.values():
        assert count(ptx, "ld.global") == count(ptx, "st.global") == 1 or kind.kind == "c"


@pytest.mark.parametrize("name", [*RECORDS, *MORE_RECORDS])
def test_a_record_is_loaded_by_the_largest_aligned_pieces(compile_ptx, name):
    dtype = VALUES[name]
    loads = count(carried_ptx(compile_ptx, test_types.held, name), "ld.global")
    assert loads <= -(-dtype.itemsize // (min(4, dtype.alignment) if dtype.isalignedstruct else 1))


def comparisons_without_order(x, out):
    """Equal, and in every bit."""
    out[0] = types.equal(x[0], x[1])
    out[1] = types.equal_bits(x[0], x[1])


def comparisons(x, out):
    """All three."""
    out[0] = types.equal(x[0], x[1])
    out[1] = types.equal_bits(x[0], x[1])
    out[2] = types.precedes(x[0], x[1])


@pytest.mark.parametrize("dtype", SCALARS.values(), ids=str)
def test_comparisons_are_inline(compile_ptx, dtype):
    out = array_of("boolean")
    compare = comparisons if dtype.kind != "c" else comparisons_without_order
    assert_register_only(compile_ptx(compare, array_of(dtype), out))


@pytest.mark.parametrize("kind", COMPOUND[::3], ids=str)
def test_comparisons_of_parts_are_inline(compile_ptx, kind):
    columns = [array_of(dtype) for dtype in kind.dtypes]
    columns += [array_of("int32")] * (4 - len(columns))
    ptx = compile_ptx(test_types.comparing_parts(kind), *columns, *[array_of("boolean")] * 2)
    assert count(ptx, "call") == 0


def test_commuting_is_known_at_compile_time(compile_ptx):
    ptx = compile_ptx(test_types.asking(test_types.users), array_of("boolean"))
    assert count(ptx, "setp") == count(ptx, "selp") == 0
