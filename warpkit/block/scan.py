"""Scans over the threads of a block, in order of their linear index."""

from ..simt.kinds import Kind
from ..simt.lanes import block_size, shuffle_up
from ..simt.machine import device_function
from ..simt.memory import scratch
from ..simt.ops import add
from ..simt.sync import barrier
from ..simt.types import cast_like, combine, hold, identity_like, is_commutative
from ..warp.chain import combine_if, steps
from ..warp.participants import FULL_MASK, check_builtin, check_init, check_operator
from .shape import existing_lanes, int32, lane_number, lanes_of, warp_number, warps_of
from .totals import SLOTS, fold_totals, fold_whole, put_total, scan_lanes, whole_warps


@device_function()
def scan_whole(value, op):
    """Return (inclusive scan, exclusive scan: not in the first lane) of a full warp."""
    # The last round and the shift by one lane read the same values: independent shuffles, one latency less.
    lane = lane_number()
    halves = steps(value, op, 4, 32, False)
    far = shuffle_up(FULL_MASK, halves, 16)[0]
    near = shuffle_up(FULL_MASK, halves, 1)[0]
    beyond = shuffle_up(FULL_MASK, halves, 17)[0]
    return combine_if(lane >= 16, op, far, halves), combine_if(lane >= 17, op, beyond, near)


@device_function()
def before_warp_whole(words, total, op, counted):
    """Do what `before_warp` says in a block of whole warps."""
    if lane_number() == 31:
        put_total(words, warp_number(), total)
    barrier()
    warps = int32(block_size() >> 5)
    return fold_whole(words, total, op, warps, warp_number(), None if counted is None else warps)


@device_function()
def before_warp(words, total, op, threads, counted):
    """Return (all warps before this one combined, all warps combined or, with `counted` None, anything).

    `total` is the inclusive scan of the warp's part of the first `threads` threads: the last of them has its total.
    """
    if lane_number() == int32(lanes_of(threads) - 1):
        put_total(words, warp_number(), total)
    barrier()
    warps = warps_of(threads)
    return fold_totals(words, total, op, warps, min(warp_number(), warps), None if counted is None else warps)


@device_function()
def inclusive_threads(value, op, threads, counted):
    """Return (inclusive scan of `value` over the first `threads` threads, total or, with `counted` None, anything)."""
    words = scratch(SLOTS, value)
    if whole_warps(threads):
        scan = steps(value, op, 5, 32, False)
        prefix, total = before_warp_whole(words, scan, op, counted)
        return combine_if(warp_number() > 0, op, prefix, scan), total
    scan = scan_lanes(value, op, existing_lanes(), lanes_of(threads))
    prefix, total = before_warp(words, scan, op, threads, counted)
    return combine_if(warp_number() > 0, op, prefix, scan), total


@device_function()
def join_exclusive(prefix, near, op, start, first):
    """Return a thread's exclusive scan from that of the warps before its own and that of the lanes before it."""
    exists = lane_number() > 0
    later = warp_number() > 0
    if start is None:
        if is_commutative(op):
            both = combine(op, prefix, near)
            result = both if later else near
            return result if exists else prefix if later else first
        if later:
            return combine(op, prefix, near) if exists else prefix
        return near if exists else first
    seed = combine(op, start, prefix) if later else start
    return combine(op, seed, near) if exists else seed


@device_function()
def exclusive_threads(value, op, start, first, threads, counted):
    """Return (exclusive scan of `value` over the first `threads` threads, total or, with `counted` None, anything).

    Every scan begins with `start`; None: with nothing, and the first thread gets `first`.
    """
    words = scratch(SLOTS, value)
    if whole_warps(threads):
        scan, near = scan_whole(value, op)
        prefix, total = before_warp_whole(words, scan, op, counted)
        return join_exclusive(prefix, near, op, start, first), total
    scan = scan_lanes(value, op, existing_lanes(), lanes_of(threads))
    near = shuffle_up(existing_lanes(), scan, 1)[0]
    prefix, total = before_warp(words, scan, op, threads, counted)
    return join_exclusive(prefix, near, op, start, first), total


def _check_inclusive(name):
    def check(value: Kind, op: Kind) -> None:
        check_operator(name, value, op)

    return check


