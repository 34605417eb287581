"""Queues of several items a thread: every flagged item once, slots without gaps, nothing out of bounds, order kept."""

import functools

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.kinds import RECORDS
from tests.warp.matrix import NUMBERS, label

from .kernels import OF_1024_THREADS, place
from .refusing import launch_or_compile
from .test_queue import COUNTERS, GUARD

FORMS = [wk.block_queue_push_items, wk.block_queue_push_items_ordered]


@functools.cache
def pushing(function, size, dtype, own=0):
    """Kernel: stored[i] = function(buffer, counter, items, flags, slots, own scratch) on a blocked tile."""
    if own:

        @cuda.jit
        def run(buffer, counter, x, wanted, places, stored):
            i = place()[2]
            items, flags = wk.local_array(size, dtype), wk.local_array(size, np.bool_)
            slots, scratch = wk.local_array(size, np.int64), wk.shared_array(own, dtype)
            for k in range(size):
                items[k] = x[i * size + k]
                flags[k] = wanted[i * size + k] != 0
            stored[i] = function(buffer, counter, items, flags, slots, scratch)
            for k in range(size):
                places[i * size + k] = slots[k]
    else:

        @cuda.jit
        def run(buffer, counter, x, wanted, places, stored):
            i = place()[2]
            items, flags = wk.local_array(size, dtype), wk.local_array(size, np.int8)
            slots = wk.local_array(size, np.int64)
            for k in range(size):
                items[k] = x[i * size + k]
                flags[k] = wanted[i * size + k]
            stored[i] = function(buffer, counter, items, flags, slots)
            for k in range(size):
                places[i * size + k] = slots[k]

    return run


