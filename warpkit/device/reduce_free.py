"""The kernel for operators whose operands may change places: neighbouring threads read neighbouring vectors.

Every thread keeps several totals, one for each read that it has in flight, so that none waits for another. The block
that is done last combines what the others left behind (threadfence reduction, see block/grid.py): one launch.
"""

from collections.abc import Callable
from typing import Any

from ..block.grid import COUNTER, LONG, leave_total, take_total
from ..block.shape import int32, lane_number, warp_number, warps_of
from ..block.totals import SLOTS, fold_lanes, lane_part, put_total, take_four
from ..simt.lanes import block_size, block_x, grid_x, thread_x
from ..simt.machine import device_function
from ..simt.memory import local_array, scratch, store_relaxed
from ..simt.states import state_value, viewed
from ..simt.sync import barrier
from ..simt.types import combine
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .reduce_meaning import Meaning
from .reduce_reading import Reading, first_of, fold_vector


@device_function()
def gather(totals, items, x, begin, end, head, length, fetch, lift, op, narrow, like, inverses):
    """Combine the vectors from `begin` to `end` into `totals`, one for each read in flight."""
    threads = block_size()
    at = begin + thread_x()
    while begin < end:
        for k in range(totals.size):  # where nothing is left, the last vector again: no read waits for a condition
            fetch(items, k * length, x, head + min(at + k * threads, end - 1) * length, inverses)
        for k in range(totals.size):
            place = at + k * threads
            latest = fold_vector(items, k * length, length, head + place * length, lift, op, narrow, like)
            both = combine(op, totals[k], latest)
            totals[k] = both if place < end else totals[k]
        begin += totals.size * threads
        at += totals.size * threads


@device_function()
def gather_blocks(totals, store, like, op, empty):
    """Combine what the blocks left behind into `totals`; the threads of the last block call."""
    threads, blocks = block_size(), grid_x()
    begin = thread_x()
    for k in range(totals.size):
        totals[k] = empty(op, like)
    while begin < blocks:
        for k in range(totals.size):
            if begin + k * threads < blocks:
                totals[k] = combine(op, totals[k], take_total(store, begin + k * threads, like))
        begin += totals.size * threads


@device_function()
def fold(totals, op):
    """Combine a thread's totals."""
    total = totals[0]
    for k in range(1, totals.size):
        total = combine(op, total, totals[k])
    return total


@device_function()
def fold_block(words, value, op):
    """Combine `value` of all threads of a block of whole warps: the same in each. `words` are free after a barrier."""
    total = reduce_members(value, op, FULL_MASK, 32)
    warps = warps_of(block_size())
    if warps > 1:
        if lane_number() == 0:
            put_total(words, warp_number(), total)
        barrier()
        part = lane_part(warps)
        total = fold_lanes(take_four(words, int32(4 * part), total), part, total, op, warps, warps)
    return total


def free_kernel(meaning: Meaning, reading: Reading) -> Callable[..., Any]:
    """Return the kernel that reduces as `meaning` says what it reads as `reading` says.

    Called by: a grid of blocks of whole warps.
    Args: x: the array.  count: see `reading.number`.  inverses: 1 / blocks, then 1 / extents of `x`.  init: what to
    start with, of any type where there is none.  store: scratch for as many blocks as the grid has.  out: the result.
    """
    lift, op, empty = meaning.lift, meaning.op, meaning.empty
    settle, finish, put = meaning.settle, meaning.finish, meaning.put
    number, before, fetch, fetch_item = reading.number, reading.before, reading.fetch, reading.fetch_item
    length, length_shift, item_shift = reading.length, reading.length_shift, reading.item_shift
    loads, held = reading.loads, reading.loads * reading.length
    item, total_type, small = reading.item, meaning.total, meaning.narrow

    def reduce_in_any_order(x, count, inverses, init, store, out):
        items, totals = local_array(held, item), local_array(loads, total_type)
        like = state_value(store)
        words = scratch(SLOTS, like)
        narrow = small(like)
        n = number(count, x)
        # the vectors, and the items before and behind them
        head = before(x, n, item_shift)
        vectors = (n - head) >> length_shift
        tail = n - head - (vectors << length_shift)
        for k in range(loads):
            totals[k] = empty(op, like)
        if block_x() == 0 and thread_x() < head + tail:
            edge = thread_x() + 0 * n
            place = edge if edge < head else n - tail + (edge - head)
            fetch_item(items, 0, x, place, inverses)
            totals[0] = fold_vector(items, 0, 1, place, lift, op, narrow, like)
        # this block's share of them
        begin, end = 0 * n, vectors
        if grid_x() > 1:
            rows = (vectors + 31) >> 5
            begin = first_of(rows, grid_x(), inverses[0], block_x()) << 5
            end = min(first_of(rows, grid_x(), inverses[0], block_x() + 1) << 5, vectors)
        gather(totals, items, x, begin, end, head, length, fetch, lift, op, narrow, like, inverses)
        total = fold_block(words, fold(totals, op), op)
        # the last block combines the shares
        is_last = True
        if grid_x() > 1:
            is_last = leave_total(total, store)
            if is_last:
                gather_blocks(totals, store, like, op, empty)
                total = fold_block(words, fold(totals, op), op)
                if thread_x() == 0:
                    store_relaxed(viewed(store, LONG), COUNTER, 0)
        if is_last and thread_x() == 0:
            put(out, settle(finish, op, init, total, n))

    return reduce_in_any_order
