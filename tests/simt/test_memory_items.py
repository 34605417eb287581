"""Several items at once: `local_like`, `load_items`, `store_items`, aligned or not, on both machines."""

import functools

import numpy as np
import pytest
from numba import cuda

from tests.simt.waist import SCALARS, VALUES, assert_same_bytes, kernel
from tests.warp.matrix import bit_patterns
from warpkit.simt import memory

TYPES = [*SCALARS, "rec3", "rec4_aligned", "rec12", "rec16_aligned"]


@functools.cache
def copying(dtype, length):
    """Kernel: `length` items a thread from x[start] to out[start], through two local arrays, the second turned."""

    @cuda.jit
    def run(x, start, out):
        items = memory.local_array(length, dtype)
        turned = memory.local_like(items)
        at = start[0] + cuda.threadIdx.x * length
        memory.load_items(items, x, at)
        for k in range(length):
            turned[k] = items[length - 1 - k]
        memory.store_items(turned, out, at)

    return run


@pytest.mark.parametrize("length", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("name", TYPES)
def test_items_travel_whatever_their_size_number_and_alignment(name, length):
    dtype = VALUES[name]
    x = bit_patterns(dtype, 8 * length + 8)
    for start in (0, 1, 3, 4):
        out = np.zeros_like(x)
        copying(dtype if dtype.names else dtype.type, length)[1, 8](x, np.array([start]), out)
        span = slice(start, start + 8 * length)
        turned = x[span].reshape(8, length)[:, ::-1].reshape(-1)
        assert_same_bytes(out[span], turned)
        assert out[:start].tobytes() + out[span.stop :].tobytes() == bytes(8 * dtype.itemsize)


@kernel("int32", "int32")
def items_by_stride(x, out):
    """Every other item, which no vector access can do."""
    items = memory.local_array(4, np.int32)
    memory.load_items(items, x[::2], 4 * cuda.threadIdx.x)
    memory.store_items(items, out[::-1], 4 * cuda.threadIdx.x)


def test_strided_items_travel_one_by_one():
    x, out = np.arange(64, dtype=np.int32), np.zeros(32, np.int32)
    items_by_stride[1, 8](x, out)
    assert (out[::-1] == x[::2]).all()


@kernel("int32", "int64")
def into_another_type(x, out):
    """Items of another dtype are converted."""
    items = memory.local_array(4, np.int64)
    memory.load_items(items, x, 4 * cuda.threadIdx.x)
    memory.store_items(items, out, 4 * cuda.threadIdx.x)


def test_items_of_another_dtype_are_converted():
    x, out = np.arange(-16, 16, dtype=np.int32), np.zeros(32, np.int64)
    into_another_type[1, 8](x, out)
    assert (out == x).all()


@kernel("int32", "float32", "int32", "float32")
def tuples_of_shared_memory(a, b, oa, ob):
    """Tuples, whose padding is the compiler's own, item by item."""
    i = cuda.threadIdx.x
    box = memory.shared_array(32, (np.int8, np.float64))
    items = memory.local_array(2, (np.int8, np.float64))
    for k in range(2):
        items[k] = (np.int8(a[2 * i + k]), np.float64(b[2 * i + k]))
    memory.store_items(items, box, 2 * i)
    back = memory.local_like(items)
    memory.load_items(back, box, 2 * i)
    for k in range(2):
        oa[2 * i + k] = back[k][0]
        ob[2 * i + k] = back[k][1] + box[2 * i + k][1]


def test_tuples_travel_too():
    a, b = np.arange(32, dtype=np.int32), np.arange(32, dtype=np.float32) / 4
    oa, ob = np.zeros(32, np.int32), np.zeros(32, np.float32)
    tuples_of_shared_memory[1, 16](a, b, oa, ob)
    assert (oa == a).all()
    assert (ob == 2 * b).all()


@cuda.jit
def ask_for_vectors(x, y, z, out):
    one, two = memory.local_array(1, np.int16), memory.local_array(2, np.int16)
    four, eight, sixteen = (
        memory.local_array(4, np.int16),
        memory.local_array(8, np.int16),
        memory.local_array(16, np.int16),
    )
    out[0] = memory.vector_bytes(one, x)
    out[1] = memory.vector_bytes(two, x)
    out[2] = memory.vector_bytes(four, x)
    out[3] = memory.vector_bytes(eight, x)
    out[4] = memory.vector_bytes(sixteen, x)
    out[5] = memory.vector_bytes(four, y)
    out[6] = memory.vector_bytes(four, z)


def test_what_fills_a_vector():
    x, out = np.zeros(8, np.int16), np.full(7, -1)
    strided = cuda.to_device(np.zeros(16, np.int16))[::2]
    ask_for_vectors[1, 1](x, np.zeros(8, np.uint16), strided, out)
    assert list(out) == [0, 4, 8, 16, 0, 0, 0]
