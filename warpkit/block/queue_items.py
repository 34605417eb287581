"""Appending several items a thread to a queue in global memory: one global atomic a block for all of them.

A block scan of how many items each thread has gives every item its place, and one thread reserves as many slots. The
plain form stores row by row: item k of a warp's lanes lies side by side, ranked by a ballot. The ordered form first
closes the gaps in shared memory, so that neighbouring threads store neighbouring items whatever the flags are.
"""

from ..simt.bits import popcount
from ..simt.kinds import Kind
from ..simt.lanes import as_mask, ballot, block_size, shuffle, thread_index
from ..simt.machine import device_function
from ..simt.memory import put, take
from ..simt.memory import scratch as shared_words
from ..simt.refusals import refuse
from ..simt.sync import barrier
from ..simt.types import as_index, hold
from ..warp.participants import FULL_MASK
from .items import item_kind
from .pool import POOL_WORDS, capacity, check_scratch, put_slot, take_slot
from .queue import LONG, WORD, check_queue, rank_in, reserve
from .scan import block_prefix_sum_total
from .shape import existing_lanes, int32
from .totals import SLOTS


def _check(name):
    def check(buffer: Kind, counter: Kind, items: Kind, flags: Kind, slots: Kind) -> None:
        check_queue(name, buffer, counter, item_kind(name, items))
        if flags.ndim != 1 or not flags.parts or not (flags.parts[0].is_integer or flags.parts[0].family == "bool"):
            refuse(f"{name}: flags must be a local_array of bool or integers, one an item, not {flags.name}.")
        if slots.family != "none" and (slots.ndim != 1 or not slots.parts or not slots.parts[0].is_integer):
            refuse(f"{name}: slots must be a local_array of integers, one an item, or None, not {slots.name}.")

    return check


def _check_ordered(name):
    def check(buffer: Kind, counter: Kind, items: Kind, flags: Kind, slots: Kind, scratch: Kind) -> None:
        _check(name)(buffer, counter, items, flags, slots)
        check_scratch(name, scratch, item_kind(name, items))

    return check


@device_function()
def packed(items, flags):
    """Return the first 32 flags as the bits of a uint32: one register from here on."""
    bits = WORD
    for k in range(min(items.size, 32)):
        bits = as_mask(bits | ((1 if flags[k] != 0 else 0) << k))
    return bits


@device_function()
def flagged(flags, bits, k):
    """Return whether item `k` is flagged; which way is known at compile time."""
    if k < 32:
        return (bits >> k) & 1 != 0
    return flags[k] != 0


@device_function()
def count_flags(items, flags, bits):
    """Return how many of this thread's items are flagged, int32."""
    count = int32(popcount(bits))
    for k in range(32, items.size):
        count = int32(count + (1 if flags[k] != 0 else 0))
    return count


@device_function()
def room_behind(buffer, first, total):
    """Return how many of `total` slots from `first` on are in the buffer, int32."""
    return int32(min(max(buffer.size - first, 0), total) if first >= 0 else 0)


@device_function()
def note(slots, k, slot):
    """Store the slot of item `k` where it is asked for."""
    if slots is not None:
        slots[k] = slot


@device_function(_check("block_queue_push_items"))
def block_queue_push_items(buffer, counter, items, flags, slots=None):
    """Append every flagged item of every thread to `buffer`, as far as there is room: one global atomic for all.

    Called by: all threads of the block, each with as many items.
    Args: buffer, counter: as in `block_queue_push_if`.  items: the thread's local array of N items; anything that
    moves, records too.  flags: a local array of N bools or integers; item k is appended where flag k is not zero.
    slots: a local array of N integers, in which slot k becomes where item k is, −1 where it was not stored; None: not
    wanted.
    Returns: how many of this thread's items are in the buffer now, int32. The counter keeps the attempts, and nothing
    is written out of bounds; of a block whose items do not all fit the first ones in its order are stored.
    Storage: as `block_prefix_sum` of an int32: 128 bytes of shared memory, free again when it returns.
    Order: none between blocks; in a block by warp, in a warp by k, then by lane. Deterministic.
    Cost: 4 barriers, N ballots a warp, 1 global atomic a block, none if no thread has an item. The lanes of a warp
    store neighbouring items; `block_queue_push_items_ordered` fills whole rows of them.
    Errors: Refused for items that do not go into the buffer.
    Source: warp-aggregated atomics (Adinetz 2014) over a block scan (Blelloch 1990).
    Example: 64 threads, items (t, −t), flags (t odd, True) -> 96 different slots, the counter 96 higher.
    """
    bits = packed(items, flags)
    before, total = block_prefix_sum_total(count_flags(items, flags, bits))
    words = shared_words(SLOTS, before)
    if thread_index() == 0:
        put(words, 0, 1, reserve(counter, total))
    barrier()
    first = take(words, 0, 1, LONG)
    barrier()
    room = room_behind(buffer, first, total)
    if (block_size() & 31) == 0:  # the same for all threads, and then the mask is a constant
        return store_rows(buffer, items, flags, bits, slots, first, room, before, FULL_MASK)
    return store_rows(buffer, items, flags, bits, slots, first, room, before, existing_lanes())


