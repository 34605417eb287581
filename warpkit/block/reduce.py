"""Reductions over the threads of a block: every thread gets the result."""

from ..simt.kinds import Kind
from ..simt.lanes import block_size
from ..simt.machine import device_function
from ..simt.memory import scratch
from ..simt.ops import add, maximum, minimum, mul
from ..simt.sync import barrier
from ..simt.types import hold, identity_like
from ..warp.participants import check_builtin, check_operator
from .shape import check_count, existing_lanes, int32, lane_number, lanes_of, valid_threads, warp_number, warps_of
from .totals import SLOTS, fold_all, fold_totals, put_total, scan_lanes, to_first_lane, whole_warps


@device_function()
def reduce_whole(words, value, op):
    """Reduce `value` over a block of whole warps."""
    total = to_first_lane(value, op)
    if lane_number() == 0:
        put_total(words, warp_number(), total)
    barrier()
    return fold_all(words, value, op, int32(block_size() >> 5))


@device_function()
def reduce_first(words, value, op, threads):
    """Reduce `value` over the first `threads` threads of the block; anything for 0."""
    count = lanes_of(threads)
    total = scan_lanes(value, op, existing_lanes(), count)
    if lane_number() == int32(count - 1):
        put_total(words, warp_number(), total)
    barrier()
    warps = warps_of(threads)
    return fold_totals(words, value, op, warps, warps, None)[0]


@device_function()
def reduce_threads(value, op, num_valid, empty):
    """Reduce `value` over the first `num_valid` threads of the block, None for all; `empty` for none."""
    words = scratch(SLOTS, value)
    threads = valid_threads(num_valid)
    if not whole_warps(threads):  # the compiler puts the other way in line
        total = reduce_first(words, value, op, threads)
        if num_valid is not None:
            total = total if threads > 0 else empty
    else:
        total = reduce_whole(words, value, op)
    return total


def _check_reduce(value: Kind, op: Kind, num_valid: Kind) -> None:
    check_operator("block_reduce", value, op)
    check_count("block_reduce", num_valid)


@device_function(_check_reduce)
def block_reduce(value, op, num_valid=None):
    """Reduce `value` over the threads of the block, in order of their linear index.

    Called by: all threads of the block.
    Args: value: this thread's value; any number, vector or tuple.  op: associative (earlier, later) -> combined.
    num_valid: how many threads contribute, the first ones by linear index, the same in all threads; None or more than
    there are: all.
    Returns: the reduction, type of `value`, the same bits in every thread; the caller's own value for num_valid 0.
    Storage: 32 slots of shared memory, each the value's 32-bit words rounded up to a power of two, × 4 bytes (128 bytes
    for float32), one memory shared by all collectives of that size; free again when it returns. One slot more, apart
    from these, for what takes no redux.
    Order: linear thread index; `op` need not be commutative. Deterministic.
    Cost: 2 barriers; a warp's `warp_reduce`, then per 32-bit word no shuffle for up to 4 warps, 1 for 8; with more
    a second redux, or 2 shuffles for 16 and 3 for 32 in the first warp, which hands out the result.
    Errors: Refused for a record and for a built-in `op` not defined on the type.
    Source: two levels, warps then their totals.     Example: 100 threads hold their index, add -> 4950 in every thread.
    """
    value = hold(value)
    return reduce_threads(value, op, num_valid, value)


def _check_named(name, op):
    def check(value: Kind, num_valid: Kind) -> None:
        check_builtin(name, value, op)
        check_count(name, num_valid)

    return check


@device_function()
def reduce_named(value, op, num_valid):
    """Reduce by a built-in operator; its identity for `num_valid` 0."""
    value = hold(value)
    return reduce_threads(value, op, num_valid, identity_like(op, value))


@device_function(_check_named("block_sum", add))
def block_sum(value, num_valid=None):
    """Sum `value` over the threads of the block; integers wrap. See `block_reduce` for callers, storage and cost.

    Args: value: any integer, float or complex, vectors and flat tuples of them per component; not bool.
    Returns: the sum, type of `value`, in every thread; 0 for num_valid 0.
    Example: 100 threads hold their index -> 4950 in every thread.
    """
    return reduce_named(value, add, num_valid)


@device_function(_check_named("block_product", mul))
def block_product(value, num_valid=None):
    """Multiply `value` over the threads of the block; integers wrap. See `block_reduce` for callers, storage and cost.

    Args: value: any number, vectors and flat tuples of them per component.
    Returns: the product, type of `value`, in every thread; 1 for num_valid 0.
    """
    return reduce_named(value, mul, num_valid)


@device_function(_check_named("block_min", minimum))
def block_min(value, num_valid=None):
    """Return the smallest `value` of the threads of the block. See `block_reduce` for callers, storage and cost.

    Args: value: bool, any integer or float, vectors and flat tuples of them per component; not complex.
    Returns: the minimum, type of `value`, in every thread; NaN if any is NaN; −0.0 is below +0.0. For num_valid 0 the
    largest value of the type (floats: inf).
    """
    return reduce_named(value, minimum, num_valid)


@device_function(_check_named("block_max", maximum))
def block_max(value, num_valid=None):
    """Return the largest `value` of the threads of the block. See `block_reduce` for callers, storage and cost.

    Args: value: bool, any integer or float, vectors and flat tuples of them per component; not complex.
    Returns: the maximum, type of `value`, in every thread; NaN if any is NaN; −0.0 is below +0.0. For num_valid 0 the
    smallest value of the type (floats: −inf).
    """
    return reduce_named(value, maximum, num_valid)