def push(function, x, flags, block, size, capacity, counter=np.uint32, start=0, own=0):
    """Push the flagged items of `x`; check all that holds for any form; return (buffer, slots)."""
    threads = int(np.prod(block))
    blocks = len(x) // (threads * size)
    memory, count = np.zeros(capacity + GUARD, x.dtype), np.array([start], counter)
    slots, stored = np.full(len(x), -7, np.int64), np.full(len(x) // size, -7, np.int32)
    on_device = cuda.to_device(memory)
    kernel = pushing(function, size, x.dtype if x.dtype.names else x.dtype.type, own)
    kernel[blocks, block](on_device[:capacity], count, x, flags, slots, stored)
    memory = on_device.copy_to_host()
    wanted = flags != 0
    attempts = start + int(wanted.sum())
    inside = slots >= 0
    assert count[0] == attempts
    assert (slots[~wanted] == -1).all()
    assert sorted(slots[inside]) == list(range(start, max(start, min(attempts, capacity))))
    assert (stored == inside.reshape(-1, size).sum(axis=1)).all()
    assert (memory[slots[inside]] == x[inside]).all()
    assert (memory[capacity:] == np.zeros(1, x.dtype)).all()
    assert (memory[:start] == np.zeros(1, x.dtype)).all()
    if function is wk.block_queue_push_items_ordered:
        for mine in np.split(slots, blocks):
            assert (np.diff(mine[mine >= 0]) == 1).all()
    return memory[:capacity], slots


def some(count, share=0.5):
    """Return `count` random flags."""
    return (np.random.default_rng(count).random(count) < share).astype(np.int8)


@pytest.mark.parametrize("function", FORMS, ids=label)
@pytest.mark.parametrize("block", [(1,), (31,), (48,), (8, 5), (96,), (4, 4, 4)], ids=str)
@pytest.mark.parametrize("size", [1, 3, 8])
def test_every_block_shape(function, block, size):
    count = 3 * size * int(np.prod(block))
    push(function, np.arange(1, count + 1, dtype=np.int32), some(count), block, size, capacity=count)


@pytest.mark.parametrize("function", FORMS, ids=label)
@pytest.mark.parametrize("dtype", [np.bool_, *NUMBERS], ids=label)
def test_every_type(function, dtype):
    x = np.arange(1, 161).astype(dtype)
    push(function, x, some(160), 40, 4, capacity=100)


@pytest.mark.parametrize("function", FORMS, ids=label)
@pytest.mark.parametrize("name", RECORDS)
def test_records_move_by_value(function, name):
    dtype = RECORDS[name]
    x = np.zeros(192, dtype)
    for field in dtype.names:  # padding need not move
        shape = x[field].shape
        x[field] = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    push(function, x, some(192), 32, 3, capacity=192)


@pytest.mark.parametrize("function", FORMS, ids=label)
@pytest.mark.parametrize("counter", COUNTERS, ids=label)
def test_every_counter_and_a_queue_that_is_not_empty(function, counter):
    push(function, np.arange(1, 161.0), some(160), 40, 2, capacity=200, counter=counter, start=9)


@pytest.mark.parametrize("function", FORMS, ids=label)
@pytest.mark.parametrize("capacity", [0, 1, 33, 95, 96, 97])
def test_full_gives_minus_one_and_writes_nothing_out_of_bounds(function, capacity):
    x = np.arange(1, 145, dtype=np.int16)
    push(function, x, (x % 3 != 0).astype(np.int8), 24, 3, capacity)


@pytest.mark.parametrize("function", FORMS, ids=label)
def test_a_counter_beyond_the_capacity_is_a_full_queue(function):
    x = np.arange(1, 65, dtype=np.int32)
    push(function, x, np.ones(64, np.int8), 32, 2, capacity=50, counter=np.int32, start=100)


@pytest.mark.parametrize("function", FORMS, ids=label)
@pytest.mark.parametrize("flags", ["none", "all", "one", "one block"])
def test_none_all_and_one(function, flags):
    index = np.arange(256)
    wanted = {"none": index < 0, "all": index >= 0, "one": index == 37, "one block": index >= 128}[flags]
    push(function, index + 1, wanted.astype(np.int8), 64, 2, capacity=256)


@pytest.mark.parametrize("function", FORMS, ids=label)
def test_more_items_than_flags_fit_into_a_word(function):
    count = 2 * 33 * 40
    push(function, np.arange(1, count + 1, dtype=np.uint16), some(count), 33, 40, capacity=count)


@pytest.mark.parametrize("capacity", [1500, 700])
def test_ordered_in_several_rounds_of_the_pool(capacity):
    x = np.arange(1, 1601) * (1 - 1j)  # of 16 bytes the pool holds 512
    push(wk.block_queue_push_items_ordered, x, some(1600, 0.9), 100, 16, capacity)


@pytest.mark.parametrize("own", [1, 60, 500])
def test_ordered_through_an_own_scratch(own):
    x = np.arange(1, 401, dtype=np.float32)
    push(wk.block_queue_push_items_ordered, x, some(400), 50, 4, 400, own=own)


@pytest.mark.parametrize("function", FORMS, ids=label)
def test_a_counter_that_overflowed_writes_nothing_out_of_bounds(function):
    memory, count = np.zeros(100, np.int32), np.array([-1000], np.int32)
    slots, stored = np.zeros(64, np.int64), np.zeros(32, np.int32)
    pushing(function, 2, np.int32)[1, 32](memory, count, np.ones(64, np.int32), np.ones(64, np.int8), slots, stored)
    assert count[0] == -936
    assert (slots == -1).all()
    assert not memory.any()
    assert not stored.any()


@functools.cache
def followed(function):
    """Kernel: out[i] = what thread 5 broadcasts through scratch of the same size, straight after a push."""

    @cuda.jit
    def run(buffer, counter, x, out):
        i = place()[2]
        items, flags = wk.local_array(1, np.int32), wk.local_array(1, np.bool_)
        items[0] = x[i]
        flags[0] = x[i] > 0
        function(buffer, counter, items, flags)
        out[i] = wk.block_broadcast(np.int32(i), 5)

    return run


@pytest.mark.parametrize("function", FORMS, ids=label)
@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_scratch_is_free_again_when_a_push_returns(function, share):
    x, out = some(192, share).astype(np.int32), np.zeros(192, np.int64)
    buffer, counter = np.zeros(192, np.int32), np.zeros(1, np.uint32)
    followed(function)[2, 96](buffer, counter, x, out)
    assert counter[0] == buffer.sum() == x.sum()
    assert (out == np.repeat([5, 101], 96)).all()


@functools.cache
def again(function, size):
    """Kernel: two pushes in every turn of a loop, of which the second follows at once; no slots asked for."""

    @cuda.jit(**OF_1024_THREADS)
    def run(low, low_count, high, high_count, x):
        items, flags = wk.local_array(size, np.int32), wk.local_array(size, np.bool_)
        width = cuda.gridsize(1) * size
        for base in range(cuda.blockIdx.x * cuda.blockDim.x * size, x.size, width):
            wk.block_load_vectorized(items, x, base, min(x.size - base, cuda.blockDim.x * size), 0)
            for k in range(size):
                flags[k] = items[k] < 0
            function(low, low_count, items, flags)
            for k in range(size):
                flags[k] = items[k] > 0
            function(high, high_count, items, flags)

    return run


def splits(function, size, count, grid, block):
    """Split `count` random numbers by their sign and compare with the host."""
    x = np.random.default_rng(6).integers(-1000, 1000, count).astype(np.int32)
    low, high, low_count, high_count = np.zeros_like(x), np.zeros_like(x), np.zeros(1, np.uint32), np.zeros(1, np.int64)
    again(function, size)[grid, block](low, low_count, high, high_count, x)
    assert (np.sort(low[: low_count[0]]) == np.sort(x[x < 0])).all()
    assert (np.sort(high[: high_count[0]]) == np.sort(x[x > 0])).all()
    if grid == 1 and function is wk.block_queue_push_items_ordered:
        assert (low[: low_count[0]] == x[x < 0]).all()
        assert (high[: high_count[0]] == x[x > 0]).all()


@pytest.mark.parametrize("function", FORMS, ids=label)
@pytest.mark.parametrize("grid", [1, 2])
def test_pushes_after_each_other_in_a_loop(function, grid):
    splits(function, 4, 1001, grid, 40)


@pytest.mark.gpu
@pytest.mark.parametrize("function", FORMS, ids=label)
@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize(("grid", "block"), [(1, 1000), (300, 256), (5000, 512)])
def test_pushes_of_many_items(function, size, grid, block):
    splits(function, size, 10_000_001, grid, block)


def bad(sentence, items=np.float32, flags=np.bool_, slots=np.int64, buffer=np.float32, scratch=np.float32):
    """Return one case: the types that a kernel uses, and what the refusal says."""
    return sentence, items, flags, slots, buffer, scratch


BAD = [
    bad("flags must be a local_array of bool or integers", flags=np.float32),
    bad("slots must be a local_array of integers", slots=np.float64),
    bad("an item is float32, which does not go into int32", buffer=np.int32),
    bad("scratch must be a shared_array of float32", scratch=np.int32),
]


@pytest.mark.everywhere
@pytest.mark.parametrize("case", BAD, ids=lambda case: case[0])
def test_refusals(case):
    sentence, item, flag, slot, element, shared = case

    @cuda.jit
    def run(buffer, counter):
        items, flags, slots = wk.local_array(2, item), wk.local_array(2, flag), wk.local_array(2, slot)
        scratch = wk.shared_array(8, shared)
        wk.block_queue_push_items_ordered(buffer, counter, items, flags, slots, scratch)

    with pytest.raises(wk.Refused, match=sentence):
        launch_or_compile(run, np.zeros(4, element), np.zeros(1, np.uint32))


@cuda.jit
def push_a_number(buffer, counter):
    wk.block_queue_push_items(buffer, counter, buffer[0], buffer)


@pytest.mark.everywhere
def test_items_that_are_no_array_are_refused():
    with pytest.raises(wk.Refused, match="items must be the thread's one-dimensional local_array"):
        launch_or_compile(push_a_number, np.zeros(4, np.int32), np.zeros(1, np.uint32))
