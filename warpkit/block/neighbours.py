"""The value of the thread before or behind, through shuffles and one slot a warp."""

from ..simt.lanes import block_size, shuffle, shuffle_up, thread_index
from ..simt.machine import device_function
from ..simt.memory import scratch
from ..simt.sync import barrier
from .shape import existing_lanes, int32, lane_number, lanes_of, warp_number
from .totals import SLOTS, put_total, take_total


@device_function()
def from_previous(value):
    """Return (value of the thread before this one, True), or (own value, False) in the first; 2 barriers."""
    words = scratch(SLOTS, value)
    near, exists = shuffle_up(existing_lanes(), value, 1)
    if lane_number() == 31:
        put_total(words, warp_number(), value)
    barrier()
    if not exists and thread_index() > 0:
        near = take_total(words, int32(warp_number() - 1), value)
    barrier()
    return near, thread_index() > 0


@device_function()
def from_next(value):
    """Return (value of the thread behind this one, True), or (own value, False) in the last; 2 barriers."""
    words = scratch(SLOTS, value)
    last = int32(lanes_of(block_size()) - 1)
    near = shuffle(existing_lanes(), value, min(int32(lane_number() + 1), last))
    if lane_number() == 0:
        put_total(words, warp_number(), value)
    barrier()
    exists = thread_index() + 1 < block_size()
    if lane_number() == 31 and exists:
        near = take_total(words, int32(warp_number() + 1), value)
    barrier()
    return near, exists
