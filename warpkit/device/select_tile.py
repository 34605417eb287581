"""What a block does with one tile of a compaction: its threads hold neighbouring items, in blocked arrangement.

Every thread decides about its items and counts them, the block scans the counts. Then the kept items move up within
their slot, so that they are written side by side as soon as it is known where to. None of this needs to know what the
tiles before hold; a tile publishes its count before its items move.
"""

from ..block.scan import exclusive_threads
from ..block.shape import int32
from ..simt.bits import popcount
from ..simt.lanes import as_mask, block_size, thread_index
from ..simt.machine import device_function
from ..simt.ops import add
from ..simt.types import as_index, as_int64, hold
from .scan_tile import own_count


@device_function()
def decide(values, slot, flags, lead, valid, keep, previous, first):
    """Read the thread's items of a tile of `valid` ones; return the mask of those that are kept, uint32.

    What lies behind them in the slot is read too, but nobody is asked about it.
    """
    begin = int32(thread_index() * values.size)
    at, place = as_int64(int32(lead + begin)), as_int64(begin)
    for j in range(values.size):
        values[j] = hold(slot[as_index(at + j)])
    before = previous(slot, at, hold(values[0]))
    first = first and begin == 0
    bits = as_mask(0)
    if valid == values.size * block_size():  # the same for the block: a whole tile takes no conditions
        for j in range(values.size):
            if keep(hold(values[j]), before, flags, place + j, first and j == 0):
                bits = as_mask(bits | (1 << j))
            before = hold(values[j])
    else:
        j, count = int32(0), own_count(valid, values.size)
        while j < count:
            value = hold(slot[as_index(at + j)])
            if keep(value, before, flags, place + j, first and j == 0):
                bits = as_mask(bits | (1 << j))
            before = value
            j = int32(j + 1)
    return bits


@device_function()
def rank(bits, threads):
    """Return (how many items earlier threads keep, how many the block of `threads` threads keeps), int32."""
    return exclusive_threads(popcount(bits), add, None, int32(0), int32(threads), True)


# ------------------------------------------------------------------ moving up within the slot


@device_function()
def move_items(values, slot, positions, lead, bits, earlier, total, count):
    """Write the thread's kept items behind those of earlier threads; all have been read."""
    to = int32(lead + earlier)
    for j in range(values.size):
        if (bits >> j) & 1 != 0:
            slot[as_index(to)] = values[j]
            to = int32(to + 1)


@device_function()
def move_positions(values, slot, positions, lead, bits, earlier, total, count):
    """Write the places of the thread's kept items behind those of earlier threads."""
    begin = int32(thread_index() * values.size)
    to = int32(earlier)
    for j in range(values.size):
        if (bits >> j) & 1 != 0:
            positions[as_index(to)] = begin + j
            to = int32(to + 1)


@device_function()
def move_both(values, slot, positions, lead, bits, earlier, total, count):
    """Write the thread's kept items and their places behind those of earlier threads."""
    move_items(values, slot, positions, lead, bits, earlier, total, count)
    move_positions(values, slot, positions, lead, bits, earlier, total, count)


# ------------------------------------------------------------------ counting


@device_function()
def as_count(positions, total, base):
    """Return what a tile of `total` kept items adds to the count, int64."""
    return as_int64(total)


@device_function()
def as_small_count(positions, total, base):
    """Return what a tile of `total` kept items adds to the count, int32: where there are fewer than 2^31 items."""
    return int32(total)


# ------------------------------------------------------------------ writing


@device_function()
def room_for(total, out, earlier):
    """Return how many of `total` items there is room for in `out` behind the `earlier` ones, int32."""
    return int32(min(max(out.size - earlier, 0), as_int64(total)))


@device_function()
def write_run(slot, first, count, out, to, direction):
    """Write items `first`… of a slot, `count` of them, to `out[to]` and on, or back where the direction is −1."""
    step = int32(block_size())
    i, far = int32(thread_index()), as_int64(step) * direction
    while i + 3 * step < count:  # four reads are on their way before the first one is written
        at, place = as_int64(int32(first + i)), to + as_int64(i) * direction
        one, two = hold(slot[as_index(at)]), hold(slot[as_index(at + step)])
        three, four = hold(slot[as_index(at + 2 * step)]), hold(slot[as_index(at + 3 * step)])
        out[as_index(place)] = one
        out[as_index(place + far)] = two
        out[as_index(place + 2 * far)] = three
        out[as_index(place + 3 * far)] = four
        i = int32(i + 4 * step)
    while i < count:
        out[as_index(to + as_int64(i) * direction)] = hold(slot[as_index(int32(first + i))])
        i = int32(i + step)


@device_function()
def emit_items(slot, positions, lead, earlier, total, base, num_items, out, more):
    """Write the tile's kept items behind the `earlier` ones, as far as `out` has room."""
    write_run(slot, int32(lead), room_for(total, out, earlier), out, as_int64(earlier), 1)


@device_function()
def emit_positions(slot, positions, lead, earlier, total, base, num_items, out, more):
    """Write the places in the array of the tile's kept items behind the `earlier` ones, as far as `out` has room."""
    count, to = room_for(total, out, earlier), as_int64(earlier)
    i = int32(thread_index())
    while i < count:
        out[as_index(to + i)] = base + positions[as_index(i)]
        i = int32(i + block_size())


@device_function()
def finish_count(counted, num_items, out, more, count_out, states):
    """Write how many items were kept in all, if anybody wants to know; called by one thread."""
    if count_out.size > 0:
        count_out[0] = counted


@device_function()
def nothing_after(states, written, num_tiles, num_items, total, alone, out):
    """Do nothing when all tiles are written."""
