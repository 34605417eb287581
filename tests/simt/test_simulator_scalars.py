"""Scalars of a kernel promote as Numba's typing says, cell by cell, and wrap when stored."""

import json
import operator
import os
import subprocess
import sys

import numpy as np
import pytest
from numba import cuda

from warpkit.simt.simulator import SCALARS, promoted, scalar
from warpkit.simt.simulator.numbers import MOST_NUMBERS
from warpkit.simt.simulator.promotion import ARITHMETIC, BITWISE, result_dtype, unary_dtype
from warpkit.simt.simulator.scalars import Float32, Int32, Int64, UInt32, UInt64

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()

# Run without the simulator: what numba-cuda's own typing answers for every operator and pair of types.
ASK_NUMBA = """
import json, operator, sys
from numba.cuda import types
from numba.cuda.descriptor import cuda_target
names, binary, unary = json.loads(sys.argv[1])
typing = cuda_target.typing_context
typing.refresh()
def ask(name, *given):
    function = abs if name == "abs" else getattr(operator, name)
    try:
        given = tuple(getattr(types, "boolean" if name == "bool" else name) for name in given)
        found = typing.resolve_function_type(function, given, {})
        return str(found.return_type)
    except Exception:
        return None
table = {f"{op} {a} {b}": ask(op, a, b) for op in binary for a in names for b in names}
table |= {f"{op} {a}": ask(op, a) for op in unary for a in names}
print(json.dumps(table))
"""


@pytest.fixture(scope="module")
def numba_table():
    question = json.dumps([NAMES, [*ARITHMETIC, *BITWISE], ["neg", "pos", "invert", "abs"]])
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_ENABLE_CUDASIM"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ASK_NUMBA, question],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_every_binary_operation_has_the_dtype_that_numba_gives(numba_table):
    wrong = {}
    for operation in (*ARITHMETIC, *BITWISE):
        for a in NAMES:
            for b in NAMES:
                expected = numba_table[f"{operation} {a} {b}"]
                got = result_dtype(operation, np.dtype(a), np.dtype(b))
                if (operation, a) != ("pow", "bool") and str(got) != str(expected):  # Numba's own answer varies there
                    wrong[operation, a, b] = (str(got), expected)
    assert not wrong


def test_every_unary_operation_has_the_dtype_that_numba_gives(numba_table):
    for operation in ("neg", "pos", "abs"):
        for name in NAMES[1:]:  # a flag is a Python bool here
            assert str(unary_dtype(operation, np.dtype(name))) == numba_table[f"{operation} {name}"]
    for name in NAMES[1:9]:
        assert str(unary_dtype("invert", np.dtype(name))) == numba_table[f"invert {name}"]


@pytest.mark.parametrize("operation", [*ARITHMETIC, *BITWISE])
def test_the_scalars_follow_the_table_with_our_own_python_and_numpy_operands(operation):
    apply = getattr(operator, operation)
    with np.errstate(all="ignore"):
        for a in NAMES[1:]:
            for b in NAMES[1:]:
                dtype = result_dtype(operation, np.dtype(a), np.dtype(b))
                x, y = SCALARS[np.dtype(a).type](5), SCALARS[np.dtype(b).type](2)
                if dtype is None:
                    with pytest.raises(TypeError):
                        apply(x, y)
                    continue
                exact = apply(5, 2)
                for left, right in ((x, y), (np.dtype(a).type(5), y), (x, np.dtype(b).type(2))):
                    result = apply(left, right)
                    assert type(result) is SCALARS[dtype.type], (a, b, type(left), type(right))
                    assert np.isclose(complex(result), exact, rtol=1e-2)
            if result_dtype(operation, np.dtype(a), np.dtype(np.int64)) is not None:
                assert apply(SCALARS[np.dtype(a).type](5), 2).dtype == result_dtype(
                    operation, np.dtype(a), np.dtype(np.int64)
                )
                assert apply(5, SCALARS[np.dtype(a).type](2)).dtype == result_dtype(
                    operation, np.dtype(np.int64), np.dtype(a)
                )


BIG = 2**31 - 1


@pytest.mark.parametrize(
    ("expression", "expected", "kind"),
    [
        ("Int32(BIG) + Int32(1)", 2**31, Int64),
        ("(Int32(BIG) + Int32(1)) // 2", 2**30, Int64),
        ("UInt32(2**32 - 1) + UInt32(1)", 2**32, UInt64),
        ("UInt32(1) - UInt32(2)", 2**64 - 1, UInt64),
        ("UInt32(0) - 1", -1, Int64),
        ("~UInt32(0)", 2**64 - 1, UInt64),
        ("UInt32(1) << 32", 2**32, UInt64),
        ("1 << UInt32(31)", 2**31, Int64),
        ("Int32(-1) & 0xFFFFFFFF", 2**32 - 1, Int64),
        ("Int64(2**63 - 1) + 1", -(2**63), Int64),
        ("UInt64(2**63) * 2", 0, Int64),
        ("UInt64(1) + 2**63", 2**63 + 1, UInt64),
        ("Int32(-7) // 2", -4, Int64),
        ("Int32(-7) % 3", 2, Int64),
        ("Int32(7) // 0", 0, Int64),
        ("Int32(1) << 64", 0, Int64),
        ("Int32(-5) >> 70", -1, Int64),
        ("Int32(3) ** 39", 3**39, Int64),
        ("Int32(3) ** 41", (3**41 + 2**63) % 2**64 - 2**63, Int64),
        ("abs(Int32(-3))", 3, Int32),
        ("Float32(16777216) + 1.0", 16777217.0, SCALARS[np.float64]),
        ("Float32(1) / Float32(3)", float(np.float32(1) / np.float32(3)), Float32),
    ],
)
def test_values_that_numpy_gets_differently(expression, expected, kind):
    result = eval(expression)
    assert result == expected
    assert type(result) is kind


