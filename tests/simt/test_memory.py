"""Memory: shared and local arrays, scratch words, vector access, on both machines."""

import functools

import numpy as np
import pytest
from numba import cuda

from tests.simt.waist import SCALARS, VALUES, assert_same_bytes, carry, device, kernel
from tests.warp.kinds import RECORDS
from tests.warp.matrix import bit_patterns
from warpkit import errors
from warpkit.simt import memory, sync

# ------------------------------------------------------------------ shared and local arrays


@kernel("int32", "int32")
def two_on_one_line(x, out):
    """Each call is an array of its own."""
    i = cuda.threadIdx.x
    a, b = memory.shared_array(64, np.int32), memory.shared_array(64, np.int32)
    a[i] = x[i]
    b[i] = -x[i]
    sync.barrier()
    out[i] = 1000 * a[63 - i] + b[63 - i]


def test_n04_two_shared_arrays_on_one_line_are_two():
    x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    two_on_one_line[1, 64](x, out)
    assert (out == 999 * x[::-1]).all()


@kernel("int32", "float64")
def carved(x, out):
    """Two arrays of the launch's own memory, one behind the other, and a third over both."""
    i = cuda.threadIdx.x
    left = memory.dynamic_shared(32, np.int32, 0)
    right = memory.dynamic_shared(32, np.float64, 128)
    left[i] = x[i]
    right[i] = 0.5 * x[i]
    sync.barrier()
    both = memory.dynamic_shared(x.size + 64, np.int32, 0)
    out[i] = both[31 - i] + right[31 - i] + (0 if both[2 * i + 33] == 0 else 1000)


def test_dynamic_shared_memory_is_carved_by_bytes():
    x, out = np.zeros(32, np.int32), np.zeros(32)
    x[:] = 2 * np.arange(32)
    carved[1, 32, 0, 384](x, out)
    high = (0.5 * x).view(np.int32)[1::2] != 0
    assert (out == 1.5 * x[::-1] + 1000 * high).all()


@device
def reversed_as_floats(value, i):
    """A helper with memory of its own, float32."""
    box = memory.shared_array(64, np.float32)
    box[i] = value
    sync.barrier()
    return box[63 - i]


@device
def reversed_as_integers(value, i):
    """A helper with memory of its own, int64."""
    box = memory.shared_array(64, np.int64)
    box[i] = value
    sync.barrier()
    return box[63 - i]


@kernel("int32", "float32", "int64")
def helpers_with_memory(x, halves, squares):
    """Two helpers and the kernel, each with its own."""
    i = cuda.threadIdx.x
    box = memory.shared_array(64, np.int32)
    box[i] = x[i]
    halves[i] = reversed_as_floats(x[i] * 0.5, i)
    squares[i] = reversed_as_integers(x[i] * x[i], i) + box[i]


def test_helpers_have_shared_memory_of_their_own():
    x, halves, squares = np.arange(64, dtype=np.int32), np.zeros(64, np.float32), np.zeros(64, np.int64)
    helpers_with_memory[1, 64](x, halves, squares)
    assert (halves == x[::-1] / 2).all()
    assert (squares == x[::-1] ** 2 + x).all()


