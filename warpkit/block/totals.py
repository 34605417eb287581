"""The generic core of the two-level collectives: one total a warp through shared memory, combined by every warp.

With up to eight warps every thread reads all totals, broadcasts of neighbouring words, and combines them in registers
as a tree: no second tree of shuffles, no further barrier to hand the result out. With more, up to eight lanes of each
warp read four totals each and two or three shuffles do the rest; where the last warp is partial, and could not, every
thread goes through the totals eight by eight.
"""

from ..simt.lanes import block_size, shuffle_up, shuffle_xor
from ..simt.machine import device_function
from ..simt.memory import put, take, words_of
from ..simt.sync import barrier
from ..simt.types import combine, identity_or_own, is_commutative
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .shape import existing_lanes, int32, lane_number, lanes_of, log2_up, warp_number

SLOTS = 32  # one a warp
GROUP = 8  # totals that a thread holds at once


@device_function()
def first_word(warp, like):
    """Return where the total of a warp starts: whole powers of two of words a slot, so that wide reads are aligned."""
    return int32(warp << log2_up(words_of(like)))


@device_function()
def put_total(words, warp, total):
    """Store the total of a warp."""
    put(words, first_word(warp, total), 1, total)


@device_function()
def take_total(words, warp, like):
    """Return the total of a warp."""
    return take(words, first_word(warp, like), 1, like)


@device_function()
def take_eight(words, warp, like):
    """Return the totals of eight warps from `warp` on; where there are fewer, whatever is in memory."""
    return (
        take_total(words, warp, like),
        take_total(words, warp + 1, like),
        take_total(words, warp + 2, like),
        take_total(words, warp + 3, like),
        take_total(words, warp + 4, like),
        take_total(words, warp + 5, like),
        take_total(words, warp + 6, like),
        take_total(words, warp + 7, like),
    )


@device_function()
def fold_eight(totals, count, op):
    """Combine the first `count` of eight totals in order, as a tree of three levels; the first one for 0."""
    a = totals[0]
    b = totals[2]
    c = totals[4]
    d = totals[6]
    if count > 1:
        a = combine(op, a, totals[1])
    if count > 3:
        b = combine(op, b, totals[3])
    if count > 5:
        c = combine(op, c, totals[5])
    if count > 7:
        d = combine(op, d, totals[7])
    if count > 2:
        a = combine(op, a, b)
    if count > 6:
        c = combine(op, c, d)
    if count > 4:
        a = combine(op, a, c)
    return a


@device_function()
def fold_lanes(words, like, op, warps, count):
    """Combine the first `count` of `warps` totals in order, in a full warp: the same in all lanes; anything for 0."""
    part = int32(lane_number() & (3 if warps <= 16 else 7))  # lanes beyond do the same work again
    first = int32(part * 4)
    total = take_total(words, first, like)
    if count > first + 1:
        total = combine(op, total, take_total(words, first + 1, like))
    last = take_total(words, first + 2, like)
    if count > first + 3:
        last = combine(op, last, take_total(words, first + 3, like))
    if count > first + 2:
        total = combine(op, total, last)
    if is_commutative(op):
        total = total if count > first else identity_or_own(op, like)
    for k in range(3):
        if warps > 4 << k:
            other = shuffle_xor(FULL_MASK, total, 1 << k)
            if is_commutative(op):
                total = combine(op, total, other)
            else:
                upper = ((part >> k) & 1) != 0
                lower_total = other if upper else total
                higher = int32((part | (1 << k)) & ~((1 << k) - 1))  # the first of the upper lanes; none may be there
                total = combine(op, lower_total, total if upper else other) if count > 4 * higher else lower_total
    return total


@device_function()
def walk_totals(words, like, op, count):
    """Combine the first `count` totals in order, eight by eight; anything for 0."""
    total = fold_eight(take_eight(words, 0, like), count, op)
    first = int32(GROUP)
    while first < count:
        total = combine(op, total, fold_eight(take_eight(words, first, like), int32(count - first), op))
        first = int32(first + GROUP)
    return total


@device_function()
def fold_many(words, like, op, warps, count):
    """Combine the first `count` totals of more than eight warps; anything for 0."""
    if (block_size() & 31) == 0:
        return fold_lanes(words, like, op, warps, count)
    return walk_totals(words, like, op, count)


@device_function()
def fold_totals(words, like, op, warps, before, every):
    """Return (the totals of the first `before` warps combined, those of the first `every`), in order, in every thread.

    Called by: all threads, after the barrier behind `put_total`; `warps` stored a total, 0 ≤ before, every ≤ warps.
    For 0 warps the result is some value. `every` None: the second result is not computed.
    Ends with a barrier: the words may be used again.
    """
    if warps <= GROUP:
        eight = take_eight(words, 0, like)
        barrier()  # behind the reads and before the arithmetic
        prefix = fold_eight(eight, before, op)
        return prefix, (prefix if every is None else fold_eight(eight, every, op))
    prefix = fold_many(words, like, op, warps, before)
    total = prefix if every is None else fold_many(words, like, op, warps, every)
    barrier()
    return prefix, total


@device_function()
def whole_warps(threads):
    """Return whether the first `threads` threads are the whole block and fill its warps.

    The same for all threads; without a `num_valid` it depends on the launch alone, and the branch on it costs nothing.
    """
    return threads == block_size() and (threads & 31) == 0


@device_function()
def scan_lanes(value, op, members, count):
    """Scan `value` inclusively over the first `count` lanes of a warp; `members`, its existing lanes, call."""
    total = value
    for k in range(5):
        earlier, exists = shuffle_up(members, total, 1 << k)
        if exists and lane_number() < count:
            total = combine(op, earlier, total)
    return total


@device_function()
def put_reduction(words, value, op, threads):
    """Reduce `value` over each warp's part of the first `threads` threads and store the total."""
    if whole_warps(threads):
        total = reduce_members(value, op, FULL_MASK, 32)
        if lane_number() == 0:
            put_total(words, warp_number(), total)
    else:
        count = lanes_of(threads)
        total = scan_lanes(value, op, existing_lanes(), count)
        if lane_number() == int32(count - 1):
            put_total(words, warp_number(), total)
