"""The generic core: scans and reductions over any part of a warp, in lane order.

With every lane present: shuffles by powers of two (Kogge & Stone 1973). Otherwise pointer doubling (Hillis & Steele
1986) on "the previous lane of my part": each round combines with the lane that the pointer names and takes over its
pointer, so that after log2 rounds each lane holds everything before it, whatever holes the part has.
"""

from ..simt.bits import highest_bit, lowest_bit, popcount
from ..simt.lanes import (
    anew,
    as_mask,
    has_redux,
    lane_id,
    lanes_below,
    redux,
    shuffle,
    shuffle_down,
    shuffle_up,
    shuffle_xor,
)
from ..simt.machine import device_function
from ..simt.types import combine, is_commutative
from .participants import FULL_MASK, in_group


@device_function()
def log2(width):
    """Return the exponent of a power of two, int32."""
    return highest_bit(width)


@device_function()
def before(part, reverse):
    """Return the lanes of `part` that scan before this one; none when this lane is not in `part` itself."""
    below = lanes_below()
    if as_mask(part & (below + 1)) == 0:  # lane k's own bit is one more than the mask of the lanes below it
        return as_mask(part & 0)
    return as_mask(part & (~(below + below + 1) if reverse else below))


@device_function()
def nearest(earlier, reverse):
    """Return the last lane of `earlier` to scan, this lane itself when there is none."""
    lane = lowest_bit(earlier) if reverse else highest_bit(earlier)
    return lane if lane >= 0 else lane_id()


@device_function()
def chain_inclusive(value, op, members, part, rounds, reverse):
    """Scan `value` over the lanes of `part`; all of `members` call. Lanes outside `part` get their own value."""
    earlier = before(part, reverse)
    rank = popcount(earlier)
    source = nearest(earlier, reverse)  # the first lane points at itself, so pointers chain without a condition
    total = value
    for k in range(rounds):
        other = shuffle(members, total, source)
        if k + 1 < rounds:
            source = shuffle(members, source, source)
        if rank >= 1 << k:
            total = combine(op, other, total)
    return total


@device_function()
def chain_reduce(value, op, members, part, rounds):
    """Reduce `value` over the lanes of `part`; all of `members` call and get it, their own value for an empty part."""
    total = chain_inclusive(value, op, members, part, rounds, False)
    last = highest_bit(part)
    return shuffle(members, total, last if last >= 0 else lane_id())


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
    """Return (`value` of the lane `distance` earlier in scan order, True), or (own value, False), in a full warp."""
    if reverse:
        return shuffle_down(FULL_MASK, value, distance, width)
    return shuffle_up(FULL_MASK, value, distance, width)


@device_function()
def position_of(lane, width, reverse):
    """Return how many lanes of the group of `width` scan before `lane`: known long before any shuffle is done."""
    position = lane & (width - 1)
    return width - 1 - position if reverse else position


@device_function()
def steps(value, op, rounds, width, reverse):
    """Do the first `rounds` rounds of an inclusive scan of a full warp: each lane holds its last 2^rounds values."""
    position = position_of(lane_id(), width, reverse)
    total = value
    for k in range(rounds):
        earlier = from_earlier(total, 1 << k, width, reverse)[0]  # without one the lane's own: no other value to keep
        total = combine(op, earlier, total) if position >= 1 << k else earlier
    return total


@device_function()
def inclusive_members(value, op, members, width, reverse):
    """Scan `value` over the caller's group of `width` lanes within `members`."""
    if members == FULL_MASK:
        return steps(value, op, log2(width), width, reverse)
    return chain_inclusive(value, op, members, in_group(members, width), log2(width), reverse)


@device_function()
def combine_if(condition, op, earlier, later):
    """Return `op(earlier, later)` where `condition` is true, else `later`.

    A built-in operator is cheaper computed than branched around, also on a value that means nothing.
    """
    if is_commutative(op):
        both = combine(op, earlier, later)
        return both if condition else later
    return combine(op, earlier, later) if condition else later


@device_function()
def exclusive_members(value, op, members, width, reverse):
    """Return (scan of the lanes before this one, True), or (anything, False) in the first lane of the group."""
    if members == FULL_MASK:
        # The last round and the shift by one lane read the same values: two independent shuffles, one latency less.
        # Whether there are such lanes is asked of the shuffles: the lane's number is the same in a loop (see `anew`).
        halves = steps(value, op, log2(width) - 1, width, reverse)
        near = from_earlier(halves, 1, width, reverse)
        far = from_earlier(halves, 1 + width // 2, width, reverse)
        prefix = near[0]
        if far[1]:
            prefix = combine(op, far[0], prefix)
        return prefix, near[1]
    return chain_exclusive(value, op, members, in_group(members, width), log2(width), reverse)


@device_function()
def chain_exclusive(value, op, members, part, rounds, reverse):
    """Return (scan of the lanes of `part` before this one, True), or (own value, False) in the first one."""
    total = chain_inclusive(value, op, members, part, rounds, reverse)
    earlier = before(part, reverse)
    return shuffle(members, total, nearest(earlier, reverse)), anew(earlier) != 0
