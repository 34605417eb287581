"""Walking back over the states of tiles, a warp's width at a time, to the nearest one that knows its own prefix."""

from ..simt.bits import lowest_bit
from ..simt.lanes import ballot, block_size, lane_id, shuffle
from ..simt.machine import device_function
from ..simt.states import ABSENT, INCLUSIVE, load_state
from ..simt.sync import sleep
from ..simt.types import cast_like, combine
from ..warp.participants import FULL_MASK
from .shape import existing_lanes, int32
from .states import HEAD

FIRST_PAUSE, LONGEST_PAUSE = 16, 256  # nanoseconds between two looks at tiles that are not there yet


@device_function()
def look_back(states, tile, epoch, op, like):
    """Return in lane 0 the aggregates of all tiles before `tile` > 0 combined; called by warp 0, its existing lanes."""
    if block_size() >= 32:  # the same for all threads, and then masks and widths are constants
        return look_back_by(states, tile, epoch, op, like, FULL_MASK, int32(32))
    return look_back_by(states, tile, epoch, op, like, existing_lanes(), block_size())


@device_function()
def look_back_by(states, tile, epoch, op, like, members, width):
    """Do what `look_back` says with `members`, the first `width` lanes of warp 0."""
    index = int32(tile - 1 - lane_id())  # lane 0 looks at the nearest tile
    value, last, found = await_window(states, index, epoch, members, width, like)
    prefix = reduce_to_first(value, op, members, last)
    while not found:
        index = int32(index - width)
        value, last, found = await_window(states, index, epoch, members, width, like)
        prefix = combine(op, reduce_to_first(value, op, members, last), prefix)
    return prefix


@device_function()
def await_window(states, index, epoch, members, width, like):
    """Return (value of tile `index`, last lane that counts, whether it holds a prefix), once those tiles are there.

    Lanes beyond the nearest tile that knows its inclusive prefix do not count, and are not waited for.
    """
    pause = int32(0)  # a tile that is nearly there is looked at again at once
    value = like
    last = lane_id()
    waiting = True
    found = False
    while waiting:
        status = 0
        if index >= 0:
            value, status = load_state(states, HEAD + index, epoch, like)
        there = ballot(members, status != ABSENT)
        inclusive = ballot(members, status == INCLUSIVE)
        found = inclusive != 0
        last = cast_like(last, lowest_bit(inclusive) if found else width - 1)
        waiting = (~there & ((2 << last) - 1)) != 0
        if waiting:
            if pause > 0:
                sleep(pause)
            pause = int32(min(2 * pause + FIRST_PAUSE, LONGEST_PAUSE))
    return value, last, found


@device_function()
def reduce_to_first(value, op, members, last):
    """Return in lane 0 the values of lanes `last`…0 combined in this order: the higher lane has the earlier tile."""
    total = value
    lane = lane_id()
    for k in range(5):
        further = lane + (1 << k)
        earlier = shuffle(members, total, further if further <= last else lane)
        if further <= last:
            total = combine(op, earlier, total)
    return total
