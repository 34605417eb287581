"""The kernel of compactions of few items: from registers to where they belong, and no block waits for one to begin.

A warp reads rows of 32 neighbouring items, all before it looks at any; ballots say which of them it keeps, and in which
place. The warps of a block exchange how many these are, once, and write them without a detour through shared memory.
Where there are several blocks, each looks back at how many items others keep, see scan_look.py. Such blocks may read
what others have written over in place; and what they write has to depend on nothing but how many items are kept, before
and in all.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..block.shape import int32, lane_number, warp_number
from ..simt.lanes import block_index, block_size, grid_size, thread_index
from ..simt.machine import device_function
from ..simt.memory import dynamic_shared, local_array, shared_array
from ..simt.ops import add
from ..simt.sync import barrier
from ..simt.types import as_index, as_int64
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .scan_few import FewShape
from .scan_look import looking_back
from .select_few_hold import counting, first_of, holding
from .select_kernel import number_of
from .select_layout import POSITION, Compaction
from .tiles import end_draw, start_draw

MOST_BYTES = 16  # of an item that registers hold
WARPS = 32  # of a block, at most
AGAIN = 16  # bytes that a lane has in flight when it does the work of another block, in up to 4 items


def few_kernel(what: Compaction, shape: FewShape) -> Callable[..., Any]:
    """Return the kernel of few items: fewer than 2^31, counted in int32.

    Called by: blocks of the same number of whole warps, as many as it takes, one at least; several where the compaction
    is one that spreads, and what is written shares no memory with what is read; where it looks back, a state is read
    in one access.
    Shared memory: `noted_bytes`.  Args: as of `ring_kernel`.
    """
    return kernel_that_looks(what, shape) if shape.states else kernel_of_one_block(what, shape)


def noted_bytes(what: Compaction, shape: FewShape) -> int:
    """Return the dynamic shared memory of a block."""
    return shape.tile_items * POSITION.itemsize if what.few.notes else 0


@device_function()
def told(number):
    """Return the number of the warp whose number is this thread's lane, 0 where there is none; the block is in step."""
    words = shared_array(WARPS, np.int32)
    if lane_number() == 0:
        words[as_index(warp_number())] = number
    barrier()
    return words[as_index(lane_number())] if lane_number() < int32(block_size() >> 5) else int32(0)


@device_function()
def as_they_are(counts):
    """Return how many items are kept before a tile, and in all, as they were found."""
    return counts


@device_function()
def with_none_in_all(count):
    """Return how many items are kept before a tile, and 0 for those in all, which nobody asks for."""
    return count, int32(0)


def kernel_of_one_block(what: Compaction, shape: FewShape) -> Callable[..., Any]:
    """Return the kernel of one block."""
    items, item, finish, put = shape.items, what.item, what.few.finish, what.few.put
    number, fill, room = number_of(what), holding(what, items), shape.tile_items if what.few.notes else 0

    def compact_by_one_block(source, flags, out, more, count_out, states, count):
        num_items = int32(number(count, source))
        values, places = local_array(items, item), local_array(items, np.int32)
        noted = dynamic_shared(room, POSITION, 0)
        first = first_of(items)
        warps = told(fill(values, places, source, flags, first, num_items))
        before = reduce_members(warps if lane_number() < warp_number() else int32(0), add, FULL_MASK, 32)
        total = reduce_members(warps, add, FULL_MASK, 32)
        put(values, places, first, before, total, num_items, out, more, noted)
        if thread_index() == 0:
            finish(total, num_items, out, more, count_out, states)

    return compact_by_one_block


def kernel_that_looks(what: Compaction, shape: FewShape) -> Callable[..., Any]:
    """Return the kernel of blocks that look back."""
    items, item, finish, put = shape.items, what.item, what.few.finish, what.few.put
    number, fill, sweep = number_of(what), holding(what, items), counting(what, max(min(AGAIN // item.itemsize, 4), 1))

    def total_of(both, tile, tile_items, num_items, like):
        base = int32(tile * tile_items)
        kept = sweep(both[0], both[1], int32(base + lane_number()), int32(32), int32(min(base + tile_items, num_items)))
        return reduce_members(kept, add, FULL_MASK, 32)

    whole = what.few.whole
    look = looking_back(shape.states, shape.patience, np.int32, add, total_of, whole)
    both_of = as_they_are if whole else with_none_in_all

    def compact_by_looks(source, flags, out, more, count_out, states, count):
        drawn = as_int64(0)
        if thread_index() == 0:
            drawn = start_draw(states)
        num_items = int32(number(count, source))
        tile_items = int32(block_size() * items)
        tile = int32(block_index())
        base = int32(tile * tile_items)
        if base < num_items or tile == 0:
            values, places = local_array(items, item), local_array(items, np.int32)
            first = int32(base + first_of(items))
            warps = told(fill(values, places, source, flags, first, num_items))
            # of all for the first warp, which tells it to others and has nothing before it in the block
            mine = lane_number() < warp_number() or warp_number() == 0
            lower = reduce_members(warps if mine else int32(0), add, FULL_MASK, 32)
            earlier, total = both_of(look(states, drawn, tile, lower, (source, flags), tile_items, num_items))
            before = int32(earlier + lower) if warp_number() > 0 else earlier
            put(values, places, first, before, total, num_items, out, more, None)
            if base + tile_items >= num_items and thread_index() == 0:
                finish(int32(earlier + lower), num_items, out, more, count_out, states)
        if thread_index() == 0:
            end_draw(states, drawn, grid_size(), grid_size())

    return compact_by_looks
