"""The kernel for operators whose operands may change places: neighbouring threads read neighbouring vectors.

Every thread keeps several totals, one for each read that it has in flight, so that none waits for another. The block
that is done last combines what the others left behind (see reduce_blocks.py): one launch.

Few items are reduced in a microsecond, most of which is the launch itself; what a thread does before its first read
counts. So where every thread reads at most once, which the grid says, it takes a shorter way: no loop, no division.
"""

from collections.abc import Callable
from typing import Any

from ..block.shape import int32, log2_up, warps_of
from ..block.totals import SLOTS, fold_lanes, part_of, put_total, take_four
from ..simt.lanes import block_size, block_x, grid_x, thread_x
from ..simt.machine import device_function
from ..simt.memory import local_array, scratch
from ..simt.states import state_value
from ..simt.sync import barrier
from ..simt.types import cast_like, combine
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .reduce_blocks import begin_share, forget_blocks, leave_share, with_share
from .reduce_meaning import Meaning
from .reduce_reading import Reading, first_of, fold_vector


@device_function()
def gather_edges(totals, items, x, n, head, tail, fetch_item, lift, op, narrow, inverses):
    """Put an item before or behind the vectors in the place of the first of `totals`, still empty; in the first block.

    Nobody waits for it here, unless it has to be converted.
    """
    edge = thread_x()
    if edge < head + tail and block_x() == 0:
        place = cast_like(n, edge if edge < head else n - tail + (edge - head))
        fetch_item(items, 0, x, place, inverses)
        totals[0] = fold_vector(items, 0, 1, place, lift, op, narrow, totals[0])


@device_function()
def gather(totals, items, x, begin, end, head, length, fetch, lift, op, narrow, inverses):
    """Combine the vectors from `begin` to `end` into `totals`, one for each read in flight."""
    threads = block_size()
    at = begin + thread_x()
    while begin < end:
        for k in range(totals.size):  # where nothing is left, the last vector again: no read waits for a condition
            fetch(items, k * length, x, head + min(at + k * threads, end - 1) * length, inverses)
        for k in range(totals.size):
            place = at + k * threads
            latest = fold_vector(items, k * length, length, head + place * length, lift, op, narrow, totals[k])
            both = combine(op, totals[k], latest)
            totals[k] = both if place < end else totals[k]
        begin += totals.size * threads
        at += totals.size * threads


@device_function()
def gather_once(totals, items, x, n, before, length, shifts, fetch, fetch_item, lift, op, narrow, inverses):
    """Combine this block's share of all items where a thread reads no more often than it has reads in flight.

    All in 32 bits. The first block begins with what lies before and behind the vectors.
    """
    threads, at = block_size(), thread_x()
    head = int32(before(x, n, shifts[0]))
    vectors = int32(int32(n - head) >> shifts[1])
    tail = int32(n - head - (vectors << shifts[1]))
    share = share_of(vectors, totals.size)
    begin = int32(block_x() * share)
    end = min(int32(begin + share), vectors)
    at = int32(begin + at)
    gather_edges(totals, items, x, n, head, tail, fetch_item, lift, op, narrow, inverses)
    if begin < end:
        for k in range(totals.size):
            vector = min(int32(at + k * threads), int32(end - 1))
            fetch(items, k * length, x, int32(head + vector * length), inverses)
        for k in range(totals.size):
            vector = int32(at + k * threads)
            latest = fold_vector(items, k * length, length, int32(head + vector * length), lift, op, narrow, totals[k])
            both = combine(op, totals[k], latest)
            totals[k] = both if vector < end else totals[k]


@device_function()
def share_of(vectors, loads):
    """Return how many vectors a block takes where every thread of the grid reads at most `loads`: as few as suffice."""
    share, most = block_size(), int32(block_size() * loads)
    for _ in range(log2_up(loads)):
        if vectors > int32(grid_x() * share):
            share = min(int32(share + share), most)
    return share


