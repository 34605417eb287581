"""The kernels of `parallel_reduce`: every block combines a run of items, the last one done combines the blocks.

Built-in operators may change places: neighbouring threads take neighbouring items, and every thread keeps several
totals, so that no load waits for another. For any other operator each warp keeps the order of a run of its own: a lane
takes neighbouring items, the lanes are combined in lane order, then come the warps, then the blocks (block/grid.py).
"""

from collections.abc import Callable
from typing import Any

from ..block.grid import COUNTER, LONG, combine_blocks, leave_total, take_total
from ..block.reduce import block_reduce
from ..block.shape import int32, lane_number, warp_number
from ..block.totals import SLOTS, fold_totals, put_total, scan_lanes
from ..simt.lanes import block_x, grid_x, shuffle, thread_x
from ..simt.machine import device_function
from ..simt.memory import local_array, scratch, store_relaxed
from ..simt.states import viewed
from ..simt.sync import barrier
from ..simt.types import cast_like, combine, hold, identity_like
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .ranges_walk import PLACES, after, times

THREADS = 256
WARPS = THREADS // 32
ITEMS = 8  # of a thread, in flight
TILE = THREADS * ITEMS
RUN = 4  # neighbouring items of a lane, where order counts: more would spread the lanes over more lines than L1 serves
ROW = 32 * RUN  # of a warp


@device_function()
def write_result(total, op, init, out):
    """Write `total`, which `init` comes before; one thread does."""
    if thread_x() == 0:
        out[0] = cast_like(hold(out[0]), combine(op, init, total))


@device_function()
def gather_totals(like, op, store):
    """Combine the totals of all blocks, neighbouring threads taking neighbouring blocks; the last block calls."""
    total = identity_like(op, like)
    block = thread_x()
    while block < grid_x():
        total = combine(op, total, take_total(store, block, like))
        block = int32(block + THREADS)
    if thread_x() == 0:
        store_relaxed(viewed(store, LONG), COUNTER, 0)  # as the next launch expects it
    return block_reduce(total, op)


def first_value(body: Callable[..., Any], ndim: int, stepped: bool) -> Callable[..., Any]:
    """Return the function that gives the body's value for the first item: what a reduction combines."""
    place = PLACES[ndim, stepped]

    def the_body(num_items, numbers, steps, args):
        return body(*(place(times(num_items, 0), numbers, steps) + args))

    return the_body


def write_kernel() -> Callable[..., None]:
    """Return the kernel that writes the result of no items."""

    def write(init, args, out):
        if thread_x() == 0:
            out[0] = cast_like(hold(out[0]), init)

    return write


def free_kernel(
    body: Callable[..., Any], op: Callable[..., Any], ndim: int, stepped: bool, accumulator: Any
) -> Callable[..., None]:
    """Return the kernel for a built-in operator.

    Called by: a flat grid of which each block has an item; run_items is a multiple of THREADS.
    """
    place = PLACES[ndim, stepped]

    def parallel_reduce(num_items, run_items, numbers, steps, init, args, store, out):
        totals = local_array(ITEMS, accumulator)
        for k in range(ITEMS):
            totals[k] = identity_like(op, init)
        first = times(run_items, block_x())
        end = min(after(first, run_items), num_items)
        number = after(first, thread_x())
        while after(first, TILE) <= end:
            for k in range(ITEMS):
                value = body(*(place(after(number, k * THREADS), numbers, steps) + args))
                totals[k] = combine(op, totals[k], cast_like(init, value))
            first = after(first, TILE)
            number = after(number, TILE)
        for k in range(ITEMS):  # less than a tile
            at = after(number, k * THREADS)
            if at < end:
                totals[k] = combine(op, totals[k], cast_like(init, body(*(place(at, numbers, steps) + args))))
        total = totals[0]
        for k in range(1, ITEMS):
            total = combine(op, total, totals[k])
        total = block_reduce(total, op)
        if grid_x() == 1:
            write_result(total, op, init, out)
        elif leave_total(total, store):
            write_result(gather_totals(init, op, store), op, init, out)

    return parallel_reduce


@device_function()
def fold_row(value, op, count):
    """Combine `value` of the first `count` lanes of a warp, at least one, in lane order: the same in each lane."""
    return shuffle(FULL_MASK, scan_lanes(value, op, FULL_MASK, count), int32(count - 1))


@device_function()
def busy_warps(first, run_items, num_items):
    """Return how many warps of the block have items, if the runs of the block begin at item `first`."""
    warps = int32(0)
    for warp in range(WARPS):
        warps = int32(warps + (after(first, times(run_items, warp)) < num_items))
    return warps


@device_function()
def fold_warps(words, total, op, busy):
    """Combine `total` of the first `busy` warps of the block in order: the same in every thread."""
    if warp_number() < busy and lane_number() == 0:
        put_total(words, warp_number(), total)
    barrier()
    both = fold_totals(words, total, op, busy, busy, None)
    return both[0]


def ordered_kernel(body: Callable[..., Any], op: Callable[..., Any], ndim: int, stepped: bool) -> Callable[..., None]:
    """Return the kernel for any associative operator.

    Called by: a flat grid of which each block has an item; run_items, of a warp, is a multiple of ROW.
    """
    place = PLACES[ndim, stepped]

    def parallel_reduce(num_items, run_items, numbers, steps, init, args, store, out):
        words = scratch(SLOTS, init)
        of_block = times(times(run_items, WARPS), block_x())
        begin = min(after(of_block, times(run_items, warp_number())), num_items)
        end = min(after(begin, run_items), num_items)
        first = begin
        total = init
        while after(first, ROW) <= end:
            number = after(first, RUN * lane_number())
            value = cast_like(init, body(*(place(number, numbers, steps) + args)))
            for k in range(1, RUN):
                later = body(*(place(after(number, k), numbers, steps) + args))
                value = combine(op, value, cast_like(init, later))
            row = reduce_members(value, op, FULL_MASK, 32)
            total = combine(op, total, row) if first > begin else row
            first = after(first, ROW)
        if first < end:  # less than a row
            number = after(first, RUN * lane_number())
            value = init
            if number < end:
                value = cast_like(init, body(*(place(number, numbers, steps) + args)))
            for k in range(1, RUN):
                if after(number, k) < end:
                    later = body(*(place(after(number, k), numbers, steps) + args))
                    value = combine(op, value, cast_like(init, later))
            lanes = int32((int32(end - first) + RUN - 1) >> 2)
            row = fold_row(value, op, lanes)
            total = combine(op, total, row) if first > begin else row
        total = fold_warps(words, total, op, busy_warps(of_block, run_items, num_items))
        if grid_x() == 1:
            write_result(total, op, init, out)
        elif leave_total(total, store):
            write_result(combine_blocks(total, op, store), op, init, out)

    return parallel_reduce
