"""The generic core of the two-level collectives: one total a warp through shared memory, combined by every warp.

After the barrier each warp reads the totals again, four a lane in one broadcast of neighbouring words, folds them in
registers and combines the lanes by shuffles: none for up to 4 warps, one for 8, two for 16, three for 32. The result is
in every thread, with no further barrier to hand it out. Where the last warp is partial, and could not take part in a
shuffle of a whole warp, every thread goes through the totals one by one. Reductions of more than 8 warps end otherwise:
by one instruction of every warp where there is one for the operator, else in the first warp alone.

Whole warps and others are told apart once, at the top of each collective: its two ways share no branches.
"""

from ..simt.lanes import block_size, has_redux, redux, shuffle_down, shuffle_up, shuffle_xor, sync_warp, thread_index
from ..simt.machine import device_function
from ..simt.memory import put, result_scratch, take, words_of
from ..simt.sync import barrier
from ..simt.types import combine, identity_or_own, is_commutative
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .shape import int32, lane_number, log2_up, warp_number

SLOTS = 32  # one a warp


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
def take_four(words, warp, like):
    """Return the totals of four warps from `warp` on; where there are fewer, whatever is in memory."""
    return (
        take_total(words, warp, like),
        take_total(words, warp + 1, like),
        take_total(words, warp + 2, like),
        take_total(words, warp + 3, like),
    )


@device_function()
def fold_four(totals, count, op):
    """Combine the first `count` of four totals in order, as a tree; the first one for 0.

    A built-in operator is computed on what means nothing too, which is cheaper than branching around it.
    """
    total = totals[0]
    last = totals[2]
    if is_commutative(op):
        pair, other = combine(op, total, totals[1]), combine(op, last, totals[3])
        total = pair if count > 1 else total
        last = other if count > 3 else last
        both = combine(op, total, last)
        total = both if count > 2 else total
    else:
        if count > 1:
            total = combine(op, total, totals[1])
        if count > 3:
            last = combine(op, last, totals[3])
        if count > 2:
            total = combine(op, total, last)
    return total


@device_function()
def lane_part(warps):
    """Return which four totals this lane reads: as many lanes as it takes, the others do the same work again."""
    return part_of(lane_number(), warps)


@device_function()
def part_of(lane, warps):
    """Do `lane_part` for a lane."""
    return int32(lane & ((warps > 4) + 2 * (warps > 8) + 4 * (warps > 16)))


@device_function()
def join_lanes(total, part, op, count, k):
    """Combine the totals of lanes that differ in bit `k`, in order, in a full warp."""
    other = shuffle_xor(FULL_MASK, total, 1 << k)
    if is_commutative(op):
        return combine(op, total, other)
    upper = ((part >> k) & 1) != 0
    lower_total = other if upper else total
    upper_total = total if upper else other
    higher = int32((part | (1 << k)) & ~((1 << k) - 1))  # the first of the upper lanes; none may be there
    return combine(op, lower_total, upper_total) if count > 4 * higher else lower_total


@device_function()
def fold_lanes(four, part, like, op, warps, count):
    """Combine the first `count` of `warps` totals in order, in a full warp: the same in all lanes; anything for 0.

    `four` are the totals of this lane's `part`.
    """
    total = fold_four(four, int32(count - part * 4), op)
    if warps > 4:
        if is_commutative(op):
            total = total if count > part * 4 else identity_or_own(op, like)
        total = join_lanes(total, part, op, count, 0)
        if warps > 8:
            total = join_lanes(total, part, op, count, 1)
            if warps > 16:
                total = join_lanes(total, part, op, count, 2)
    return total


@device_function()
def walk_totals(words, first, op, count):
    """Combine the first `count` totals in order, one after the other; anything for 0. `first` is the first of them."""
    total = first
    warp = int32(1)
    while warp < count:
        total = combine(op, total, take_total(words, warp, first))
        warp = int32(warp + 1)
    return total


@device_function()
def fold_whole(words, like, op, warps, before, every):
    """Do what `fold_totals` says in a block of whole warps."""
    part = lane_part(warps)
    four = take_four(words, int32(4 * part), like)
    # Both ways are right for any number. The branch stands between the reads and the barrier because the assembler
    # else moves the first operation, which waits for the reads, in front of the barrier, which need not wait for them.
    if warps > 4:
        barrier()
        prefix = fold_lanes(four, part, like, op, warps, before)
        return prefix, (prefix if every is None else fold_lanes(four, part, like, op, warps, every))
    barrier()
    prefix = fold_four(four, before, op)
    return prefix, (prefix if every is None else fold_four(four, every, op))


@device_function()
def fold_at_once(words, like, op, warps):
    """Combine all totals in a block of whole warps by one instruction: every lane reads one of them."""
    total = take_total(words, lane_number(), like)
    barrier()
    sync_warp(FULL_MASK)  # no instruction; without it the assembler has every block pass here under a predicate
    return redux(op, FULL_MASK, total if lane_number() < warps else identity_or_own(op, like))


@device_function()
def fold_in_one_warp(words, like, op, warps):
    """Combine all totals in a block of whole warps: the first warp does, and hands the result to all.

    With many warps that takes less time than if each did: they would wait for one another's reads and shuffles.
    """
    result, slot = result_scratch(like), int32(thread_index() >> 10)  # 0; known before the barrier, as an address
    if warp_number() == 0:
        part = lane_part(warps)
        total = fold_lanes(take_four(words, int32(4 * part), like), part, like, op, warps, warps)
        if lane_number() == 0:
            put(result, slot, 1, total)
    barrier()
    return take(result, slot, 1, like)


@device_function()
def fold_all(words, like, op, warps):
    """Combine all totals in a block of whole warps, after the barrier behind `put_total`: in every thread.

    The words are free when it returns.
    """
    if warps <= 8:
        total = fold_whole(words, like, op, warps, warps, None)[0]
    elif has_redux(op, like):
        total = fold_at_once(words, like, op, warps)
    else:
        total = fold_in_one_warp(words, like, op, warps)
    return total


@device_function()
def fold_totals(words, like, op, warps, before, every):
    """Return (the totals of the first `before` warps combined, those of the first `every`), in order, in every thread.

    Called by: all threads, after the barrier behind `put_total`; `warps` stored a total, 0 ≤ before, every ≤ warps.
    For 0 warps the result is some value. `every` None: the second result is not computed.
    Ends with a barrier: the words may be used again.
    """
    if (block_size() & 31) == 0:
        return fold_whole(words, like, op, warps, before, every)
    first = take_total(words, int32(0), like)
    prefix = walk_totals(words, first, op, before)
    total = prefix if every is None else walk_totals(words, first, op, every)
    barrier()
    return prefix, total


@device_function()
def whole_warps(threads):
    """Return whether the first `threads` threads are the whole block and fill its warps.

    The same for all threads; without a `num_valid` it depends on the launch alone. A collective branches on it once: a
    call takes some hundred cycles, and every branch ten.
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
def to_first_lane(value, op):
    """Reduce `value` over a full warp, in lane order; lane 0 has the result, the others anything."""
    if is_commutative(op):
        return reduce_members(value, op, FULL_MASK, 32)
    total = value
    for k in range(5):
        later = shuffle_down(FULL_MASK, total, 1 << k)[0]
        total = combine(op, total, later)
    return total
