"""Kinds: both machines say the same of a value, and what a kind can do."""

import numpy as np
import pytest
from numba import cuda

from tests.simt.waist import MORE_RECORDS, SCALARS
from tests.warp.kinds import RECORDS
from tests.warp.matrix import SIMULATOR
from warpkit.simt.kinds import Kind, kind_of_dtype

pytestmark = pytest.mark.everywhere
FAMILIES = {"b": "bool", "i": "signed", "u": "unsigned", "f": "float", "c": "complex"}


@cuda.jit(device=True)
def users(a, b):
    """A user's function."""
    return a + b


def kind_of(value):
    """Return what this process's machine says of a value."""
    if SIMULATOR:
        from warpkit.simt.simulated_kinds import kind_of_value

        return kind_of_value(value)
    from numba import typeof
    from numba.cuda import types

    from warpkit.simt.numba_cuda import kinds

    if type(value) is int:
        return kinds.kind_of(types.literal(value))
    if callable(value):
        return kinds.kind_of(value._numba_type_)
    return kinds.kind_of(typeof(value))


@pytest.mark.parametrize("dtype", SCALARS.values(), ids=str)
def test_scalars(dtype):
    expected = Kind(dtype.name, FAMILIES[dtype.kind], 8 * dtype.itemsize)
    assert kind_of(dtype.type(1)) == expected
    assert kind_of_dtype(dtype) == expected
    assert expected.is_numeric
    assert expected.is_flat
    assert expected.is_movable
    assert expected.is_integer == (dtype.kind in "iu")
    assert expected.leaves == (expected,)


@pytest.mark.parametrize(
    ("value", "name", "family", "constant"),
    [
        (7, "int64", "signed", 7),
        (-1, "int64", "signed", -1),
        (True, "bool", "bool", None),
        (2.5, "float64", "float", None),
        (1j, "complex128", "complex", None),
        (None, "None", "none", None),
    ],
    ids=str,
)
def test_python_values(value, name, family, constant):
    kind = kind_of(value)
    assert (kind.name, kind.family, kind.constant) == (name, family, constant)
    assert kind.is_movable == (value is not None)


def test_tuples_have_the_kinds_of_their_parts():
    kind = kind_of((np.int8(1), (np.float64(2), np.float16(1)), np.bool_(True)))
    assert kind.name == "(int8, (float64, float16), bool)"
    assert kind.family == "tuple"
    assert [part.family for part in kind.parts] == ["signed", "tuple", "bool"]
    assert [leaf.name for leaf in kind.leaves] == ["int8", "float64", "float16", "bool"]
    assert kind.is_movable
    assert not kind.is_flat
    assert kind_of((np.int8(1), np.float32(2))).is_flat


@pytest.mark.parametrize("name", [*RECORDS, *MORE_RECORDS])
def test_records_move_and_nothing_else(name):
    dtype = (RECORDS | MORE_RECORDS)[name]
    kinds = [kind_of_dtype(dtype)]
    if not SIMULATOR:
        kinds.append(kind_of(np.zeros(1, dtype)[0]))
    for kind in kinds:
        assert kind == Kind(f"record of {dtype.itemsize} bytes", "record")
        assert kind.is_movable
        assert not kind.is_flat
        assert not kind.is_numeric


def test_functions_and_what_cannot_move():
    kind = kind_of(users)
    assert (kind.name, kind.family) == ("users", "function")
    assert not kind.is_movable
    for other in (Kind("x", "array"), Kind("x", "other"), Kind("x", "none"), Kind("t", "tuple", parts=(kind,))):
        assert not other.is_movable
        assert not other.is_flat