@device_function()
def gather_blocks(store, like, op, empty):
    """Combine what the blocks left behind, three at a time; the threads of the last block call."""
    threads, blocks = block_size(), grid_x()
    total = empty(op, like)
    first = thread_x()
    while first < blocks:
        second = int32(first + threads)
        third = int32(second + threads)
        a = begin_share(store, first, blocks)
        b = begin_share(store, second, blocks)
        c = begin_share(store, third, blocks)
        total = with_share(total, op, store, a, first, blocks, like)
        total = with_share(total, op, store, b, second, blocks, like)
        total = with_share(total, op, store, c, third, blocks, like)
        first = int32(third + threads)
    return total


@device_function()
def fold(totals, op):
    """Combine a thread's totals."""
    total = totals[0]
    for k in range(1, totals.size):
        total = combine(op, total, totals[k])
    return total


@device_function()
def fold_block(words, value, op):
    """Combine `value` of all threads of a flat block of whole warps: the same in each. A barrier frees `words`."""
    total = reduce_members(value, op, FULL_MASK, 32)
    warps = warps_of(block_size())
    if warps > 1:
        if (thread_x() & 31) == 0:
            put_total(words, int32(thread_x() >> 5), total)
        barrier()
        part = part_of(int32(thread_x() & 31), warps)
        total = fold_lanes(take_four(words, int32(4 * part), total), part, total, op, warps, warps)
    return total


def free_kernel(meaning: Meaning, reading: Reading) -> Callable[..., Any]:
    """Return the kernel that reduces as `meaning` says what it reads as `reading` says.

    Called by: a grid of blocks of whole warps.
    Args: count: see `reading.number`.  x: the array.  out: the result.  inverses: 1 / blocks, or 0 where every
    thread reads at most `reading.loads` vectors of fewer than 2**31 items; then 1 / extents of `x`.  init: what to
    start with, of any type where there is none.  store: scratch for as many blocks as the grid has.
    """
    lift, op, empty = meaning.lift, meaning.op, meaning.empty
    settle, finish, put = meaning.settle, meaning.finish, meaning.put
    number, before, fetch, fetch_item = reading.number, reading.before, reading.fetch, reading.fetch_item
    length, shifts = reading.length, (reading.item_shift, reading.length_shift)
    loads, held = reading.loads, reading.loads * reading.length
    item, total_type, small = reading.item, meaning.total, meaning.narrow

    def reduce_in_any_order(count, x, out, inverses, init, store):
        items, totals = local_array(held, item), local_array(loads, total_type)
        like = state_value(store)
        words = scratch(SLOTS, like)
        narrow = small(like)
        n = number(count, x)
        for k in range(loads):
            totals[k] = empty(op, like)
        # this block's share
        if inverses[0] != 0:
            head = before(x, n, shifts[0])
            vectors = (n - head) >> shifts[1]
            tail = n - head - (vectors << shifts[1])
            gather_edges(totals, items, x, n, head, tail, fetch_item, lift, op, narrow, inverses)
            rows = (vectors + 31) >> 5
            begin = first_of(rows, grid_x(), inverses[0], block_x()) << 5
            end = min(first_of(rows, grid_x(), inverses[0], block_x() + 1) << 5, vectors)
            gather(totals, items, x, begin, end, head, length, fetch, lift, op, narrow, inverses)
        else:
            gather_once(
                totals, items, x, int32(n), before, length, shifts, fetch, fetch_item, lift, op, narrow, inverses
            )
        total = fold_block(words, fold(totals, op), op)
        # the last block combines the shares
        is_last = True
        if grid_x() > 1:
            is_last = leave_share(total, store)
            if is_last:
                total = fold_block(words, gather_blocks(store, like, op, empty), op)
                if thread_x() == 0:
                    forget_blocks(store)
        if is_last and thread_x() == 0:
            put(out, settle(finish, op, init, total, n))

    return reduce_in_any_order
