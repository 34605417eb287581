"""The kernel for any associative operator: every warp reads a run of neighbouring rows and keeps their order.

A warp reads whole rows, 32 neighbouring vectors, so that its accesses are as wide as those of the other kernel. Each
lane combines the items of its vector, the lanes combine theirs in lane order, then come the warps, then the blocks. The
lanes trade half of their rows for half of their neighbour's, so that four rows cost eight shuffles and not twenty.
"""

from collections.abc import Callable
from typing import Any

from ..block.shape import int32, lane_number, log2_up, warp_number, warps_of
from ..block.totals import SLOTS, fold_totals, put_total, scan_lanes
from ..simt.lanes import block_size, block_x, grid_x, shuffle, shuffle_xor, thread_x
from ..simt.machine import device_function
from ..simt.memory import local_array, scratch
from ..simt.states import state_value
from ..simt.sync import barrier
from ..simt.types import combine
from ..warp.participants import FULL_MASK
from .reduce_blocks import forget_blocks, leave_share, take_share
from .reduce_meaning import Meaning
from .reduce_reading import Reading, first_of, fold_vector

ROWS = 4  # read at once


@device_function()
def within(number, most):
    """Return an int64 no lower than 0 and no higher than `most`, int32."""
    return int32(min(max(number, 0), most))


@device_function()
def trade(low, high, op, distance):
    """Combine `low` of two lanes in the one without the bit `distance`, `high` in the other; the former is earlier."""
    upper = (lane_number() & distance) != 0
    kept = high if upper else low
    other = shuffle_xor(FULL_MASK, low if upper else high, distance)
    earlier = other if upper else kept
    later = kept if upper else other  # named, as what is returned: Python 3.12 else writes the call twice
    return combine(op, earlier, later)


@device_function()
def fold_rows(rows, op):
    """Combine four rows, of which every lane holds one value each, row after row in lane order: the same in each lane.

    Having traded at distances 1 and 2 a lane holds row 2·(bit 0) + (bit 1) of four lanes; distances 4, 8, 16 complete
    it, 2 and 1 bring the rows together.
    """
    first = trade(rows[0], rows[2], op, 1)
    second = trade(rows[1], rows[3], op, 1)
    total = trade(first, second, op, 2)
    for k in range(2, 5):
        total = trade(total, total, op, 1 << k)
    total = trade(total, total, op, 2)
    return trade(total, total, op, 1)


@device_function()
def fold_row(value, op, count):
    """Combine `value` of the first `count` lanes, at least one, in lane order: the same in each lane."""
    return shuffle(FULL_MASK, scan_lanes(value, op, FULL_MASK, count), int32(count - 1))


@device_function()
def gather_rows(rows, items, x, first, last, vectors, head, length, fetch, lift, op, narrow, like, inverses):
    """Combine the rows from `first` to `last` in order; anything for none. A row has 32 vectors, the last one less."""
    lane = lane_number()
    total = like
    row = first
    while row + ROWS <= last and (row + ROWS) << 5 <= vectors:
        for k in range(ROWS):
            fetch(items, k * length, x, head + (((row + k) << 5) + lane) * length, inverses)
        for k in range(ROWS):
            index = head + (((row + k) << 5) + lane) * length
            rows[k] = fold_vector(items, k * length, length, index, lift, op, narrow, like)
        latest = fold_rows(rows, op)
        total = combine(op, total, latest) if row > first else latest
        row += ROWS
    while row < last:
        count = within(vectors - (row << 5), 32)
        value = like
        if lane < count:
            index = head + ((row << 5) + lane) * length
            fetch(items, 0, x, index, inverses)
            value = fold_vector(items, 0, length, index, lift, op, narrow, like)
        latest = fold_row(value, op, count)
        total = combine(op, total, latest) if row > first else latest
        row += 1
    return total


@device_function()
def gather_block_rows(store, like, op, first, last, blocks):
    """Combine, 32 at a time, what the first `blocks` blocks left behind, from row `first` to `last`, in order."""
    lane = lane_number()
    total = like
    row = first
    while row < last:
        count = within(blocks - (row << 5), 32)
        value = like
        if lane < count:
            value = take_share(store, (row << 5) + lane, like)
        latest = fold_row(value, op, count)
        total = combine(op, total, latest) if row > first else latest
        row += 1
    return total


