"""What the built-in operators cost: their instruction, also on halves; no call, no memory."""

import functools
import operator

import numba
import numpy as np
import pytest
from numba import cuda

from tests.ptx import assert_register_only, count, result_type
from tests.simt import test_ops
from tests.simt.waist import SCALARS, array_of, device
from tests.warp.kinds import FLAT
from tests.warp.literal import NUMBA
from tests.warp.matrix import label
from warpkit.simt import ops, types

SUFFIX = {"float16": "f16", "float32": "f32", "float64": "f64"}


def compiled(compile_ptx, run, name, **options):
    """Compile a kernel of three arrays of one scalar."""
    return compile_ptx(run, *[array_of(name)] * 3, **options)


@device
def of_complex(a, b):
    """What is defined on every number, and the identities."""
    return (ops.add(a, b), ops.mul(a, b), types.identity_like(ops.add, a), types.identity_like(ops.mul, a))


@device
def of_bool(a, b):
    """What is defined on bool, and the identities."""
    first = (ops.mul(a, b), ops.minimum(a, b), ops.maximum(a, b), ops.fmin(a, b), ops.fmax(a, b))
    return first + (
        types.identity_like(ops.mul, a),
        types.identity_like(ops.minimum, a),
        types.identity_like(ops.fmax, a),
    )


@device
def of_floats(a, b):
    """What is defined on reals, and the identities."""
    return of_complex(a, b) + of_bool(a, b)


@device
def logic(a, b):
    """What is defined on integers and bool, and the identities."""
    first = (ops.bit_and(a, b), ops.bit_or(a, b), ops.bit_xor(a, b), ops.logical_and(a, b), ops.logical_or(a, b))
    return first + (types.identity_like(ops.bit_and, a), types.identity_like(ops.logical_or, a))


@device
def of_integers(a, b):
    """Everything."""
    return of_floats(a, b) + logic(a, b)


@device
def of_bools(a, b):
    """Everything but add."""
    return of_bool(a, b) + logic(a, b)


FAMILY = {"b": of_bools, "i": of_integers, "u": of_integers, "f": of_floats, "c": of_complex}


@functools.cache
def everything(family):
    """Kernel: store the result of every operator."""

    @cuda.jit
    def run(a, b, out):
        results = family(a[0], b[0])
        for k in range(len(results)):
            out[k] = results[k]

    return run


@pytest.mark.parametrize("dtype", SCALARS.values(), ids=str)
def test_operators_are_inline_and_keep_the_type(compile_ptx, dtype):
    family, scalar = FAMILY[dtype.kind], array_of(dtype).dtype
    ptx = compiled(compile_ptx, everything(family), dtype)
    assert_register_only(ptx)
    assert ".f64" not in ptx or dtype in (np.float64, np.complex128)
    results = result_type(lambda a, b: family(a, b), scalar, scalar)
    assert len(results) == {"b": 15, "i": 19, "u": 19, "f": 12, "c": 4}[dtype.kind]
    assert set(results) == {scalar}


@pytest.mark.parametrize("name", SUFFIX)
@pytest.mark.parametrize(("op", "text"), [(ops.add, "add.rn"), (ops.mul, "mul.rn")], ids=label)
def test_sums_and_products_are_rounded_at_once(compile_ptx, op, text, name):
    ptx = compiled(compile_ptx, test_ops.directly(op), name)
    assert count(ptx, f"{text}.{SUFFIX[name]}") == 1
    assert count(ptx, "fma") == count(ptx, "cvt.f32") == 0


@pytest.mark.parametrize("name", ["float16", "float32"])
@pytest.mark.parametrize(
    ("op", "text"),
    [(ops.minimum, "min.NaN"), (ops.maximum, "max.NaN"), (ops.fmin, "min"), (ops.fmax, "max")],
    ids=label,
)
def test_extrema_are_one_instruction_from_sm_80_and_compares_before(compile_ptx, op, text, name):
    run, text = test_ops.directly(op), f"{text}.{SUFFIX[name]}"
    assert count(compiled(compile_ptx, run, name), text) == 1
    before = compiled(compile_ptx, run, name, cc=(7, 5))
    assert count(before, text) == 0
    assert_register_only(before)


def chain(a, b, out):
    """A product beside a sum."""
    i = cuda.grid(1)
    out[i] = ops.add(ops.mul(a[i], b[i]), a[i])


def test_no_product_is_fused_with_a_sum(compile_ptx):
    for name in SUFFIX:
        assert count(compiled(compile_ptx, chain, name), "fma") == 0


def by_other_names(a, b, out):
    """What Python and NumPy call the operators on floats."""
    out[0] = types.combine(operator.add, a[0], b[0]) + types.combine(np.add, a[0], b[1])
    out[1] = types.combine(operator.mul, a[1], b[0]) + types.combine(np.multiply, a[1], b[1])
    out[2] = types.combine(np.minimum, a[2], b[0]) + types.combine(np.maximum, a[2], b[1])
    out[3] = types.combine(np.fmin, a[3], b[0]) + types.combine(np.fmax, a[3], b[1])
    out[4] = types.combine(min, a[4], b[0]) + types.combine(max, a[4], b[1])


def test_aliases_compile_to_the_same_instructions(compile_ptx):
    ptx = compiled(compile_ptx, by_other_names, "float32")
    found = {name: count(ptx, f"{name}.f32") for name in ("mul.rn", "min.NaN", "max.NaN", "min", "max")}
    assert found == {"mul.rn": 2, "min.NaN": 1, "max.NaN": 1, "min": 2, "max": 2}
    assert_register_only(ptx)


@pytest.mark.parametrize("kind", FLAT, ids=str)
def test_operators_on_parts_are_inline(compile_ptx, kind):
    columns = [array_of(dtype) for dtype in kind.dtypes]
    columns += [array_of("int32")] * (4 - len(columns))
    for op in (ops.mul, ops.minimum):
        assert_register_only(compile_ptx(test_ops.on_parts(op, kind), *columns, *columns))


@pytest.mark.parametrize("name", ["int8", "uint32", "int64", "float16", "complex64"])
def test_a_users_operator_is_inline(compile_ptx, name):
    assert_register_only(compiled(compile_ptx, test_ops.combining(test_ops.twice_plus), name))
    scalar = NUMBA[name]
    assert result_type(lambda a, b: types.combine(test_ops.twice_plus, a, b), scalar, scalar) == scalar


@pytest.mark.parametrize("op", [ops.add, ops.mul, ops.minimum, ops.fmax], ids=label)
def test_bfloat16_has_the_operators_and_identities(compile_ptx, op):
    array = cuda.types.bfloat16[::1]
    ptx = compile_ptx(test_ops.directly(op), array, array, array)
    assert count(ptx, "call") == 0
    ptx = compile_ptx(test_ops.with_identity(op), *[array] * 4)
    assert_register_only(ptx)


def same_int(a, b):
    """Two integers of different types."""
    return ops.add(a, b)


def test_the_type_is_that_of_the_first():
    assert result_type(same_int, numba.int8, numba.int64) == numba.int8
    assert result_type(same_int, numba.float32, numba.int64) == numba.float32
