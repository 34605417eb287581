"""Look-back in two halves, with which a block hides how long the states of other tiles take to arrive.

The first half begins to load the states of the nearest 256 tiles, eight a lane, none of which waits for another; the
second one combines them, after whatever the block did meanwhile. A block that is one of a grid at work had one of those
tiles itself, so that it finds an inclusive prefix among them and the look-back is one such step: the longest walk is
the first tile's. As in `lookback_exclusive_prefix`, only tiles behind the nearest inclusive prefix are waited for.
"""

from ..simt.lanes import lane_id, shuffle, thread_index
from ..simt.machine import device_function
from ..simt.memory import put, scratch, take
from ..simt.ops import maximum
from ..simt.states import ABSENT, INCLUSIVE, begin_load, end_load, nothing_begun, state_value, store_state
from ..simt.sync import barrier, sleep
from ..simt.types import cast_like, combine, identity_or_own, is_commutative
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .lookback import epoch_of
from .lookback_walk import FIRST_PAUSE, LONGEST_PAUSE
from .shape import int32
from .states import HEAD

EACH = 8  # states a lane


# ------------------------------------------------------------------ a window: 8 states in each lane, tiles first…last


@device_function()
def window_before(tile):
    """Return the first tile of the window before `tile`, int32."""
    return int32(max(tile - EACH * 32, 0))


@device_function()
def begin_four(states, at, step, last):
    """Begin to load four states; those beyond the last one are the last one again."""
    return (
        begin_load(states, HEAD + min(at, last)),
        begin_load(states, HEAD + min(at + step, last)),
        begin_load(states, HEAD + min(at + 2 * step, last)),
        begin_load(states, HEAD + min(at + 3 * step, last)),
    )


@device_function()
def end_four(states, begun, at, step, last, epoch, like):
    """Return four (value, status)."""
    return (
        end_load(states, begun[0], HEAD + min(at, last), epoch, like),
        end_load(states, begun[1], HEAD + min(at + step, last), epoch, like),
        end_load(states, begun[2], HEAD + min(at + 2 * step, last), epoch, like),
        end_load(states, begun[3], HEAD + min(at + 3 * step, last), epoch, like),
    )


@device_function()
def highest_of_four(seen, at, step, last, status, otherwise):
    """Return the last place up to `last` with `status`, int32; `otherwise` where there is none.

    What lies beyond is the last one again, and was read at another time: it may have got further.
    """
    found = otherwise
    if seen[0][1] == status and at <= last:
        found = at
    if seen[1][1] == status and at + step <= last:
        found = int32(at + step)
    if seen[2][1] == status and at + 2 * step <= last:
        found = int32(at + 2 * step)
    if seen[3][1] == status and at + 3 * step <= last:
        found = int32(at + 3 * step)
    return found


@device_function()
def fold_one(total, started, value, at, first, last, op):
    """Return (total with `value` combined, whether it has one), if its place is within first…last."""
    counts = first <= at and at <= last
    if counts:
        total = combine(op, total, value) if started else value
    return total, started or counts


@device_function()
def fold_four(total, started, seen, at, step, first, last, op):
    """Return (total with the four values combined, whether it has one), as far as they are within first…last."""
    one = fold_one(total, started, seen[0][0], at, first, last, op)
    two = fold_one(one[0], one[1], seen[1][0], int32(at + step), first, last, op)
    three = fold_one(two[0], two[1], seen[2][0], int32(at + 2 * step), first, last, op)
    return fold_one(three[0], three[1], seen[3][0], int32(at + 3 * step), first, last, op)


@device_function()
def place_and_step(first, op):
    """Return (the first place that this lane looks at, how far it is to its next one), int32.

    Neighbouring lanes look at neighbouring tiles, which is faster, where the order does not count; else each has a run.
    """
    lane, spread = lane_id(), is_commutative(op)
    return int32(first + lane if spread else first + lane * EACH), int32(32 if spread else 1)


@device_function()
def begin_window(states, first, last, op, wanted):
    """Begin to load the states of a window, if that is `wanted`."""
    nothing = nothing_begun(states)
    lower = nothing, nothing, nothing, nothing
    upper = lower
    if wanted:
        at, step = place_and_step(first, op)
        lower = begin_four(states, at, step, last)
        upper = begin_four(states, int32(at + 4 * step), step, last)
    return lower, upper


