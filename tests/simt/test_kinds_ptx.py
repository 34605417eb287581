"""Kinds of what only the compiler has: constants, vectors, bfloat16."""

import numpy as np
import pytest
from numba import typeof
from numba.cuda import types

from warpkit.simt.kinds import Kind
from warpkit.simt.numba_cuda.kinds import is_vector, kind_of


def test_bfloat16_is_a_float_of_16_bits():
    assert kind_of(types.bfloat16) == Kind("bfloat16", "float", 16)


@pytest.mark.parametrize(("name", "part", "number"), [("float32x3", "float32", 3), ("uint8x4", "uint8", 4)])
def test_vectors_have_parts(name, part, number):
    from numba.cuda.vector_types import vector_types  # not before a kernel is compiled: see is_vector

    kind = kind_of(vector_types[name])
    assert is_vector(vector_types[name])
    assert (kind.name, kind.family, [p.name for p in kind.parts]) == (name, "vector", [part] * number)
    assert kind.is_flat
    assert kind.is_movable


def test_constants_are_known_however_they_arrive():
    for t in (types.Omitted(4), types.literal(4), 4):
        assert kind_of(t) == Kind("int64", "signed", 64, constant=4)
    for t in (types.Omitted(None), None, types.none):
        assert kind_of(t).family == "none"
    assert kind_of(types.int64).constant is None
    assert kind_of(types.literal(True)).family == "bool"
    assert kind_of(types.literal("text")).family == "other"


def test_arrays_and_records():
    assert kind_of(typeof(np.zeros((2, 2), np.int8))).family == "array"
    assert [p.name for p in kind_of(typeof(np.zeros(2, np.int8))).parts] == ["int8"]
