"""Softmax of rows that no block holds: parts of rows, twice, one launch.

Work is drawn by number. In the first half of its work a part gives its pair (maximum, sum of exponentials) to the row;
in the second half it is read again and written, when the row has the pairs of all its parts. The second half follows
the first one so closely that the row is still in the L2 cache: memory is read once, as far as that goes.

A block waits only for work of smaller numbers, which is with blocks that run: whichever has the smallest number of all
waits for nobody. So nothing waits in vain, however few blocks run at once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..block.shape import int32
from ..simt.lanes import block_size, grid_x, thread_x
from ..simt.machine import device_function
from ..simt.memory import atomic_add, load_acquire, load_relaxed, local_array, shared_array, store_relaxed
from ..simt.ops import add, fmax
from ..simt.states import viewed
from ..simt.sync import barrier, fence_device, sleep
from ..simt.types import as_int64, cast_like
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .clearing import NAP
from .reduce_reading import divide
from .softmax_kernel import (
    NOTHING,
    Access,
    Form,
    base_of,
    exponentials,
    factor,
    join_lanes,
    join_warps,
    largest_of,
    moving,
    power,
    scaled,
)

LONG, DOUBLE = np.int64(0), np.float64(0)
DRAWN, DONE, COUNTERS = 0, 1, 2  # of the scratch, float64: two int64, one for each row, then two for each part
DRAW, LAST = 0, 1  # of a block's notes


def slots_of(rows: int, parts: int) -> int:
    """Return how much scratch a launch takes."""
    return COUNTERS + rows + 2 * rows * parts


@device_function()
def work_of(number, units, lag):
    """Return (whether it is the second half of its work, which part of all) for a number that was drawn.

    `lag` first halves come first, then second and first halves take turns.
    """
    later = number - lag
    rest = units - lag
    second = later >= 0 and (later >= 2 * rest or (later & 1) == 0)
    part = number
    if later >= 0:
        part = (later >> 1) + (0 * lag if second else lag)
        if later >= 2 * rest:
            part = later - rest
    return second, part


@device_function()
def give_pair(store, row, unit, rows, most, total):
    """Give the pair of a part to its row; called by one thread."""
    store_relaxed(store, COUNTERS + rows + 2 * unit, cast_like(DOUBLE, most))
    store_relaxed(store, COUNTERS + rows + 2 * unit + 1, cast_like(DOUBLE, total))
    fence_device()
    atomic_add(viewed(store, LONG), COUNTERS + row, 1)


@device_function()
def await_pairs(store, row, parts):
    """Wait until a row has the pairs of all its parts; the whole block calls."""
    if thread_x() == 0:
        longs = viewed(store, LONG)
        while load_acquire(longs, COUNTERS + row) < parts:
            sleep(NAP)
    barrier()


@device_function()
def pair_of_row(store, row, rows, parts, tops, sums, like):
    """Join the pairs of a row's parts: the same in every thread."""
    most, total = cast_like(like, NOTHING), cast_like(like, 0)
    part = as_int64(thread_x())
    while part < parts:
        at = COUNTERS + rows + 2 * (row * parts + part)
        top, share = cast_like(like, load_relaxed(store, at)), cast_like(like, load_relaxed(store, at + 1))
        whole = fmax(most, top)
        base = base_of(whole)
        total = total * power(most, base) + share * power(top, base)
        most = whole
        part += block_size()
    whole, share = join_lanes(most, total, 32)
    return join_warps(tops, sums, whole, share)


@device_function()
def leave_row(store, row, rows, parts, notes):
    """Count a part as written; the last one leaves the row's scratch as it was. The whole block calls."""
    longs = viewed(store, LONG)
    if thread_x() == 0:
        fence_device()
        notes[LAST] = atomic_add(longs, COUNTERS + row, 1) - (2 * parts - 1)
    barrier()
    if notes[LAST] == 0:
        at = as_int64(thread_x())
        while at < 2 * parts:
            store_relaxed(store, COUNTERS + rows + 2 * row * parts + at, 0.0)
            at += block_size()
        if thread_x() == 0:
            store_relaxed(longs, COUNTERS + row, 0)


def long_kernel(source: Access, target: Access, form: Form) -> Callable[..., Any]:
    """Return the kernel for rows of any length.

    Called by: any flat grid of blocks of `form.threads` threads.
    Args: x, out, inverses: as of `softmax_kernel`.  numbers: (rows, vectors of a row, pitch of `x`, of `out`, parts of
    a row, first halves ahead: at least as many as a row has, at most as many as there are; 1 / parts).
    store: scratch of `slots_of`.
    """
    length, loads, threads, _, total_type = form
    fetch, store_vector = moving(source, length, True), moving(target, length, False)
    item, result, held, share = source.item, target.item, loads * length, loads * threads
    like = total_type(0)

    def softmax_of_long_rows(x, out, numbers, inverses, store):
        raw, results, values = local_array(held, item), local_array(held, result), local_array(held, total_type)
        tops = shared_array(32, total_type)
        sums = shared_array(32, total_type)
        notes = shared_array(2, np.int64)
        rows, vectors, parts, lag = numbers[0], numbers[1], numbers[4], numbers[5]
        units, longs = rows * parts, viewed(store, LONG)
        if thread_x() == 0:
            notes[DRAW] = atomic_add(longs, DRAWN, 1)
        barrier()
        number = notes[DRAW]
        while number < 2 * units:
            ahead = 0 * number
            if thread_x() == 0:  # its answer is needed when this is done
                ahead = atomic_add(longs, DRAWN, 1)
            second, unit = work_of(number, units, lag)
            row = divide(unit, parts, numbers[6])
            begin = (unit - row * parts) * share
            first, limit = int32(thread_x()), int32(min(vectors - begin, share))
            for k in range(loads):
                if first + k * threads < limit:
                    at = (begin + first + k * threads) * length
                    fetch(raw, k * length, x, row, at, numbers[2], inverses[0])
            most = largest_of(values, raw, first, threads, limit, length, like)
            if second:
                await_pairs(store, row, parts)
                whole, total = pair_of_row(store, row, rows, parts, tops, sums, like)
                exponentials(values, base_of(whole), like)
                scaled(results, values, factor(whole, whole, total))
                for k in range(loads):
                    if first + k * threads < limit:
                        at = (begin + first + k * threads) * length
                        store_vector(results, k * length, out, row, at, numbers[3], inverses[1])
                leave_row(store, row, rows, parts, notes)
            else:
                most = reduce_members(most, fmax, FULL_MASK, 32)
                total = exponentials(values, base_of(most), like)
                total = reduce_members(total, add, FULL_MASK, 32)
                whole, total = join_warps(tops, sums, most, total)
                if thread_x() == 0:
                    give_pair(store, row, unit, rows, whole, total)
            if thread_x() == 0:
                notes[DRAW] = ahead
            barrier()
            number = notes[DRAW]
        if thread_x() == 0 and atomic_add(longs, DONE, 1) == grid_x() - 1:
            store_relaxed(longs, DRAWN, 0)
            store_relaxed(longs, DONE, 0)

    return softmax_of_long_rows