def _check_exclusive(name):
    def check(value: Kind, op: Kind, init: Kind) -> None:
        check_operator(name, value, op)
        check_init(name, value, init)

    return check


def _check_sum(name):
    def check(value: Kind) -> None:
        check_builtin(name, value, add)

    return check


@device_function(_check_inclusive("block_inclusive_scan"))
def block_inclusive_scan(value, op):
    """Combine `value` of this thread and all earlier ones, by linear index.

    Called by: all threads of the block.
    Args: value: this thread's value; any number, vector or tuple.  op: associative (earlier, later) -> combined.
    Returns: the inclusive scan, type of `value`.
    Storage: 32 slots of shared memory, each the value's 32-bit words rounded up to a power of two, × 4 bytes (128 bytes
    for float32), one memory shared by all collectives of that size; free again when it returns.
    Order: linear thread index; `op` need not be commutative. Deterministic.
    Cost: 2 barriers; per 32-bit word of the value 5 shuffles, and up to 3 more, see `block_reduce`.
    Errors: Refused for a record and for a built-in `op` not defined on the type.
    Source: Kogge & Stone 1973 in the warps, then their totals.     Example: every thread holds 1, add -> index + 1.
    """
    scan, _ = inclusive_threads(hold(value), op, block_size(), None)
    return scan


@device_function(_check_inclusive("block_inclusive_scan_total"))
def block_inclusive_scan_total(value, op):
    """Return (inclusive scan, total of the block). See `block_inclusive_scan`.

    Returns: the scan of this thread and the total, the same in every thread.
    Cost: as `block_inclusive_scan`.
    """
    return inclusive_threads(hold(value), op, block_size(), True)


@device_function(_check_exclusive("block_exclusive_scan"))
def block_exclusive_scan(value, op, init):
    """Combine `init` and `value` of all earlier threads, by linear index. See `block_inclusive_scan`.

    Called by, storage, order: as `block_inclusive_scan`.
    Args: init: what the first thread gets and every other scan starts with; converted to the type of `value`.
    Returns: the exclusive scan, type of `value`.
    Cost: 2 barriers; per 32-bit word of the value 7 shuffles, 5 of them in a row, and up to 3 more.
    Example: every thread holds 1, add, init 10 -> index + 10.
    """
    value = hold(value)
    scan, _ = exclusive_threads(value, op, cast_like(value, init), value, block_size(), None)
    return scan


@device_function(_check_exclusive("block_exclusive_scan_total"))
def block_exclusive_scan_total(value, op, init):
    """Return (exclusive scan, total of the block without `init`). See `block_exclusive_scan`.

    Returns: the scan of this thread and the total, the same in every thread; `init` is in no total, in any form.
    Cost: as `block_exclusive_scan`.
    Example: 64 threads hold 1, add, init 10 -> (index + 10, 64).
    """
    value = hold(value)
    return exclusive_threads(value, op, cast_like(value, init), value, block_size(), True)


@device_function(_check_sum("block_inclusive_sum"))
def block_inclusive_sum(value):
    """Sum `value` of this thread and all earlier ones. See `block_inclusive_scan`.

    Args: value: any integer, float or complex, vectors and flat tuples of them per component; not bool.
    Returns: the inclusive sum, type of `value`.
    Example: every thread holds 2 -> 2 · index + 2.
    """
    return block_inclusive_scan(value, add)


@device_function(_check_sum("block_prefix_sum"))
def block_prefix_sum(value):
    """Sum `value` of all earlier threads (exclusive); 0 in the first. See `block_exclusive_scan`.

    Args: value: any integer, float or complex, vectors and flat tuples of them per component; not bool.
    Returns: the exclusive sum, type of `value`; 0 in the first thread.
    Example: every thread holds 2 -> 2 · index.
    """
    value = hold(value)
    scan, _ = exclusive_threads(value, add, None, identity_like(add, value), block_size(), None)
    return scan


@device_function(_check_sum("block_prefix_sum_total"))
def block_prefix_sum_total(value):
    """Return (sum of all earlier threads, sum of all). See `block_prefix_sum`, `block_exclusive_scan_total`.

    Returns: (exclusive sum of this thread, total), the total the same in every thread.
    Example: 100 threads hold 2 -> (2 · index, 200).
    """
    value = hold(value)
    return exclusive_threads(value, add, None, identity_like(add, value), block_size(), True)
