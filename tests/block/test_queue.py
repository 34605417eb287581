"""Queues: every item once, slots without gaps, nothing out of bounds, the counter keeps the attempts."""

import functools

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.kinds import RECORDS
from tests.warp.matrix import label

from .kernels import place
from .refusing import check_refusal, launch_or_compile

GUARD = 8  # items behind the buffer that nobody may touch
COUNTERS = (np.int32, np.uint32, np.int64, np.uint64)


@functools.cache
def pushing(function):
    """Kernel: slots[i] = function(buffer, counter, x[i])."""

    @cuda.jit
    def run(buffer, counter, x, slots):
        i = place()[2]
        slots[i] = function(buffer, counter, x[i])

    return run


@functools.cache
def pushing_if(function):
    """Kernel: slots[i] = function(buffer, counter, x[i], flags[i])."""

    @cuda.jit
    def run(buffer, counter, x, flags, slots):
        i = place()[2]
        slots[i] = function(buffer, counter, x[i], flags[i])

    return run


FORMS = [wk.block_queue_push_if, wk.block_queue_push_if_ordered]


def push(function, x, flags, block, capacity, counter=np.uint32, start=0):
    """Push the flagged items of `x`; check all that holds for any form; return (buffer, slots)."""
    threads = int(np.prod(block))
    memory, count = np.zeros(capacity + GUARD, x.dtype), np.array([start], counter)
    slots = np.full(len(x), -7, np.int64)
    on_device = cuda.to_device(memory)
    pushing_if(function)[len(x) // threads, block](on_device[:capacity], count, x, flags, slots)
    memory = on_device.copy_to_host()
    wanted = flags != 0
    attempts = start + int(wanted.sum())
    stored = slots >= 0
    assert count[0] == attempts
    assert (slots[~wanted] == -1).all()
    assert sorted(slots[stored]) == list(range(start, max(start, min(attempts, capacity))))
    assert (memory[:capacity][slots[stored]] == x[stored]).all()
    assert not memory[capacity:].any()
    assert not memory[:start].any()
    return memory[:capacity], slots


@pytest.mark.parametrize("function", FORMS, ids=label)
@pytest.mark.parametrize("block", [(1,), (31,), (48,), (8, 5), (96,)], ids=str)
def test_every_block_shape(function, block):
    count = 3 * int(np.prod(block))
    rng = np.random.default_rng(count)
    x, flags = rng.integers(1, 1000, count).astype(np.int32), rng.integers(0, 3, count).astype(np.int32)
    push(function, x, flags, block, capacity=count)


@pytest.mark.parametrize("function", FORMS, ids=label)
@pytest.mark.parametrize("counter", COUNTERS, ids=label)
def test_every_counter_and_a_queue_that_is_not_empty(function, counter):
    x = np.arange(1, 81, dtype=np.float64)
    push(function, x, np.ones(80, bool), 40, capacity=100, counter=counter, start=9)


@pytest.mark.parametrize("function", FORMS, ids=label)
@pytest.mark.parametrize("capacity", [0, 1, 33, 63, 64])
def test_full_gives_minus_one_and_writes_nothing_out_of_bounds(function, capacity):
    x = np.arange(1, 97, dtype=np.int16)
    push(function, x, (x % 3 != 0).astype(np.uint8), 48, capacity)


@pytest.mark.parametrize("function", FORMS, ids=label)
@pytest.mark.parametrize("flags", ["none", "all", "one"])
def test_none_all_and_one(function, flags):
    wanted = {"none": np.zeros(64, bool), "all": np.ones(64, bool), "one": np.arange(64) == 37}[flags]
    push(function, np.arange(1, 65, dtype=np.uint64), wanted, 64, capacity=64)


def test_a_counter_beyond_the_capacity_is_a_full_queue():
    x, slots, count = np.ones(32, np.int32), np.zeros(32, np.int64), np.array([100], np.int32)
    buffer = np.zeros(50, np.int32)
    pushing(wk.block_queue_push)[1, 32](buffer, count, x, slots)
    assert count[0] == 132
    assert (slots == -1).all()
    assert not buffer.any()


@pytest.mark.parametrize("block", [(48,), (100,)], ids=str)
def test_ordered_keeps_the_order_of_the_threads_in_each_block(block):
    threads = block[0]
    x = np.arange(1, 3 * threads + 1, dtype=np.int32)
    flags = (np.random.default_rng(2).random(len(x)) < 0.4).astype(np.int8)
    _, slots = push(wk.block_queue_push_if_ordered, x, flags, block, capacity=len(x))
    for b in range(3):
        mine = slots[b * threads : (b + 1) * threads]
        mine = mine[mine >= 0]
        assert (np.diff(mine) == 1).all()


@pytest.mark.parametrize("function", [wk.block_queue_push, wk.block_queue_push_ordered], ids=label)
def test_push_of_all(function):
    x, slots, count, buffer = np.arange(96), np.zeros(96, np.int64), np.zeros(1, np.uint32), np.zeros(96, np.int64)
    pushing(function)[2, 48](buffer, count, x, slots)
    assert count[0] == 96
    assert (buffer[slots] == x).all()


@pytest.mark.parametrize("name", RECORDS)
def test_records_move_by_value(name):
    dtype = RECORDS[name]
    x = np.frombuffer(np.random.default_rng(1).bytes(64 * dtype.itemsize), np.uint8).copy().view(dtype)
    buffer, count, slots = np.zeros(64, dtype), np.zeros(1, np.uint32), np.zeros(64, np.int64)
    pushing_if(wk.block_queue_push_if)[2, 32](buffer, count, x, np.arange(64) % 2, slots)
    for i in range(1, 64, 2):
        assert buffer[slots[i]].tobytes() == x[i].tobytes() or _equal_fields(buffer[slots[i]], x[i])


def _equal_fields(a, b):
    """Compare what the fields hold: padding need not move."""
    return all(np.asarray(a[name]).tobytes() == np.asarray(b[name]).tobytes() for name in a.dtype.names)


@cuda.jit
def lcg(buffer, counter):
    """One step of a linear congruential generator per thread, pushed."""
    i = cuda.grid(1)
    seed = np.uint32(0x31415926 + i * 0x9E3779B9)
    wk.block_queue_push(buffer, counter, np.uint32(np.uint64(seed) * np.uint64(1664525) + np.uint64(1013904223)))


def test_acceptance_10_all_pushed():
    seeds = (0x31415926 + np.arange(4096, dtype=np.uint64) * 0x9E3779B9) % 2**32
    wanted = (seeds * 1664525 + 1013904223) % 2**32
    buffer, count = np.zeros(4096, np.uint32), np.zeros(1, np.uint32)
    lcg[16, 256](buffer, count)
    assert count[0] == 4096
    assert (np.sort(buffer) == np.sort(wanted)).all()


@cuda.jit
def split(low, low_count, high, high_count, x, limit):
    """Two pushes in one kernel, over several rounds: all threads of the block take part in each."""
    width = cuda.gridsize(1)
    i = cuda.grid(1)
    for first in range(0, limit, width):
        inside = first + i < limit
        value = x[first + i] if inside else np.float32(0.0)
        wk.block_queue_push_if(low, low_count, value, inside and value < 0.5)
        wk.block_queue_push_if(high, high_count, value, inside and value >= 0.5)


def splits(count, grid, block):
    """Split `count` random numbers and compare with the host."""
    x = np.random.default_rng(4).random(count, np.float32)
    low, high = np.zeros(count, np.float32), np.zeros(count, np.float32)
    counts = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    split[grid, block](low, counts[0], high, counts[1], x, count)
    assert counts[0][0] + counts[1][0] == count
    assert (np.sort(low[: counts[0][0]]) == np.sort(x[x < 0.5])).all()
    assert (np.sort(high[: counts[1][0]]) == np.sort(x[x >= 0.5])).all()


def test_acceptance_10_split_in_two():
    splits(1000, 4, 64)


@pytest.mark.gpu
def test_acceptance_10_split_in_two_large():
    splits(16_776_960, 1024, 256)


BAD = {
    "a buffer that is no array": (
        lambda b, c, v: wk.block_queue_push(v, c, v),
        "buffer must be a one-dimensional array",
    ),
    "a counter that is no integer": (lambda b, c, v: wk.block_queue_push(b, b, v), "counter must be an array with one"),
    "a predicate that is no bool": (lambda b, c, v: wk.block_queue_push_if(b, c, v, v), "pred must be bool"),
}


@cuda.jit
def push_a_fraction(buffer, counter):
    wk.block_queue_push_ordered(buffer, counter, np.float32(0.5))


@pytest.mark.everywhere
def test_a_value_that_the_buffer_cannot_hold_is_refused():
    with pytest.raises(wk.Refused, match="an item is float32, which does not go into int32"):
        launch_or_compile(push_a_fraction, np.zeros(4, np.int32), np.zeros(1, np.uint32))


@pytest.mark.everywhere
@pytest.mark.parametrize("what", BAD)
def test_refusals(what):
    check_refusal(BAD[what], np.zeros(4, np.float32), np.zeros(1, np.uint32), np.zeros(1, np.float32))


@cuda.jit
def push_into_a_square(buffer, counter):
    wk.block_queue_push(buffer, counter, buffer[0, 0])


@pytest.mark.everywhere
def test_a_buffer_of_two_dimensions_is_refused():
    with pytest.raises(wk.Refused, match="buffer must be a one-dimensional array"):
        launch_or_compile(push_into_a_square, np.zeros((4, 4), np.float32), np.zeros(1, np.uint32))