@kernel("float32", "float32", "int64")
def several_dimensions(x, out, sizes):
    """Transpose in a 3-D shared array, keep a row in a 2-D local one."""
    i = cuda.threadIdx.x
    box = memory.shared_array((2, 4, 8), np.float32)
    row = memory.local_array((2, 2), np.float32)
    box[i // 32, i // 8 % 4, i % 8] = x[i]
    sync.barrier()
    for k in range(2):
        row[k, 0] = box[k, i % 4, i // 4 % 8]
        row[k, 1] = k
    out[i] = row[i // 32, 0] + row[1, 1] - 1
    if i == 0:
        sizes[0] = box.size
        sizes[1] = box.shape[1]
        sizes[2] = len(box)
        sizes[3] = row.ndim


def test_arrays_of_several_dimensions():
    x, out, sizes = np.arange(64, dtype=np.float32), np.zeros(64, np.float32), np.zeros(4, np.int64)
    several_dimensions[1, 64](x, out, sizes)
    assert (out.reshape(2, 8, 4) == x.reshape(2, 4, 8).transpose(0, 2, 1)).all()
    assert sizes.tolist() == [64, 4, 2, 2]


@functools.cache
def through(allocate, dtype):
    """Kernel: through an array of `dtype` and back; a local one is the thread's own, a shared one the block's."""
    shared = allocate is memory.shared_array

    @cuda.jit
    def run(x, out):
        i = cuda.threadIdx.x
        box = allocate(64, dtype)
        box[i] = x[i]
        sync.barrier()
        out[i] = box[63 - i if shared else i]

    return run


@pytest.mark.parametrize("name", [*SCALARS, *RECORDS, "rec16_aligned"])
def test_arrays_of_every_scalar_and_record(name):
    dtype = VALUES[name]
    x = bit_patterns(dtype, 64)
    for allocate, step in ((memory.shared_array, -1), (memory.local_array, 1)):
        out = np.zeros_like(x)
        through(allocate, dtype if dtype.names else dtype.type)[1, 64](x, out)
        assert_same_bytes(out, x[::step])


@kernel("int32", "float32", "int32", "float32", "int32")
def arrays_of_parts(a, b, oa, ob, oc):
    """Shared and local arrays of tuples, nested tuples and vectors."""
    i = cuda.threadIdx.x
    pairs = memory.shared_array(64, (np.int32, np.float32))
    nested = memory.shared_array(64, (np.int8, (np.float64, np.int16)))
    vectors = memory.shared_array(64, cuda.float32x4)
    mine = memory.local_array(2, (np.int32, np.float32))
    pairs[i] = (a[i], b[i])
    nested[i] = (np.int8(a[i]), (np.float64(b[i]), np.int16(a[i] * 2)))
    vectors[i] = cuda.float32x4(b[i], 1, 2, a[i])
    sync.barrier()
    k = 63 - i
    mine[0] = pairs[k]
    mine[1] = (np.int32(nested[k][0]), np.float32(vectors[k].w))
    oa[i] = mine[0][0] + mine[1][0]
    ob[i] = mine[0][1] + mine[1][1] + vectors[k].z - 2
    oc[i] = nested[k][1][0] + nested[k][1][1]


def test_arrays_of_tuples_and_vectors():
    a, b = np.arange(64, dtype=np.int32) - 9, np.arange(64, dtype=np.float32)
    oa, ob, oc = np.zeros(64, np.int32), np.zeros(64, np.float32), np.zeros(64, np.int32)
    arrays_of_parts[1, 64](a, b, oa, ob, oc)
    assert (oa == 2 * a[::-1]).all()
    assert (ob == a[::-1] + b[::-1]).all()
    assert (oc == 2 * a[::-1] + b[::-1]).all()


# ------------------------------------------------------------------ scratch


@device
def through_scratch(value, i):
    """Hand the value to the thread at the other end of the block, twice through one memory."""
    words = memory.scratch(64, value)
    memory.put(words, i, 64, value)
    sync.barrier()
    other = memory.take(words, 63 - i, 64, value)
    sync.barrier()
    memory.put(words, 63 - i, 64, other)
    sync.barrier()
    result = memory.take(words, 63 - i, 64, value)
    sync.barrier()
    return result


@device
def through_rows_of_scratch(value, i):
    """The words of a value side by side: slot times the words of a value, stride 1."""
    words = memory.scratch(64, value)
    width = memory.words_of(value)
    memory.put(words, i * width, 1, value)
    sync.barrier()
    result = memory.take(words, (i ^ 1) * width, 1, value)
    sync.barrier()
    return result


@pytest.mark.parametrize("name", VALUES)
def test_scratch_takes_every_type_with_all_its_bits(name):
    for x, out in carry(through_scratch, name):
        assert_same_bytes(out, x[::-1])
    for x, out in carry(through_rows_of_scratch, name):
        assert_same_bytes(out, x[np.arange(64) ^ 1])


@kernel("float32", "int32", "float64", "int32")
def scratch_of_several_types(x, y, out, sizes):
    """One memory per size, used for one type after another."""
    i = np.int32(cuda.threadIdx.x)
    a = through_scratch(x[i], i)
    b = through_scratch((y[i], np.int8(1)), i)
    c = through_scratch((x[i], (y[i], True)), i)
    out[i] = a + b[0] + c[0] + c[1][0] + b[1]
    sizes[0] = memory.words_of(x[0])
    sizes[1] = memory.words_of((x[0], y[0], np.int8(1)))
    sizes[2] = memory.scratch(48, (x[0], y[0], np.int8(1))).size


def test_scratch_serves_several_types_in_turn():
    x, y = np.arange(64, dtype=np.float32) / 2, np.arange(64, dtype=np.int32) * 3
    out, sizes = np.zeros(64), np.zeros(3, np.int32)
    scratch_of_several_types[1, 64](x, y, out, sizes)
    assert (out == 2 * x[::-1] + 2 * y[::-1] + 1).all()
    assert sizes.tolist() == [1, 3, 48 * 4]  # three words are given four


@kernel("int32", "int32")
def without_the_last_barrier(x, out):
    """The next user of the scratch overwrites what another thread still reads."""
    i = cuda.threadIdx.x
    words = memory.scratch(64, x[i])
    memory.put(words, i, 64, x[i])
    sync.barrier()
    first = memory.take(words, 63 - i, 64, x[i])
    memory.put(words, i, 64, x[63 - i])
    sync.barrier()
    out[i] = memory.take(words, i, 64, first)


@pytest.mark.simulator
def test_scratch_used_again_without_a_barrier_is_a_race():
    with pytest.raises(errors.RaceFault) as caught:
        without_the_last_barrier[1, 64](np.arange(64, dtype=np.int32), np.zeros(64, np.int32))
    assert "test_memory.py:" in str(caught.value)


# ------------------------------------------------------------------ vector access


@functools.cache
def copying(dtype, nbytes, count):
    """Kernel: from x[start] to out[start], `nbytes` a thread, through a local array filled from its item 1 on."""
    size = count + 1

    @cuda.jit
    def run(x, start, out, aligned):
        i = cuda.grid(1)
        items = memory.local_array(size, dtype)
        at = start[0] + i * count
        aligned[i] = memory.is_aligned(x, at, nbytes)
        memory.load_vector(items, 1, x, at, nbytes)
        memory.store_vector(items, 1, out, at, nbytes)

    return run


VECTORS = [
    (name, nbytes)
    for name in [*SCALARS, "rec4_aligned", "rec16", "rec16_aligned"]
    for nbytes in (2, 4, 8, 16)
    if nbytes % VALUES[name].itemsize == 0
]


@pytest.mark.parametrize(("name", "nbytes"), VECTORS)
def test_vector_access_of_every_item_size(name, nbytes):
    dtype, count = VALUES[name], nbytes // VALUES[name].itemsize
    x = bit_patterns(dtype, 40 * count)
    out, aligned = np.zeros_like(x), np.zeros(32, np.bool_)
    kernel_of = copying(dtype if dtype.names else dtype.type, nbytes, count)
    kernel_of[1, 32](x, np.array([4 * count]), out, aligned)
    assert aligned.all()
    assert_same_bytes(out[4 * count : 36 * count], x[4 * count : 36 * count])
    assert out[: 4 * count].tobytes() == out[36 * count :].tobytes() == bytes(out[: 4 * count].nbytes)


@kernel("int32", "int32")
def through_shared_memory(x, out):
    """Vectors between global, shared and local memory."""
    i = cuda.threadIdx.x
    box = memory.shared_array(128, np.int32)
    items = memory.local_array(4, np.int32)
    memory.load_vector(items, 0, x, 4 * i, 16)
    for k in range(4):
        items[k] = items[k] + k
    memory.store_vector(items, 0, box, 4 * i, 16)
    sync.barrier()
    memory.load_vector(items, 0, box, 2 * (31 - i), 8)
    memory.load_vector(items, 2, box, 2 * (31 - i) + 64, 8)
    memory.store_vector(items, 0, out, 4 * i, 16)


def test_vector_access_to_shared_memory():
    x, out = np.arange(128, dtype=np.int32) * 10, np.zeros(128, np.int32)
    through_shared_memory[1, 32](x, out)
    shared = x + np.arange(128) % 4
    expected = [shared[2 * (31 - i) + k] for i in range(32) for k in (0, 1, 64, 65)]
    assert out.tolist() == expected


@kernel("int32", "boolean")
def alignments(x, out):
    """Ask about every item and size, also of a slice."""
    for k in range(8):
        out[4 * k] = memory.is_aligned(x, k, 4)
        out[4 * k + 1] = memory.is_aligned(x, k, 8)
        out[4 * k + 2] = memory.is_aligned(x, k, 16)
        out[4 * k + 3] = memory.is_aligned(x[1:], k, 8)


def test_is_aligned_knows_the_address():
    out = np.zeros((8, 4), np.bool_)
    alignments[1, 1](np.zeros(16, np.int32), out.reshape(-1))
    k = np.arange(8)
    assert (out == np.stack([k >= 0, k % 2 == 0, k % 4 == 0, k % 2 == 1], axis=1)).all()


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("name", "nbytes"), [("int8", 2), ("float16", 4), ("int32", 8), ("float32", 16), ("int64", 16)]
)
def test_a_misaligned_vector_is_a_fault(name, nbytes):
    dtype, count = VALUES[name], nbytes // VALUES[name].itemsize
    x = np.zeros(64 * count, dtype)
    kernel_of = copying(dtype.type, nbytes, count)
    for start in range(1, count):
        with pytest.raises(errors.BoundsFault) as caught:
            kernel_of[1, 1](x, np.array([start]), np.zeros_like(x), np.zeros(1, np.bool_))
        assert f"{nbytes} bytes" in str(caught.value)
        assert f"index {start}" in str(caught.value)


@pytest.mark.simulator
def test_a_vector_beyond_the_end_is_a_fault():
    x = np.zeros(16, np.int32)
    with pytest.raises(errors.BoundsFault):
        copying(np.int32, 16, 4)[1, 1](x, np.array([16]), x.copy(), np.zeros(1, np.bool_))