@device_function()
def end_window(states, begun, first, last, epoch, op, like):
    """Return (the tiles of the window combined, from the last inclusive prefix on, in lane 0; whether there is one)."""
    at, step = place_and_step(first, op)
    middle = int32(at + 4 * step)
    lower = end_four(states, begun[0], at, step, last, epoch, like)
    upper = end_four(states, begun[1], middle, step, last, epoch, like)
    pause = int32(0)
    inclusive, waiting = survey(lower, upper, at, step, last)
    while waiting:
        if pause > 0:
            sleep(pause)
        pause = int32(min(2 * pause + FIRST_PAUSE, LONGEST_PAUSE))
        lower = end_four(states, begin_four(states, at, step, last), at, step, last, epoch, like)
        upper = end_four(states, begin_four(states, middle, step, last), middle, step, last, epoch, like)
        inclusive, waiting = survey(lower, upper, at, step, last)
    begin = max(first, inclusive)
    some = fold_four(like, False, lower, at, step, begin, last, op)
    mine = fold_four(some[0], some[1], upper, middle, step, begin, last, op)
    if is_commutative(op):
        total = mine[0] if mine[1] else identity_or_own(op, like)
        return reduce_members(total, op, FULL_MASK, 32), inclusive >= 0
    return reduce_runs(mine[0], op, int32((begin - first) >> 3), int32((last - first) >> 3)), inclusive >= 0


@device_function()
def survey(lower, upper, at, step, last):
    """Return (the last place with an inclusive prefix, −1 for none; whether a later one is absent), in every lane."""
    middle = int32(at + 4 * step)
    inclusive = highest_of_four(lower, at, step, last, INCLUSIVE, int32(-1))
    inclusive = highest_of_four(upper, middle, step, last, INCLUSIVE, inclusive)
    absent = highest_of_four(lower, at, step, last, ABSENT, int32(-1))
    absent = highest_of_four(upper, middle, step, last, ABSENT, absent)
    nearest = reduce_members(inclusive, maximum, FULL_MASK, 32)
    return nearest, reduce_members(absent, maximum, FULL_MASK, 32) > nearest


@device_function()
def reduce_runs(value, op, low, high):
    """Return in lane 0 the values of lanes `low`…`high` combined in this order."""
    total = value
    lane = lane_id()
    for k in range(5):
        further = int32(lane + (1 << k))
        later = shuffle(FULL_MASK, total, further if further <= high else lane)
        if further <= high:
            total = combine(op, total, later)
    return shuffle(FULL_MASK, total, low)


# ------------------------------------------------------------------ the two halves


@device_function()
def begin_prefix(states, tile, op):
    """Begin to look at the tiles before `tile`, if there are any; it is negative for none.

    Called by: all threads of a block of at least 32; its own tile need not be published yet.
    Returns: what `end_prefix` wants.
    """
    wanted = tile > 0 and thread_index() < 32
    return begin_window(states, window_before(tile), int32(tile - 1), op, wanted)


@device_function()
def end_prefix(states, begun, tile, aggregate, op, init):
    """Return what `lookback_exclusive_prefix` does for a `tile` that this block has published, from what has begun.

    Called by: all threads of the block. The next barrier behind it comes before the next look-back.
    Storage: as there.  Cost: 1 barrier.
    """
    value = state_value(states, aggregate)
    start = value
    if init is not None:
        start = cast_like(value, init)
    words = scratch(1, value)
    if thread_index() < 32:
        prefix = start
        if tile > 0:
            epoch = epoch_of(states)
            before = look_further(states, begun, tile, epoch, op, value)
            if lane_id() == 0:
                store_state(states, HEAD + tile, combine(op, before, value), epoch, INCLUSIVE)
            prefix = before
            if init is not None:
                prefix = combine(op, start, before)
        if lane_id() == 0:
            put(words, 0, 1, prefix)
    barrier()
    return take(words, 0, 1, value)


@device_function()
def look_further(states, begun, tile, epoch, op, like):
    """Return in lane 0 the aggregates of all tiles before `tile` > 0 combined; called by warp 0."""
    first, last = window_before(tile), int32(tile - 1)
    prefix, found = end_window(states, begun, first, last, epoch, op, like)
    while not found:
        last = int32(first - 1)
        first = window_before(first)
        begun = begin_window(states, first, last, op, True)
        value, found = end_window(states, begun, first, last, epoch, op, like)
        prefix = combine(op, value, prefix)
    return prefix
