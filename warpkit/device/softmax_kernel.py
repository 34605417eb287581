"""Softmax of rows that fit in registers: every item is read once and written once.

A row belongs to a part of a warp, a warp or a block. Each warp takes the exponentials less its own maximum at once, and
what they add up to. A block then joins the pairs (maximum, sum) of its warps: one barrier, and one factor for each warp
that turns its exponentials into results (Milakov & Gimelshein 2018, by warps instead of items).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..block.shape import int32, lane_number, warp_number, warps_of
from ..simt.lanes import block_size, block_x, thread_x
from ..simt.machine import device_function
from ..simt.memory import load_vector, local_array, shared_array, store_vector
from ..simt.ops import add, fmax
from ..simt.sync import barrier
from ..simt.types import as_index, cast_like, hold
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .reduce_reading import PLACES

Function = Callable[..., Any]
NOTHING = -math.inf  # what no maximum prefers


class Access(NamedTuple):
    """How rows are read or written. nbytes: of a vector that is moved at once, in an array of one axis whose rows lie
    `pitch` items apart; 0: item by item, in an array of two axes, or of more (many), whose rows are `pitch` items long.

    item: type of the items in registers.  axes: of the array.
    """

    item: Any
    nbytes: int = 0
    axes: int = 2
    many: bool = False


class Form(NamedTuple):
    """How threads work. length: items of a vector.  loads: vectors of a thread.  threads: of a block.  lanes: of a warp
    that have a row; 0: a block has one.  total: type of sums."""

    length: int
    loads: int
    threads: int
    lanes: int
    total: Any


def moving(access: Access, length: int, fetch: bool) -> Function:
    """Return the function (items, slot, array, row, column, pitch, inverses) that reads or stores a vector."""
    nbytes, place = access.nbytes, PLACES[access.axes]
    if nbytes:

        def load(items, slot, x, row, column, pitch, inverses):
            load_vector(items, slot, x, row * pitch + column, nbytes)

        def store(items, slot, x, row, column, pitch, inverses):
            store_vector(items, slot, x, row * pitch + column, nbytes)

        return load if fetch else store

    def load_each(items, slot, x, row, column, pitch, inverses):
        for j in range(length):
            items[slot + j] = x[as_index(row), as_index(column + j)]

    def store_each(items, slot, x, row, column, pitch, inverses):
        for j in range(length):
            x[as_index(row), as_index(column + j)] = items[slot + j]

    def load_any(items, slot, x, row, column, pitch, inverses):
        for j in range(length):
            items[slot + j] = x[place(x, row * pitch + column + j, inverses)]

    def store_any(items, slot, x, row, column, pitch, inverses):
        for j in range(length):
            x[place(x, row * pitch + column + j, inverses)] = items[slot + j]

    if access.many:
        return load_any if fetch else store_any
    return load_each if fetch else store_each


# ------------------------------------------------------------------ pairs (maximum, sum of exponentials less it)


@device_function()
def power(value, base):
    """Return e to the power of value − base, in the type of both."""
    return cast_like(value, math.exp(value - base))


@device_function()
def base_of(most):
    """Return what exponents are taken less of: the maximum, 0 where there is none but −inf."""
    return most if most > cast_like(most, NOTHING) else cast_like(most, 0)


@device_function()
def join_lanes(most, total, lanes):
    """Join the pairs of `lanes` neighbouring lanes of a full warp: the same in each."""
    whole = reduce_members(most, fmax, FULL_MASK, lanes)
    part = total * power(most, base_of(whole))
    return whole, reduce_members(part, add, FULL_MASK, lanes)


@device_function()
def join_warps(tops, sums, most, total):
    """Join the pairs of the warps of a block, which all lanes of a warp have: the same in every thread.

    tops, sums: 32 elements of shared memory each, which may be used again after a barrier.
    """
    if lane_number() == 0:
        tops[warp_number()] = most
        sums[warp_number()] = total
    barrier()
    lane = lane_number()
    there = lane < warps_of(block_size())
    top = tops[lane] if there else cast_like(most, NOTHING)
    whole = sums[lane] if there else cast_like(total, 0)
    return join_lanes(top, whole, 32)


@device_function()
def factor(most, whole, total):
    """Return what turns exponentials less `most` into results, given the pair of the row."""
    return power(most, base_of(whole)) * (cast_like(total, 1) / total)


# ------------------------------------------------------------------ vectors of a row


@device_function()
def largest_of(values, raw, first, step, limit, length, like):
    """Put the items of a thread's vectors into `values`, −inf where there are none; return the largest."""
    most = cast_like(like, NOTHING)
    for k in range(values.size // length):
        there = first + k * step < limit
        for j in range(length):
            value = cast_like(like, hold(raw[k * length + j])) if there else cast_like(like, NOTHING)
            values[k * length + j] = value
            most = fmax(most, value)
    return most


@device_function()
def exponentials(values, base, like):
    """Replace the values by their exponentials less `base`; return the sum."""
    total = cast_like(like, 0)
    for i in range(values.size):
        value = power(values[i], base)
        values[i] = value
        total = total + value
    return total


@device_function()
def scaled(results, values, scale):
    """Put the values times `scale` into `results`."""
    for i in range(values.size):
        results[i] = cast_like(results[i], values[i] * scale)


def softmax_kernel(source: Access, target: Access, form: Form) -> Function:
    """Return the kernel for rows of at most so many vectors as a row's threads hold.

    Called by: a flat grid of blocks of `form.threads` threads, one for as many rows as they have.
    Args: x, out: see `Access`.  numbers: (rows, vectors of a row, pitch of `x`, of `out`).  inverses: 1 / extents of
    `x`; and of `out`.
    """
    length, loads, threads, lanes, total_type = form
    fetch, store = moving(source, length, True), moving(target, length, False)
    item, result, held = source.item, target.item, loads * length
    like, shift = total_type(0), lanes.bit_length() - 1

    def softmax_parts(x, out, numbers, inverses):
        raw, results, values = local_array(held, item), local_array(held, result), local_array(held, total_type)
        vectors = int32(numbers[1])
        row = block_x() * (threads >> shift) + (thread_x() >> shift)
        first, limit = int32(thread_x() & (lanes - 1)), int32(vectors if row < numbers[0] else 0)
        for k in range(loads):
            if first + k * lanes < limit:
                fetch(raw, k * length, x, row, (first + k * lanes) * length, numbers[2], inverses[0])
        most = largest_of(values, raw, first, lanes, limit, length, like)
        most = reduce_members(most, fmax, FULL_MASK, lanes)
        total = exponentials(values, base_of(most), like)
        total = reduce_members(total, add, FULL_MASK, lanes)
        scaled(results, values, cast_like(like, 1) / total)
        for k in range(loads):
            if first + k * lanes < limit:
                store(results, k * length, out, row, (first + k * lanes) * length, numbers[3], inverses[1])

    def softmax_rows(x, out, numbers, inverses):
        raw, results, values = local_array(held, item), local_array(held, result), local_array(held, total_type)
        tops = shared_array(32, total_type)
        sums = shared_array(32, total_type)
        vectors, row = int32(numbers[1]), block_x()
        first = int32(thread_x())
        for k in range(loads):
            if first + k * threads < vectors:
                fetch(raw, k * length, x, row, (first + k * threads) * length, numbers[2], inverses[0])
        most = largest_of(values, raw, first, threads, vectors, length, like)
        most = reduce_members(most, fmax, FULL_MASK, 32)
        total = exponentials(values, base_of(most), like)
        total = reduce_members(total, add, FULL_MASK, 32)
        whole, total = join_warps(tops, sums, most, total)
        scaled(results, values, factor(most, whole, total))
        for k in range(loads):
            if first + k * threads < vectors:
                store(results, k * length, out, row, (first + k * threads) * length, numbers[3], inverses[1])

    return softmax_parts if lanes else softmax_rows
