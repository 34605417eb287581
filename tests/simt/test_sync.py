"""Barriers with and without a predicate on odd block sizes, and sleeping, on both machines."""

import functools

import numpy as np
import pytest
from numba import cuda

from tests.simt.waist import kernel
from tests.warp.matrix import label
from warpkit.simt import lanes, memory, sync

SIZES = [1, 2, 31, 32, 33, 45, 100, (8, 8), (3, 5, 2), (1, 64)]


@kernel("int32", "int32")
def around_the_block(x, out):
    """Pass values on to the next thread, five times through one array."""
    i = lanes.thread_index()
    n = lanes.block_size()
    box = memory.shared_array(128, np.int32)
    value = x[i]
    for _ in range(5):
        box[i] = value
        sync.barrier()
        value = box[i + 1 if i + 1 < n else 0]
        sync.barrier()
    out[i] = value


@pytest.mark.parametrize("block", SIZES, ids=str)
def test_a_barrier_orders_shared_memory(block):
    size = int(np.prod(block))
    x, out = np.arange(size, dtype=np.int32) * 3, np.zeros(size, np.int32)
    around_the_block[1, block](x, out)
    assert (out == np.roll(x, -5)).all()


@functools.cache
def asking():
    """Kernel: the three questions about x."""

    @cuda.jit
    def run(x, counts, flags):
        i = lanes.thread_index()
        counts[i] = sync.barrier_count(x[i])
        flags[2 * i] = sync.barrier_all(x[i])
        flags[2 * i + 1] = sync.barrier_any(x[i])

    return run


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float32], ids=label)
@pytest.mark.parametrize("block", SIZES, ids=str)
def test_a_barrier_answers_every_thread(block, dtype):
    size = int(np.prod(block))
    rng = np.random.default_rng(1)
    big = {"u": 1 << 40, "i": 64, "f": 0.25, "b": True}[np.dtype(dtype).kind]  # true, though its low bits may be 0
    for share in (0.0, 0.5, 1.0, 1 / size):
        true = rng.random(size) < share if share < 1 else np.ones(size, bool)
        x = np.where(true, np.array(big, dtype), np.array(0, dtype))
        counts, flags = np.full(size, -1, np.int32), np.zeros((size, 2), np.bool_)
        asking()[1, block](x, counts, flags.reshape(-1))
        assert (counts == true.sum()).all()
        assert (flags[:, 0] == true.all()).all()
        assert (flags[:, 1] == true.any()).all()


@kernel("int32")
def count_true_twice(out):
    """Barriers in a row keep their answers apart."""
    i = lanes.thread_index()
    first = sync.barrier_count(i < 10)
    second = sync.barrier_count(i >= 10)
    out[i] = first * 1000 + second


def test_barriers_in_a_row_do_not_mix():
    out = np.zeros(45, np.int32)
    count_true_twice[1, 45](out)
    assert (out == 10035).all()


@kernel("int32", "int32")
def wait_for_the_other_block(flag, out):
    """Block 1 waits asleep for block 0, in either order of arrival; fences of every scope compile beside it."""
    if cuda.blockIdx.x == 0:
        sync.sleep(1000)
        sync.fence_block()
        sync.fence_system()
        memory.store_release(flag, 0, 7)
    else:
        while memory.load_acquire(flag, 0) != 7:
            sync.sleep(cuda.blockIdx.x * 100)
        out[0] = 1


def test_a_sleeping_thread_starves_nobody():
    out = np.zeros(1, np.int32)
    wait_for_the_other_block[2, 1](np.zeros(1, np.int32), out)
    assert out[0] == 1
