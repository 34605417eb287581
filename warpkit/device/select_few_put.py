"""How a thread writes what it keeps of few items, which it has in registers: see select_few.py.

All of these have the arguments (values, places, first, before, total, num_items, out, more, noted): the thread's items,
32 apart from item `first` on; for each that is kept behind how many of its warp's it belongs, for each other −1 less
that number; how many are kept before the warp's; how many in all; the outputs; shared memory.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..block.shape import int32
from ..simt.lanes import block_size, thread_index
from ..simt.machine import device_function
from ..simt.sync import barrier
from ..simt.types import as_index, as_int64, hold
from .select_parts import count_parts
from .select_tile import finish_count


class Few(NamedTuple):
    """How few items are written. put: from registers.  finish: what is written at the end.

    spreads: that takes nothing but how many items are kept, before and in all, so that several blocks can.  whole: it
    takes how many in all.  notes: it takes a position of shared memory for every item.
    """

    put: Callable[..., Any]
    finish: Callable[..., Any] = finish_count
    spreads: bool = True
    whole: bool = False
    notes: bool = False


@device_function()
def room_in(out, num_items):
    """Return how many items have room, as far as there may be so many, int32."""
    return int32(min(out.size, as_int64(num_items)))


@device_function()
def put_items(values, places, first, before, total, num_items, out, more, noted):
    """Write the kept items, as far as `out` has room."""
    room = room_in(out, num_items)
    for j in range(values.size):
        place = int32(before + places[j])
        if places[j] >= 0 and place < room:
            out[as_index(place)] = hold(values[j])


@device_function()
def put_positions(values, places, first, before, total, num_items, out, more, noted):
    """Write where the kept items are, as far as `out` has room."""
    room = room_in(out, num_items)
    for j in range(values.size):
        place = int32(before + places[j])
        if places[j] >= 0 and place < room:
            out[as_index(place)] = int32(first + 32 * j)


@device_function()
def put_parts(values, places, first, before, total, num_items, out, more, noted):
    """Write the kept items, and behind all of them the others, for which there is room too."""
    for j in range(values.size):
        at = int32(first + 32 * j)
        if at < num_items:
            place = int32(before + places[j])
            if places[j] < 0:  # behind the kept ones, and behind those that are not kept before it
                place = int32(total + at - (before - 1 - places[j]))
            out[as_index(place)] = hold(values[j])


@device_function()
def put_runs(values, places, first, before, total, num_items, out, more, noted):
    """Write the items with which runs begin, and the runs' lengths, as far as there is room."""
    put_items(values, places, first, before, total, num_items, out, more, noted)
    for j in range(values.size):
        if places[j] >= 0:
            noted[as_index(int32(before + places[j]))] = int32(first + 32 * j)
    barrier()
    lengths, run = room_in(more, total), int32(thread_index())
    while run < lengths:
        end = int32(noted[as_index(run + 1)]) if run + 1 < total else num_items
        more[as_index(run)] = int32(end - int32(noted[as_index(run)]))
        run = int32(run + block_size())


ITEMS, POSITIONS = Few(put_items), Few(put_positions)
PARTS, RUNS = Few(put_parts, count_parts, whole=True), Few(put_runs, spreads=False, notes=True)
