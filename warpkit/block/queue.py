"""Appending to a queue in global memory: one global atomic a block instead of one an item.

Three levels: a ballot ranks the items of a warp, one shared atomic a warp its warps, one global atomic the block.
"""

import numpy as np

from ..simt.bits import popcount
from ..simt.debug import check_index
from ..simt.kinds import Kind
from ..simt.lanes import as_mask, ballot, block_size, lane_id, lanes_below, shuffle, thread_index
from ..simt.machine import device_function
from ..simt.memory import atomic_add, put, scratch, take
from ..simt.ops import add
from ..simt.refusals import refuse
from ..simt.sync import barrier, barrier_count
from ..simt.types import cast_like, hold
from ..warp.participants import check_goes_into, check_movable, check_scalar_predicate
from .shape import existing_lanes, warp_number, warps_of
from .totals import scan_lanes

LONG, WORD = np.int64(0), np.uint32(0)
COUNT, BASE = 0, 2  # words of scratch: items of the warps that have come; the block's first slot, int64
WARPS, ORDERED_BASE = 32, 32  # words of scratch in the ordered form: items before each warp; the block's first slot
COUNTERS = ("int32", "uint32", "int64", "uint64")


def check_queue(name: str, buffer: Kind, counter: Kind, value: Kind) -> None:
    """Refuse what is no queue of such values."""
    check_movable(name, value)
    if buffer.ndim != 1:
        refuse(f"{name}: buffer must be a one-dimensional array, not {buffer.name}.")
    if buffer.parts:
        check_goes_into(name, "an item", value, buffer.parts[0])
    if counter.ndim != 1 or (counter.parts and counter.parts[0].name not in COUNTERS):
        refuse(f"{name}: counter must be an array with one 32- or 64-bit integer, not {counter.name}.")


def _check_push(name):
    def check(buffer: Kind, counter: Kind, value: Kind) -> None:
        check_queue(name, buffer, counter, value)

    return check


def _check_push_if(name):
    def check(buffer: Kind, counter: Kind, value: Kind, pred: Kind) -> None:
        check_queue(name, buffer, counter, value)
        check_scalar_predicate(name, pred)

    return check


@device_function(_check_push_if("block_queue_push_if"))
def block_queue_push_if(buffer, counter, value, pred):
    """Append the `value` of every thread whose `pred` is true to `buffer`, as far as there is room.

    Called by: all threads of the block.
    Args: buffer: a one-dimensional array in global memory; its length is the capacity.  counter: an array whose first
    element, a 32- or 64-bit integer, counts the items; 0 for an empty queue.  value: anything that moves, records too.
    pred: bool or an integer, non-zero is true.
    Returns: the slot that this thread's value is in, int64; −1 where `pred` is false and where the buffer was full.
    The counter keeps the attempts: more than the capacity means that so many items were lost. Nothing is written out of
    bounds. It must not overflow: take 64 bits for more than 2**31 attempts.
    Storage: 16 bytes of shared memory, shared with other collectives; free again when it returns.
    Order: none between blocks and between warps of a block; in a warp by lane.
    Cost: 3 barriers, 1 ballot and 1 shared atomic a warp, 1 global atomic a block, none if no thread has an item.
    With several items a thread `block_queue_push_items` is faster: its barriers and its atomic serve all of them.
    Errors: Refused for a value that does not go into the buffer.
    Source: warp-aggregated atomics (Adinetz 2014), one level more.
    Example: 256 threads push if their index is odd -> 128 different slots, the counter 128 higher.
    """
    words = scratch(2, LONG)
    if thread_index() == 0:
        words[COUNT] = 0
    wanted = ballot(existing_lanes(), pred != 0)
    total = barrier_count(pred != 0)
    first = cast_like(lane_id(), 0)
    if lane_id() == 0 and wanted != 0:
        first = cast_like(first, atomic_add(words, COUNT, cast_like(WORD, popcount(wanted))))
    if thread_index() == 0:
        put(words, BASE, 1, reserve(counter, total))
    barrier()
    slot = take(words, BASE, 1, LONG) + shuffle(existing_lanes(), first, 0) + rank_in(wanted)
    barrier()
    return append(buffer, slot, value, pred != 0)


@device_function(_check_push("block_queue_push"))
def block_queue_push(buffer, counter, value):
    """Append the `value` of every thread of the block to `buffer`, as far as there is room. See `block_queue_push_if`.

    Returns: the slot that this thread's value is in, int64; −1 where the buffer was full.
    """
    return block_queue_push_if(buffer, counter, value, True)


@device_function(_check_push_if("block_queue_push_if_ordered"))
def block_queue_push_if_ordered(buffer, counter, value, pred):
    """Append as `block_queue_push_if` does, the items of this block side by side in the order of their threads.

    Called by, args, returns: as `block_queue_push_if`.
    Storage: 256 bytes of shared memory, shared with other collectives; free again when it returns.
    Order: in a block by linear thread index, deterministic; none between blocks.
    Cost: 3 barriers, 1 ballot a warp, 6 shuffles in warp 0, 1 global atomic a block, none if no thread has an item.
    Example: threads 3, 5 and 8 push into an empty queue -> slots 0, 1 and 2.
    """
    words = scratch(WARPS, LONG)
    wanted = ballot(existing_lanes(), pred != 0)
    if lane_id() == 0:
        words[warp_number()] = popcount(wanted)
    barrier()
    if thread_index() < WARPS:
        order_warps(words, counter)
    barrier()
    slot = take(words, ORDERED_BASE, 1, LONG) + words[warp_number()] + rank_in(wanted)
    barrier()
    return append(buffer, slot, value, pred != 0)


@device_function(_check_push("block_queue_push_ordered"))
def block_queue_push_ordered(buffer, counter, value):
    """Append the `value` of every thread in the order of the threads. See `block_queue_push_if_ordered`.

    Returns: as `block_queue_push`.
    """
    return block_queue_push_if_ordered(buffer, counter, value, True)


@device_function()
def order_warps(words, counter):
    """Replace the items of each warp by those before it, and reserve slots for all; called by warp 0."""
    warps = warps_of(block_size())
    here = lane_id() < warps
    mine = cast_like(lane_id(), words[lane_id()] if here else 0)
    scanned = scan_lanes(mine, add, existing_lanes(), WARPS)
    total = shuffle(existing_lanes(), scanned, warps - 1)
    if here:
        words[lane_id()] = scanned - mine
    if lane_id() == 0:
        put(words, ORDERED_BASE, 1, reserve(counter, total))


@device_function()
def reserve(counter, total):
    """Count `total` more items; return the slot of the first, int64."""
    first = LONG
    if total > 0:
        check_index(counter, 0)
        first = cast_like(LONG, atomic_add(counter, 0, total))
    return first


@device_function()
def rank_in(wanted):
    """Return how many lanes of `wanted` are lower than this one, int32."""
    return popcount(as_mask(wanted & lanes_below()))


@device_function()
def append(buffer, slot, value, wanted):
    """Store `value` in `slot` where it is wanted and fits; return the slot, −1 where it was not stored."""
    fits = wanted and 0 <= slot and slot < buffer.size
    if fits:
        buffer[slot] = hold(value)
    return slot if fits else -1
