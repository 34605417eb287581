"""The generic core: scans and reductions over any part of a warp, in lane order.

With every lane present: shuffles by powers of two (Kogge & Stone 1973). Otherwise pointer doubling (Hillis & Steele
1986) on "the previous lane of my part": each round combines with the lane that the pointer names and takes over its
pointer, so that after log2 rounds each lane holds everything before it, whatever holes the part has.
"""

from ..simt.bits import highest_bit, lowest_bit
from ..simt.lanes import as_mask, has_redux, lane_id, lanes_below, redux, shuffle, shuffle_down, shuffle_up, shuffle_xor
from ..simt.machine import device_function
from ..simt.types import combine, is_commutative
from .participants import FULL_MASK, in_group


@device_function()
def log2(width):
    """Return the exponent of a power of two, int32."""
    return highest_bit(width)


@device_function()
def neighbour(members, part, reverse):
    """Return the lane of `part` that scans just before this one, −1 when this lane is the first or not in `part`."""
    below = lanes_below()
    mine = as_mask(part & (below + 1))  # lane k's own bit is one more than the mask of the lanes below it
    if mine == 0:
        return highest_bit(mine)
    if reverse:
        return lowest_bit(as_mask(part & ~(below + below + 1)))
    return highest_bit(as_mask(part & below))


@device_function()
def chain_inclusive(value, op, members, part, rounds, reverse):
    """Scan `value` over the lanes of `part`; all of `members` call. Lanes outside `part` get their own value."""
    total = value
    previous = neighbour(members, part, reverse)
    for k in range(rounds):
        source = previous if previous >= 0 else lane_id()  # a lane may only read a participant
        earlier = shuffle(members, total, source)
        further = shuffle(members, previous, source) if k + 1 < rounds else previous
        if previous >= 0:
            total = combine(op, earlier, total)
            previous = further
    return total


@device_function()
def last_of(part, reverse):
    """Return the lane of `part` that scans last, −1 when `part` is empty."""
    return lowest_bit(part) if reverse else highest_bit(part)


@device_function()
def chain_reduce(value, op, members, part, rounds):
    """Reduce `value` over the lanes of `part`; all of `members` call and get it, their own value for an empty part."""
    total = chain_inclusive(value, op, members, part, rounds, False)
    last = highest_bit(part)
    # A statement of its own: Python 3.12 and later copy a short `return f(a if c else b)` into both branches.
    source = last if last >= 0 else lane_id()
    return shuffle(members, total, source)


@device_function()
def butterfly(value, op, width):
    """Reduce `value` over every group of `width` lanes of a full warp, the same bits in each lane."""
    total = value
    for k in range(log2(width)):
        other = shuffle_xor(FULL_MASK, total, 1 << k)
        if is_commutative(op):
            total = combine(op, total, other)
        else:
            upper = (lane_id() >> k) & 1
            total = combine(op, other if upper else total, total if upper else other)
    return total


@device_function()
def reduce_members(value, op, members, width):
    """Reduce `value` over the caller's group of `width` lanes within `members`."""
    if width == 32 and has_redux(op, value):
        return redux(op, members, value)
    if members == FULL_MASK:
        return butterfly(value, op, width)
    return chain_reduce(value, op, members, in_group(members, width), log2(width))


@device_function()
def from_earlier(value, distance, width, reverse):
    """Return (value of the lane `distance` earlier in scan order, whether there is one), in a full warp."""
    if reverse:
        return shuffle_down(FULL_MASK, value, distance, width)
    return shuffle_up(FULL_MASK, value, distance, width)


@device_function()
def steps(value, op, rounds, width, reverse):
    """Do the first `rounds` rounds of an inclusive scan of a full warp: each lane holds its last 2^rounds values."""
    total = value
    for k in range(rounds):
        earlier, exists = from_earlier(total, 1 << k, width, reverse)
        if exists:
            total = combine(op, earlier, total)
    return total


@device_function()
def inclusive_members(value, op, members, width, reverse):
    """Scan `value` over the caller's group of `width` lanes within `members`."""
    if members == FULL_MASK:
        return steps(value, op, log2(width), width, reverse)
    return chain_inclusive(value, op, members, in_group(members, width), log2(width), reverse)


@device_function()
def exclusive_members(value, op, members, width, reverse):
    """Return (scan of the lanes before this one, True), or (anything, False) in the first lane of the group."""
    if members == FULL_MASK:
        # The last round and the shift by one lane read the same values: two independent shuffles, one latency less.
        halves = steps(value, op, log2(width) - 1, width, reverse)
        near, exists = from_earlier(halves, 1, width, reverse)
        far, reaches = from_earlier(halves, 1 + width // 2, width, reverse)
        return (combine(op, far, near) if reaches else near), exists
    return chain_exclusive(value, op, members, in_group(members, width), log2(width), reverse)


@device_function()
def chain_exclusive(value, op, members, part, rounds, reverse):
    """Return (scan of the lanes of `part` before this one, True), or (own value, False) in the first one."""
    total = chain_inclusive(value, op, members, part, rounds, reverse)
    previous = neighbour(members, part, reverse)
    return shuffle(members, total, previous if previous >= 0 else lane_id()), previous >= 0
