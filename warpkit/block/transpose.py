"""Items change lanes within each warp of a block of whole warps, between neighbouring lanes and neighbouring items.

A warp's tile is its 32 · N items of the block's tile. Every warp has slots of its own, so that its lanes wait for each
other alone, and all strides are known at compile time.
"""

from ..simt.lanes import block_size, sync_warp, thread_index
from ..simt.machine import device_function
from ..simt.sync import barrier
from ..simt.types import as_int64
from ..warp.participants import FULL_MASK
from .mixing import mixed, row_bits, turn
from .pool import capacity, put_slot, take_slot
from .shape import int32, lane_number


@device_function()
def warp_striped(ranks, i, size):
    """Return the place in the block's tile of the thread's item `i`, striped over its warp, int32."""
    return int32(int32(int32(thread_index() & ~31) * size) + lane_number() + 32 * i)


@device_function()
def striped_slot(i, size, scratch, item_bytes):
    """Return where the lane's item `i` lies among the slots of its warp when striped, int32."""
    lane, bits = lane_number(), row_bits(size, scratch, item_bytes)
    by = turn(((32 * i) >> bits) + (lane >> bits), size, scratch, item_bytes)
    return int32((lane ^ (by & 31)) + ((32 * i) ^ (by & ~31)))


@device_function()
def blocked_slot(i, size, scratch, item_bytes):
    """Return where the lane's item `i` lies among the slots of its warp when blocked, int32."""
    first = int32(lane_number() * size)
    if size & (size - 1) == 0:  # all in one row
        return int32((first ^ turn(first >> row_bits(size, scratch, item_bytes), size, scratch, item_bytes)) ^ i)
    return int32(mixed(int32(first + i), size, scratch, item_bytes))


@device_function()
def goes_by_warps(items, scratch):
    """Return whether `transpose` works: whole warps, and room for the items of one."""
    return (block_size() & 31) == 0 and capacity(scratch, items[0]) >= 32 * items.size


@device_function()
def transpose(pool, scratch, outgoing, incoming, sent, received, limit):
    """Send `outgoing[i]` to slot `sent(i, N, …)` of the warp's, fill `incoming[i]` from slot `received(i, N, …)`.

    Called by: all threads of the block, where `goes_by_warps`. With a `limit` items at places from there on in blocked
    arrangement are not received.
    Cost: 1 barrier a round: as many warps at a time as there is room for.
    """
    size, item_bytes = outgoing.size, outgoing.itemsize
    tile = int32(32 * size)
    window = int32(int32(capacity(scratch, outgoing[0]) // tile) * tile)
    first, start = int32(int32(thread_index() & ~31) * size), int32(0)
    while start < block_size() * size:
        base = int32(first - start)
        if 0 <= base and base < window:
            for i in range(size):
                put_slot(pool, scratch, int32(base + sent(i, size, scratch, item_bytes)), outgoing[i])
            sync_warp(FULL_MASK)
            for i in range(size):
                if limit is None or int32(thread_index() * size) + i < as_int64(limit):
                    slot = int32(base + received(i, size, scratch, item_bytes))
                    incoming[i] = take_slot(pool, scratch, slot, outgoing[i])
        barrier()
        start = int32(start + window)