@device_function()
def fold_warps(words, total, op, valid):
    """Combine `total` of the first `valid` warps of the block in order: in every thread; anything for none."""
    if warp_number() < valid and lane_number() == 0:
        put_total(words, warp_number(), total)
    barrier()
    both = fold_totals(words, total, op, valid, valid, None)
    return both[0]


@device_function()
def fold_blocks(words, store, like, op, blocks):
    """Combine what the first `blocks` blocks left behind, in order; the whole last block calls."""
    warps = warps_of(block_size())
    rows = (blocks + 31) >> 5
    each = (rows + warps - 1) >> log2_up(warps)
    first = min(warp_number() * each, rows)
    total = gather_block_rows(store, like, op, first, min(first + each, rows), blocks)
    if thread_x() == 0:
        forget_blocks(store)
    return fold_warps(words, total, op, within(rows, warps))


@device_function()
def edge_row(items, x, first, count, fetch_item, lift, op, narrow, like, inverses):
    """Combine the `count` items from `first` on, fewer than a warp has lanes, in order: the same in each lane."""
    place = first + lane_number()
    value = like
    if lane_number() < count:
        fetch_item(items, 0, x, place, inverses)
        value = fold_vector(items, 0, 1, place, lift, op, narrow, like)
    return fold_row(value, op, int32(count))


def ordered_kernel(meaning: Meaning, reading: Reading) -> Callable[..., Any]:
    """Return the kernel that reduces as `meaning` says what it reads as `reading` says, in order.

    Called by: a grid of blocks of a power of two of whole warps.
    Args: as of `reduce_free.free_kernel`; inverses[0] is 1 / warps of the grid.
    """
    lift, op, small = meaning.lift, meaning.op, meaning.narrow
    settle, finish, put = meaning.settle, meaning.finish, meaning.put
    number, before, fetch, fetch_item = reading.number, reading.before, reading.fetch, reading.fetch_item
    length, length_shift, item_shift = reading.length, reading.length_shift, reading.item_shift
    held, item, total_type = ROWS * reading.length, reading.item, meaning.total

    def reduce_in_order(count, x, out, inverses, init, store):
        items, rows_of_lane = local_array(held, item), local_array(ROWS, total_type)
        like = state_value(store)
        words = scratch(SLOTS, like)
        narrow = small(like)
        n = number(count, x)
        # the vectors, and the items before and behind them
        head = before(x, n, item_shift)
        vectors = (n - head) >> length_shift
        tail = n - head - (vectors << length_shift)
        # this warp's share of their rows
        warps = warps_of(block_size())
        rows, parts = (vectors + 31) >> 5, grid_x() * warps
        part = block_x() * warps + warp_number()
        first = first_of(rows, parts, inverses[0], part)
        last = first_of(rows, parts, inverses[0], part + 1)
        total = gather_rows(
            rows_of_lane, items, x, first, last, vectors, head, length, fetch, lift, op, narrow, like, inverses
        )
        # the warps of this block; those that have a share are the first ones of the grid
        busy = min(rows, parts)
        total = fold_warps(words, total, op, within(busy - block_x() * warps, warps))
        # the last block combines the blocks
        is_last = True
        if grid_x() > 1:
            is_last = leave_share(total, store)
            if is_last:
                total = fold_blocks(words, store, like, op, (busy + warps - 1) >> log2_up(warps))
        if is_last:
            # what lies before and behind
            if head > 0:
                latest = edge_row(items, x, 0 * n, head, fetch_item, lift, op, narrow, like, inverses)
                total = combine(op, latest, total) if vectors > 0 else latest
            if tail > 0:
                latest = edge_row(items, x, n - tail, tail, fetch_item, lift, op, narrow, like, inverses)
                total = combine(op, total, latest) if n > tail else latest
            if thread_x() == 0:
                put(out, settle(finish, op, init, total, n))

    return reduce_in_order
