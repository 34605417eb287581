"""Look-back in which one block adds up for all the others: whoever needs what lies before a tile reads one state.

The block that begins first works on no tile. One warp of it reads the aggregates in order as they are published, 128 at
a time, and publishes what each tile and all before it add up to. A block that publishes a tile or two before it needs
what lies before the first of them so waits for nothing, and reads once what else would be a window of states.

No block has to run beside another one. As long as nobody else has begun the first block waits for a while; then it
says that it is alone and works on tiles itself, and from then on everybody looks back as in lookback.py. It serves once
others have drawn numbers, and these run.
"""

from ..simt.bits import lowest_bit
from ..simt.lanes import as_mask, ballot, grid_size, lane_id, shuffle, thread_index
from ..simt.machine import device_function
from ..simt.memory import load_relaxed, shared_array, store_relaxed
from ..simt.states import ABSENT, INCLUSIVE, begin_load, end_load, load_state, store_state, viewed
from ..simt.sync import barrier
from ..simt.types import as_int64, combine
from ..warp.chain import inclusive_members
from ..warp.participants import FULL_MASK
from .lookback import COUNTER, LONG
from .lookback_ahead import begin_four
from .lookback_walk import look_back
from .shape import int32
from .states import HEAD

ALONE = 2  # int64 word of the head: 1 + the epoch in which the first block worked alone
PATIENCE = 200  # looks, of a microsecond or less, at an array of states in which nobody has published anything
OFTEN = 8  # a power of two: looks at a state between two at whether the first block is alone


@device_function()
def serve(states, num_tiles, epoch, op, like):
    """Publish what every tile and all before it add up to, and return True; return False if this block is alone.

    Called by: all threads of the block that drew the first number of the launch; whole warps. like: a value of the type
    of the states.
    """
    served = shared_array(1, "int32")
    if thread_index() < 32:
        done = serve_rows(states, num_tiles, epoch, op, like)
        if thread_index() == 0:
            served[0] = int32(done)
    barrier()
    return served[0] != 0


@device_function()
def serve_rows(states, num_tiles, epoch, op, like):
    """Do what `serve` says, with one warp, in rows of 32 tiles: the same combinations in every launch."""
    last = int32(num_tiles - 1)
    row, done, idle = int32(0), int32(0), int32(0)  # first tile of a row, how many of it are served, looks in vain
    before, own = like, like  # what all rows before add up to; this lane's aggregate in a row of which some are served
    alone = grid_size() == 1
    while row + done < num_tiles and not alone:
        first, found = row, done
        begun = begin_four(states, int32(row + lane_id()), 32, last)
        row, done, before, own = serve_row(states, begun[0], row, done, before, own, last, epoch, op)
        if row == first + 32:
            row, done, before, own = serve_row(states, begun[1], row, done, before, own, last, epoch, op)
        if row == first + 64:
            row, done, before, own = serve_row(states, begun[2], row, done, before, own, last, epoch, op)
        if row == first + 96:
            row, done, before, own = serve_row(states, begun[3], row, done, before, own, last, epoch, op)
        if row + done == 0 and found == 0:
            idle = int32(idle + 1)
            alone = ballot(FULL_MASK, idle >= PATIENCE and not others_have_begun(states)) != 0
    if alone and lane_id() == 0:
        store_relaxed(viewed(states, LONG), ALONE, as_int64(epoch) + 1)
    return not alone


@device_function()
def others_have_begun(states):
    """Return whether a block has drawn a number beside the first one."""
    return (load_relaxed(viewed(states, LONG), COUNTER) & 0xFFFFFFFF) > 1


@device_function()
def serve_row(states, begun, row, done, before, own, last, epoch, op):
    """Serve the tiles of a row that are there, without gaps, after the `done` first ones of it.

    Returns: (the row, how many of it are served, what all before it add up to, this lane's aggregate in it).
    """
    lane, tile = lane_id(), int32(row + lane_id())
    value, status = end_load(states, begun, HEAD + min(tile, last), epoch, own)
    if lane < done:  # it holds what was served
        value = own
    there = ballot(FULL_MASK, tile <= last and (lane < done or status != ABSENT))
    missing = lowest_bit(as_mask(~there))
    ready = int32(32 if missing < 0 else missing)
    if ready > done:
        total = inclusive_members(value, op, FULL_MASK, 32, False)
        if row > 0:
            total = combine(op, before, total)
        if done <= lane and lane < ready and tile > 0:  # tile 0 was published as what it is
            store_state(states, HEAD + tile, total, epoch, INCLUSIVE)
        done = ready
        if ready == 32:
            before = shuffle(FULL_MASK, total, 31)
            row, done = int32(row + 32), int32(0)
    return row, done, before, value


@device_function()
def begin_served(states, tile):
    """Begin to look at what serves `tile`; see `served_prefix`. Negative tiles and the first one have nothing."""
    return begin_load(states, HEAD + max(tile - 1, 0))


@device_function()
def served_prefix(states, begun, tile, aggregate, epoch, op, like):
    """Return what all tiles before `tile` add up to, `like` for the first one, in every thread.

    Called by: all threads of a block of whole warps, which has published `aggregate`, that of `tile`. No barrier.
    """
    prefix = like
    if tile > 0:
        prefix, status = end_load(states, begun, HEAD + tile - 1, epoch, like)
        if ballot(FULL_MASK, status != INCLUSIVE) != 0:
            prefix = await_served(states, tile, aggregate, epoch, op, like)
    return prefix


@device_function()
def await_served(states, tile, aggregate, epoch, op, like):
    """Do what `served_prefix` says for a tile > 0 that was not served yet."""
    looks = int32(1)
    alone = False
    prefix, status = load_state(states, HEAD + tile - 1, epoch, like)
    while not alone and ballot(FULL_MASK, status != INCLUSIVE) != 0:
        prefix, status = load_state(states, HEAD + tile - 1, epoch, like)
        if (looks & (OFTEN - 1)) == 0:
            alone = ballot(FULL_MASK, load_relaxed(viewed(states, LONG), ALONE) == as_int64(epoch) + 1) != 0
        looks = int32(looks + 1)
    if alone:
        prefix = shuffle(FULL_MASK, look_back(states, tile, epoch, op, like), 0)
        if thread_index() == 0:
            store_state(states, HEAD + tile, combine(op, prefix, aggregate), epoch, INCLUSIVE)
    return prefix
