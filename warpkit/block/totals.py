"""The generic core of the two-level collectives: one total a warp through shared memory, combined by every thread.

With few warps every thread reads all the totals it needs, a broadcast of neighbouring words, and combines them in
registers: no second shuffle tree and no further barrier to hand the result out. With many warps a warp scans the
totals by shuffles, one a lane; where the last warp is partial, and could not, all threads walk along the totals.
"""

from ..simt.bits import highest_bit
from ..simt.lanes import block_size, shuffle, shuffle_up
from ..simt.machine import device_function
from ..simt.memory import put, take, words_of
from ..simt.sync import barrier
from ..simt.types import combine
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .shape import int32, lane_number

SLOTS = 32  # one a warp
# Up to so many warps, at most 8, every thread reads all totals; with more they are scanned by shuffles.
READ_ALL_WARPS = 8


@device_function()
def first_word(warp, like):
    """Return where the total of a warp starts: whole powers of two of words a slot, so that wide reads are aligned."""
    return int32(warp << (highest_bit(words_of(like) - 1) + 1))


@device_function()
def put_total(words, warp, total):
    """Store the total of a warp."""
    put(words, first_word(warp, total), 1, total)


@device_function()
def take_total(words, warp, like):
    """Return the total of a warp."""
    return take(words, first_word(warp, like), 1, like)


@device_function()
def take_eight(words, like):
    """Return the totals of the first eight warps; where there are fewer, whatever is in memory."""
    return (
        take_total(words, 0, like),
        take_total(words, 1, like),
        take_total(words, 2, like),
        take_total(words, 3, like),
        take_total(words, 4, like),
        take_total(words, 5, like),
        take_total(words, 6, like),
        take_total(words, 7, like),
    )


@device_function()
def fold_eight(totals, count, op):
    """Combine the first `count` of eight totals in order; the first one for 0."""
    total = totals[0]
    if count > 1:
        total = combine(op, total, totals[1])
    if count > 2:
        total = combine(op, total, totals[2])
    if count > 3:
        total = combine(op, total, totals[3])
    if count > 4:
        total = combine(op, total, totals[4])
    if count > 5:
        total = combine(op, total, totals[5])
    if count > 6:
        total = combine(op, total, totals[6])
    if count > 7:
        total = combine(op, total, totals[7])
    return total


@device_function()
def walk_totals(words, like, count, op):
    """Combine the first `count` totals in order, one after the other; the first one for 0."""
    total = take_total(words, 0, like)
    warp = int32(1)
    while warp < count:
        total = combine(op, total, take_total(words, warp, like))
        warp = int32(warp + 1)
    return total


@device_function()
def scan_lanes(value, op, members, count):
    """Scan `value` inclusively over the first `count` lanes of a warp; `members` call: its first lanes, at least those."""
    total = value
    for k in range(5):
        earlier, exists = shuffle_up(members, total, 1 << k)
        if exists and lane_number() < count:
            total = combine(op, earlier, total)
    return total


@device_function()
def reduce_lanes(value, op, members, count):
    """Reduce `value` over the first `count` lanes; the last of them has the result. See `scan_lanes`."""
    if count == 32:
        return reduce_members(value, op, FULL_MASK, 32)
    return scan_lanes(value, op, members, count)


@device_function()
def fold_totals(words, like, op, warps, before, every):
    """Return (the totals of the first `before` warps combined, those of the first `every`), in order, in every thread.

    Called by: all threads, after the barrier behind `put_total`; `warps` have stored a total, 0 ≤ before, every ≤ warps.
    For 0 warps the result is some value. `every` None: the second result is not computed.
    Ends with a barrier, behind the reads and before the arithmetic: the words may be used again.
    """
    many = warps > READ_ALL_WARPS
    walk = many and (block_size() & 31) != 0
    mine = take_total(words, min(lane_number(), int32(warps - 1)), like) if many else like
    few = (mine, mine, mine, mine, mine, mine, mine, mine) if many else take_eight(words, like)
    prefix = walk_totals(words, like, before, op) if walk else mine
    total = prefix if every is None else walk_totals(words, like, every, op) if walk else mine
    barrier()
    if many and not walk:
        scanned = scan_lanes(mine, op, FULL_MASK, warps)
        prefix = shuffle(FULL_MASK, scanned, before - 1)
        total = prefix if every is None else shuffle(FULL_MASK, scanned, every - 1)
    if not many:
        prefix = fold_eight(few, before, op)
        total = prefix if every is None else fold_eight(few, every, op)
    return prefix, total
