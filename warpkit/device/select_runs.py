"""Runs of equal items: how many there are before a tile and where the last one began, as one value.

A run's length is known where the next one begins. Count and place have 48 bits each, in three words, so that they
travel between blocks in one access; the place is one more than the index of the run's first item, 0 for none.
"""

import numpy as np

from ..block.shape import int32
from ..simt.lanes import as_mask, block_size, thread_index
from ..simt.machine import device_function
from ..simt.sync import barrier
from ..simt.types import as_index, as_int64, hold
from .select_tile import room_for

NO_RUNS = (np.uint32(0), np.uint32(0), np.uint32(0))
LOW = 0xFFFFFFFF


@device_function()
def packed(runs, place):
    """Return a count and a place as three words."""
    high = ((runs >> 32) << 16) | (place >> 32)
    return as_mask(runs & LOW), as_mask(place & LOW), as_mask(high)


@device_function()
def runs_of(both):
    """Return the count, int64."""
    return as_int64(both[0]) | (as_int64(both[2] >> 16) << 32)


@device_function()
def place_of(both):
    """Return the place, int64."""
    return as_int64(both[1]) | (as_int64(both[2] & 0xFFFF) << 32)


@device_function()
def join_runs(earlier, later):
    """Combine two stretches: the counts add up, the place is the later one's unless no run begins there."""
    place = place_of(later)
    if place == 0:
        place = place_of(earlier)
    return packed(runs_of(earlier) + runs_of(later), place)


@device_function()
def as_runs(positions, total, base):
    """Return what a tile in which `total` runs begin adds; their positions have just been written."""
    barrier()
    place = as_int64(0)
    if total > 0:
        place = base + positions[as_index(int32(total - 1))] + 1
    return packed(as_int64(total), place)


@device_function()
def emit_runs(slot, positions, lead, earlier, total, base, num_items, out, more):
    """Write the items with which runs begin, and the lengths of the runs that end there, as far as there is room."""
    runs, last_place = runs_of(earlier), place_of(earlier)
    values, lengths = room_for(total, out, runs), room_for(total, more, runs - 1)
    i = int32(thread_index())
    while i < total:
        begin = int32(positions[as_index(i)])
        if i < values:
            out[as_index(runs + i)] = hold(slot[as_index(int32(lead + i))])
        if i < lengths:
            if i > 0:
                more[as_index(runs + i - 1)] = int32(begin - positions[as_index(int32(i - 1))])
            elif runs > 0:
                more[as_index(runs - 1)] = base + begin - (last_place - 1)
        i = int32(i + block_size())


@device_function()
def finish_runs(all_runs, num_items, out, more, count_out, states):
    """Write the number of runs and the length of the last one; called by one thread."""
    runs = runs_of(all_runs)
    if count_out.size > 0:
        count_out[0] = runs
    if 0 < runs and runs <= more.size:
        more[as_index(runs - 1)] = num_items - (place_of(all_runs) - 1)
