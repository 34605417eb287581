"""Ordered loads and stores of 1 to 16 bytes, and messages between blocks, on both machines."""

import functools

import numpy as np
import pytest
from numba import cuda

from tests.simt.waist import SCALARS, VALUES, assert_same_bytes, kernel
from tests.warp.matrix import SIMULATOR, bit_patterns, label
from warpkit import errors
from warpkit.simt import memory, sync

WHOLE = [*SCALARS, "rec4_aligned", "rec16_aligned"]
LOADS, STORES = (memory.load_relaxed, memory.load_acquire), (memory.store_relaxed, memory.store_release)


@functools.cache
def copying(load, store):
    """Kernel: out[31 - i] = x[i], each as one access."""

    @cuda.jit
    def run(x, out):
        i = cuda.threadIdx.x
        store(out, 31 - i, load(x, i))

    return run


@pytest.mark.parametrize("name", WHOLE)
def test_every_size_is_read_and_written_whole(name):
    x = bit_patterns(VALUES[name], 32)
    for load, store in zip(LOADS, STORES):
        out = np.zeros_like(x)
        copying(load, store)[1, 32](x, out)
        assert_same_bytes(out, x[::-1])


@kernel("int64", "int8", "float32", "complex128")
def store_converted(x, narrow, real, pair):
    """A stored value takes the type of the array."""
    i = cuda.threadIdx.x
    memory.store_relaxed(narrow, i, x[i])
    memory.store_release(real, i, x[i])
    memory.store_relaxed(pair, i, x[i])


def test_a_store_wraps_and_rounds_into_the_type_of_the_array():
    x = np.arange(-16, 16) * 1001
    outs = [np.zeros(32, t) for t in ("int8", "float32", "complex128")]
    store_converted[1, 32](x, *outs)
    for out in outs:
        assert (out == x.astype(out.dtype)).all()


@kernel("int32", "int64", "int32")
def by_stride(x, index, out):
    """Every other item, from the end, by an index of any type."""
    i = cuda.threadIdx.x
    memory.store_relaxed(out[::2], index[i], memory.load_acquire(x[::-1], np.uint8(i)))


def test_ordered_access_honours_strides():
    x, out = np.arange(16, dtype=np.int32), np.full(32, -1, np.int32)
    by_stride[1, 16](x, np.arange(16), out)
    assert (out[::2] == x[::-1]).all()
    assert (out[1::2] == -1).all()


# ------------------------------------------------------------------ messages


@functools.cache
def messages(load, store, dtype):
    """Kernel: block b hands a counter and a row of data to block b + 1 through a flag of `dtype`."""

    @cuda.jit
    def run(row, flags, out):
        i = cuda.threadIdx.x
        block = cuda.blockIdx.x
        if block > 0:
            if i == 0:
                while load(flags, block - 1) == dtype(0):
                    sync.sleep(20)
            sync.barrier()
        before = row[(block - 1) * cuda.blockDim.x + i] if block > 0 else np.int32(i)
        row[block * cuda.blockDim.x + i] = before + 1
        sync.barrier()
        if i == 0:
            store(flags, block, dtype(block + 1))
        out[block * cuda.blockDim.x + i] = before

    return run


BLOCKS = 6


def passed_on(load, store, dtype):
    """Return what every block received, and the flags."""
    row, out = np.zeros(BLOCKS * 8, np.int32), np.full(BLOCKS * 8, -1, np.int32)
    flags = np.zeros(BLOCKS, dtype)
    messages(load, store, dtype)[BLOCKS, 8](row, flags, out)
    return out.reshape(BLOCKS, 8).tolist(), flags.tolist()


EXPECTED = [[i + block for i in range(8)] for block in range(BLOCKS)]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.uint64, np.float32, np.float64], ids=label)
def test_what_is_stored_before_a_release_is_seen_after_the_acquire(dtype):
    for _ in range(1 if SIMULATOR else 50):
        received, flags = passed_on(memory.load_acquire, memory.store_release, dtype)
        assert received == EXPECTED
        assert flags == list(range(1, BLOCKS + 1))


@pytest.mark.simulator
def test_messages_arrive_under_every_interleaving():
    from warpkit.simt import simulator

    for received, _ in simulator.explore(
        passed_on, memory.load_acquire, memory.store_release, np.int32, seeds=range(6)
    ):
        assert received == EXPECTED


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("load", "store"),
    [(memory.load_relaxed, memory.store_release), (memory.load_acquire, memory.store_relaxed)],
    ids=label,
)
def test_a_relaxed_half_is_reported_as_a_race(load, store):
    from warpkit.simt import simulator

    with pytest.raises(errors.RaceFault) as caught:
        simulator.explore(passed_on, load, store, np.int32, seeds=range(6))
    assert "test_memory_ordered.py:" in str(caught.value)


@functools.cache
def fenced(fence):
    """Kernel: relaxed accesses with a fence on either side order as much."""

    @cuda.jit
    def run(data, flags, out):
        if cuda.blockIdx.x == 0:
            data[0] = 42
            fence()
            memory.store_relaxed(flags, 0, 1)
        else:
            while memory.load_relaxed(flags, 0) == 0:
                sync.sleep(20)
            fence()
            out[0] = data[0]

    return run


def through_a_fence(fence):
    """Return what the second block saw."""
    out = np.zeros(1, np.int32)
    fenced(fence)[2, 1](np.zeros(1, np.int32), np.zeros(1, np.int32), out)
    return out[0]


@pytest.mark.parametrize("fence", [sync.fence_device, sync.fence_system], ids=label)
def test_fences_order_relaxed_accesses(fence):
    assert through_a_fence(fence) == 42


@pytest.mark.simulator
def test_a_fence_of_the_block_does_not_reach_another_block():
    from warpkit.simt import simulator

    assert set(simulator.explore(through_a_fence, sync.fence_device, seeds=range(6))) == {42}
    with pytest.raises(errors.RaceFault):
        simulator.explore(through_a_fence, sync.fence_block, seeds=range(6))


@kernel("complex128", "complex128", "int32")
def two_words_travel_together(pair, out, torn):
    """A 16-byte store is never seen by half: block 0 counts up both halves, the others read."""
    if cuda.blockIdx.x == 0:
        for k in range(1, 65):
            memory.store_relaxed(pair, 0, complex(k, -k))
    else:
        seen = complex(0, 0)
        while seen.real < 64:
            seen = memory.load_relaxed(pair, 0)
            if seen.real != -seen.imag:
                torn[0] = 1
            sync.sleep(20)
        out[cuda.blockIdx.x] = seen


def test_sixteen_bytes_travel_together():
    out, torn = np.zeros(4, np.complex128), np.zeros(1, np.int32)
    two_words_travel_together[4, 1](np.zeros(1, np.complex128), out, torn)
    assert (out[1:] == 64 - 64j).all()
    assert torn[0] == 0
