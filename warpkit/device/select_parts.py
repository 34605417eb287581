"""Partitions of many items: first what is kept, the rest from the end on and so backwards, then turned around.

Where the rest begins is known when all items have been read, and then most of them are written. So the rest first lies
backwards; when all tiles are written its items change places, the first with the last one, in slices that the blocks
draw. A block waits only for tiles, all of which belong to blocks that run and wait for nobody behind them, so it waits
in vain on no GPU, however busy. The block that is done last leaves the numbers as they were.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..block.lookback import LONG
from ..block.shape import int32
from ..simt.lanes import block_index, block_size, grid_size, thread_index
from ..simt.machine import device_function
from ..simt.memory import atomic_add, load_acquire, load_relaxed, local_array, shared_array, store_relaxed
from ..simt.states import viewed
from ..simt.sync import barrier, fence_device, sleep
from ..simt.types import as_index, as_int64, hold
from .select_tile import write_run

KEPT, WRITTEN, DRAWN, LEFT = 8, 9, 10, 11  # int64 words of the head of the tile states; 0 between launches
SLICE = 1 << 13  # pairs that a block swaps at once
PAIRS = 8  # that a thread has in flight
NAP = 40  # nanoseconds


@device_function()
def move_parts(values, slot, positions, lead, bits, earlier, total, count):
    """Write the thread's kept items behind those of earlier threads, the others behind all kept ones."""
    kept = int32(lead + earlier)
    other = int32(lead + total + thread_index() * values.size - earlier)
    for j in range(values.size):
        if (bits >> j) & 1 != 0:
            slot[as_index(kept)] = values[j]
            kept = int32(kept + 1)
        elif j < count:
            slot[as_index(other)] = values[j]
            other = int32(other + 1)


@device_function()
def emit_parts(slot, positions, lead, earlier, total, base, num_items, out, more):
    """Write the tile's kept items behind the `earlier` ones, the others backwards before those of earlier tiles."""
    valid = int32(min(num_items - base, slot.size - lead))
    last = num_items - 1 - (base - earlier)  # where the first of the others stands
    write_run(slot, int32(lead), total, out, as_int64(earlier), 1)
    write_run(slot, int32(lead + total), int32(valid - total), out, last, -1)


@device_function()
def count_parts(counted, num_items, out, more, count_out, states):
    """Write how many items were kept, where there is room the number of all too; called by one thread."""
    if count_out.size > 0:
        count_out[0] = counted
    if count_out.size > 1:
        count_out[1] = num_items


@device_function()
def finish_parts(counted, num_items, out, more, count_out, states):
    """Do that, and tell the blocks that turn the rest around how many items were kept."""
    count_parts(counted, num_items, out, more, count_out, states)
    if states.size > 0:
        store_relaxed(viewed(states, LONG), KEPT, as_int64(counted))


def turning(item: np.dtype[Any]) -> Callable[..., Any]:
    """Return the function that turns the rest around, for `after`."""

    def swap(out, low, high, first, end):
        """Swap items low + i and high - i, for i from `first` up to `end`."""
        left, right = local_array(PAIRS, item), local_array(PAIRS, item)
        threads = block_size()
        i = first + thread_index()
        while i < end:
            for k in range(PAIRS):
                at = i + k * threads
                if at < end:
                    left[k] = hold(out[as_index(low + at)])
                    right[k] = hold(out[as_index(high - at)])
            for k in range(PAIRS):
                at = i + k * threads
                if at < end:
                    out[as_index(low + at)] = right[k]
                    out[as_index(high - at)] = left[k]
            i += PAIRS * threads

    def turn_rest(states, written, num_tiles, num_items, total, alone, out):
        """Turn the rest around when all tiles are written; `alone`: a block has written all there is."""
        barrier()
        if alone:
            if block_index() == 0:
                swap(out, as_int64(total), num_items - 1, as_int64(0), (num_items - total) >> 1)
        else:
            drawn = shared_array(2, np.int64)  # the first pair of a slice; how many are kept
            numbers = viewed(states, LONG)
            if thread_index() == 0:
                fence_device()  # what the block has written is seen before it counts
                atomic_add(numbers, WRITTEN, as_int64(written))
                while load_acquire(numbers, WRITTEN) < num_tiles:
                    sleep(NAP)
                drawn[1] = load_relaxed(numbers, KEPT)  # by the one that then says that the block has left
            barrier()
            kept = drawn[1]
            pairs = (num_items - kept) >> 1
            first = as_int64(0)
            while first < pairs:
                if thread_index() == 0:
                    drawn[0] = atomic_add(numbers, DRAWN, SLICE)
                barrier()
                first = drawn[0]
                swap(out, kept, num_items - 1, first, min(first + SLICE, pairs))
                barrier()
            if thread_index() == 0 and atomic_add(numbers, LEFT, 1) == grid_size() - 1:
                for word in range(KEPT, LEFT + 1):
                    store_relaxed(numbers, word, 0)

    return turn_rest
