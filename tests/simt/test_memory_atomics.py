"""Atomics: old values, every type, exact counts under contention, in global and shared memory, on both machines."""

import functools

import numpy as np
import pytest
from numba import cuda

from tests.reference import assert_same
from tests.simt.waist import kernel
from tests.warp.matrix import bit_patterns, label
from warpkit.simt import memory, sync

WORDS = (np.int32, np.uint32, np.int64, np.uint64)
FLOATS = (np.float32, np.float64)


def numpy_min(old, value):
    """Return the smaller."""
    return min(old, value)


def numpy_max(old, value):
    """Return the larger."""
    return max(old, value)


MEANING = {
    memory.atomic_add: np.add,
    memory.atomic_min: numpy_min,
    memory.atomic_max: numpy_max,
    memory.atomic_and: np.bitwise_and,
    memory.atomic_or: np.bitwise_or,
    memory.atomic_xor: np.bitwise_xor,
    memory.atomic_exchange: lambda old, value: value,
}
ON_FLOATS = (memory.atomic_add, memory.atomic_min, memory.atomic_max)
PAIRS = [(f, t) for f in MEANING for t in WORDS] + [(f, t) for f in ON_FLOATS for t in FLOATS]


@functools.cache
def updating(atomic):
    """Kernel: old[i] = atomic(x, i, value[i])."""

    @cuda.jit
    def run(x, value, old):
        i = cuda.threadIdx.x
        old[i] = atomic(x, i, value[i])

    return run


@pytest.mark.parametrize(("atomic", "dtype"), PAIRS, ids=label)
def test_an_atomic_updates_and_returns_the_old_value(atomic, dtype):
    if dtype in FLOATS:
        rng = np.random.default_rng(1)
        x, value = (rng.integers(-50, 50, 64).astype(dtype) / 4 for _ in "xv")
    else:
        x, value = bit_patterns(dtype, 64, 1), bit_patterns(dtype, 64, 2)
    got, old = x.copy(), np.zeros_like(x)
    updating(atomic)[1, 64](got, value, old)
    assert_same(old, x)
    with np.errstate(over="ignore"):
        assert_same(got, np.array([MEANING[atomic](a, b) for a, b in zip(x, value)], dtype))


@kernel("uint64", "uint64", "uint64", "uint64")
def swap_if(x, expected, value, old):
    """Compare and exchange."""
    i = cuda.threadIdx.x
    old[i] = memory.atomic_compare_exchange(x, i, expected[i], value[i])


@kernel("int32", "int32", "int32", "int32")
def swap_narrow_if(x, expected, value, old):
    """Compare and exchange."""
    i = cuda.threadIdx.x
    old[i] = memory.atomic_compare_exchange(x, i, expected[i], value[i])


@pytest.mark.parametrize(("run", "dtype"), [(swap_if, np.uint64), (swap_narrow_if, np.int32)])
def test_compare_exchange_stores_only_on_what_it_expects(run, dtype):
    x, value = bit_patterns(dtype, 64, 3), bit_patterns(dtype, 64, 4)
    expected = np.where(np.arange(64) % 3 == 0, x, x ^ np.dtype(dtype).type(1))
    got, old = x.copy(), np.zeros_like(x)
    run[1, 64](got, expected, value, old)
    assert_same(old, x)
    assert_same(got, np.where(np.arange(64) % 3 == 0, value, x))


@functools.cache
def contended(dtype):
    """Kernel: every thread on the same few items, first in shared memory, then in global."""

    @cuda.jit
    def run(totals, tickets):
        i = cuda.threadIdx.x
        box = memory.shared_array(4, dtype)
        if i < 4:
            box[i] = 0
        sync.barrier()
        for k in range(4):
            memory.atomic_add(box, k & 1, dtype(k + 1))
        memory.atomic_max(box, 2, dtype(i))
        sync.barrier()
        if i < 3:
            memory.atomic_add(totals, i, box[i])
        tickets[cuda.grid(1)] = memory.atomic_add(totals, 3, dtype(1))

    return run


@pytest.mark.parametrize("dtype", [*WORDS, *FLOATS], ids=label)
def test_counts_are_exact_under_contention(dtype):
    blocks, threads = 5, 70
    totals, tickets = np.zeros(4, dtype), np.zeros(blocks * threads, dtype)
    contended(dtype)[blocks, threads](totals, tickets)
    assert totals.tolist() == [4 * 350, 6 * 350, 5 * 69, 350]
    assert sorted(tickets.tolist()) == list(range(350))


@kernel("int32", "int32", "int32")
def a_lock(lock, counter, seen):
    """One thread of a block at a time adds to a plain counter."""
    if cuda.threadIdx.x == 0:
        while memory.atomic_compare_exchange(lock, 0, 0, 1) != 0:
            sync.sleep(50)
        sync.fence_device()
        value = memory.load_relaxed(counter, 0)
        memory.store_relaxed(counter, 0, value + 1)
        sync.fence_device()
        memory.atomic_exchange(lock, 0, 0)
        seen[cuda.blockIdx.x] = value


def test_a_lock_of_compare_exchange_keeps_others_out():
    counter, seen = np.zeros(1, np.int32), np.full(20, -1, np.int32)
    a_lock[20, 32](np.zeros(1, np.int32), counter, seen)
    assert counter[0] == 20
    assert sorted(seen.tolist()) == list(range(20))


@kernel("int32")
def from_the_end(x):
    """Atomics wrap a negative index, as plain access does."""
    memory.atomic_add(x, -1, 5)
    memory.atomic_or(x, cuda.threadIdx.x, 8)


def test_a_negative_index_counts_from_the_end():
    x = np.zeros(4, np.int32)
    from_the_end[1, 2](x)
    assert x.tolist() == [8, 8, 0, 10]


@functools.cache
def accumulating(dtype):
    """Kernel: every thread adds to one of five items, whose old values nobody asks for."""

    @cuda.jit
    def run(totals):
        memory.accumulate(totals, cuda.grid(1) % 5, dtype(cuda.threadIdx.x))

    return run


@pytest.mark.parametrize("dtype", [*WORDS, *FLOATS], ids=label)
def test_sums_without_old_values_are_exact_under_contention(dtype):
    totals = np.ones(5, dtype)
    accumulating(dtype)[4, 70](totals)
    assert totals.tolist() == [1 + 4 * sum(range(k, 70, 5)) for k in range(5)]


@kernel("int32")
def first_to_come(winners):
    """A place of shared memory belongs to the thread that claims it first; the others look who that is."""
    box = memory.shared_array(1, np.int32)
    if cuda.threadIdx.x == 0:
        box[0] = -1
    sync.barrier()
    held = memory.load_shared_relaxed(box, 0)
    if held == -1:
        held = memory.atomic_compare_exchange(box, 0, -1, cuda.threadIdx.x)
        held = cuda.threadIdx.x if held == -1 else held
    winners[cuda.threadIdx.x] = held


def test_a_relaxed_look_at_shared_memory_sees_what_others_swap_in():
    winners = np.full(96, -2, np.int32)
    first_to_come[1, 96](winners)
    assert 0 <= winners[0] < 96
    assert set(winners.tolist()) == {winners[0]}