def test_comparisons_are_exact_python_bools():
    assert (UInt64(2**64 - 1) > Int32(-1)) is True
    assert (np.uint32(3) > Int32(-1)) in (True, np.True_)
    assert (UInt32(1) < 2) + (UInt32(1) < 3) == 2
    assert (Float32(float("nan")) == Float32(float("nan"))) is False
    assert (Int32(1) == "one") is False
    assert (Int32(3) == None) is False  # noqa: E711
    assert hash(Int32(7)) == hash(7)
    assert {Int32(7): "x"}[7] == "x"


def test_conversions_indexing_and_ranges():
    three = Int32(3)
    assert (int(three), float(three), [10, 20, 30, 40][three], list(range(three))) == (3, 3.0, 40, [0, 1, 2])
    assert np.uint8(Int64(300)) == 44
    assert type(promoted(np.uint16(5))) is SCALARS[np.uint16]
    assert type(promoted(5)) is Int64
    assert divmod(Int32(7), 2) == (3, 1)
    assert f"{three} {three:03d}" == "3 003"


@pytest.mark.parametrize(
    ("value", "dtype", "kept"),
    [
        (300, "u1", 44),
        (-1, "u4", 2**32 - 1),
        (2**31, "i4", -(2**31)),
        (2.9, "i4", 2),
        (-2.9, "i8", -2),
        (1e300, "i4", BIG),
        (float("nan"), "i4", 0),
        (7, "?", True),
        (0.1, "f4", float(np.float32(0.1))),
        (2 + 1j, "c8", 2 + 1j),
    ],
)
def test_scalar_wraps_like_a_store(value, dtype, kept):
    assert scalar(value, dtype) == kept
    assert type(scalar(value, dtype)) is SCALARS[np.dtype(dtype).type]


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("space", ["global", "shared", "local"])
def test_stores_wrap_in_every_space(dtype, space):
    @cuda.jit
    def kernel(x, out):
        i = cuda.laneid
        if space == "shared":
            place = cuda.shared.array(32, np.dtype(dtype))
        elif space == "local":
            place = cuda.local.array(32, np.dtype(dtype))
        else:
            place = out
        place[i] = x[i] + x[i]
        place[i] -= 1
        place[i] *= 3
        out[i] = place[i]

    info = np.iinfo(dtype)
    x = np.linspace(float(info.min), float(info.max) * 0.99, 32).astype(dtype)
    out = np.zeros(32, dtype)
    kernel[1, 32](x, out)
    expected = [((2 * int(v) - 1) * 3 - int(info.min)) % (1 << info.bits) + int(info.min) for v in x]
    assert out.tolist() == expected


def test_arguments_and_reads_promote_in_a_kernel():
    @cuda.jit
    def kernel(x, factor, flags, out):
        out[0] = (x[0] + x[1]) // 2
        out[1] = x[0] * factor
        out[2] = flags[0] + flags[1]
        out[3] = 1.0 / (factor - factor)

    out = np.zeros(4)
    kernel[1, 1](np.full(2, BIG, np.int32), np.int32(3), np.array([True, True]), out)
    assert out.tolist() == [BIG, 3 * BIG, 2, np.inf]


@pytest.mark.parametrize("operation", [operator.add, operator.and_, operator.or_, operator.xor, operator.sub])
def test_a_python_int_beyond_int64_is_a_uint64_whatever_was_met_before(operation):
    mine = UInt32(5)
    for other, kind in [(1, Int64), (2**63, UInt64), (1, Int64), (2**63 + 4, UInt64)]:
        assert type(operation(mine, other)) is kind
        assert type(operation(other, mine)) is kind
        assert int(operation(mine, other)) % 2**64 == operation(5, other) % 2**64
    assert type(1 << mine) is Int64
    assert type(2**63 << mine) is UInt64
    assert type(1 << mine) is Int64


def test_numbers_are_found_again_beyond_the_type_and_after_many_others():
    for _ in range(2):
        assert [int(scalar(value, np.uint8)) for value in range(-3, 3)] == [253, 254, 255, 0, 1, 2]
        assert [int(Int32(2**31 - 1) * scale) for scale in (2**31, 2**32)] == [2**62 - 2**31, 2**63 - 2**32]
        assert int(Int64(2**62) + Int64(2**62)) == -(2**63)
        assert np.signbit(Float32(-1) * Float32(0))
        assert not np.signbit(Float32(1) * Float32(0))
        assert all(int(Int32(0) + number) == number for number in range(-5, MOST_NUMBERS + 5))