@device_function()
def store_rows(buffer, items, flags, bits, slots, first, room, before, members):
    """Store the items of a warp row by row, those whose place is below `room`; return how many of this thread's were.

    `before` in the first lane: the place of the warp's first item, counted from slot `first`.
    """
    place, stored = int32(shuffle(members, before, 0)), int32(0)
    for k in range(items.size):
        wanted = flagged(flags, bits, k)
        row = ballot(members, wanted)
        own = int32(place + rank_in(row))
        fits = wanted and own < room
        if fits:
            buffer[as_index(first + own)] = hold(items[k])
            stored = int32(stored + 1)
        note(slots, k, first + own if fits else -1)
        place = int32(place + popcount(row))
    return stored


@device_function(_check_ordered("block_queue_push_items_ordered"))
def block_queue_push_items_ordered(buffer, counter, items, flags, slots=None, scratch=None):
    """Append as `block_queue_push_items` does, the items of this block side by side in blocked order.

    Called by, args: as `block_queue_push_items`.  scratch: a shared_array of the items' type, see
    `block_striped_to_blocked`; None: a fixed pool.
    Returns: as `block_queue_push_items`.
    Storage: as `block_queue_push_items`, and without `scratch` the pool of 8192 bytes.
    Order: in a block by linear thread index, in a thread by k, deterministic; none between blocks.
    Cost: 2 barriers, and 2 a round, of which one holds as many flagged items as the scratch; 1 global atomic a block,
    none if no thread has an item. Every flagged item goes through shared memory; the stores are of whole rows.
    Example: 2 threads with items (3, 4) and (5, 6), flags (1, 0) and (1, 1), an empty queue -> it holds 3, 5, 6.
    """
    bits = packed(items, flags)
    before, total = block_prefix_sum_total(count_flags(items, flags, bits))
    words = shared_words(SLOTS, before)
    pool = shared_words(POOL_WORDS, WORD)
    window, start, first, room = capacity(scratch, items[0]), int32(0), LONG, int32(0)
    if thread_index() == 0 and total > 0:
        put(words, 0, 1, reserve(counter, total))
    while start < total:
        gather(pool, scratch, items, flags, bits, int32(before - start), window)
        barrier()
        first = take(words, 0, 1, LONG)
        room = room_behind(buffer, first, total)
        place = thread_index()
        while place < min(window, int32(room - start)):
            buffer[as_index(first + start + place)] = take_slot(pool, scratch, place, items[0])
            place = int32(place + block_size())
        barrier()
        start = int32(start + window)
    note_places(slots, flags, bits, before, first, room)
    return min(max(int32(room - before), int32(0)), count_flags(items, flags, bits))


@device_function()
def gather(pool, scratch, items, flags, bits, place, window):
    """Put the thread's flagged items side by side from slot `place` on, those that lie in the first `window` slots."""
    for k in range(items.size):
        if flagged(flags, bits, k):
            if 0 <= place and place < window:
                put_slot(pool, scratch, place, items[k])
            place = int32(place + 1)


@device_function()
def note_places(slots, flags, bits, before, first, room):
    """Note the slots of the thread's items, which lie side by side from place `before` on."""
    if slots is not None:
        place = before
        for k in range(slots.size):
            wanted = flagged(flags, bits, k)
            fits = wanted and place < room
            slots[k] = first + place if fits else -1
            place = int32(place + (1 if wanted else 0))
