"""Reductions over the active lanes of a warp: every participant gets the result."""

from ..simt.kinds import Kind
from ..simt.lanes import as_mask, lane_id
from ..simt.machine import device_function
from ..simt.ops import add, bit_and, bit_or, bit_xor, maximum, minimum, mul
from ..simt.refusals import refuse
from ..simt.types import as_int64, hold
from .chain import chain_reduce, log2, reduce_members
from .participants import check_lanes, check_named, check_operator, in_group, participants


def _check_reduce(value: Kind, op: Kind, mask: Kind, width: Kind) -> None:
    check_operator("warp_reduce", value, op)
    check_lanes("warp_reduce", mask, width)


@device_function(_check_reduce, constants=("width",))
def warp_reduce(value, op, mask=None, width=32):
    """Reduce `value` over the participating lanes, in lane order.

    Called by: the lanes of `mask`, all of them; without it any set of lanes, those that execute the call together.
    Args: value: this lane's value; any number, vector or tuple.  op: associative (earlier, later) -> combined.
    width: lanes of a logical warp, a compile-time power of two ≤ 32; each logical warp reduces on its own.
    Returns: the reduction, type of `value`, the same bits in every participant.
    Storage: none.
    Order: lane order; `op` need not be commutative. Deterministic.
    Cost: per 32-bit word of the value, log2(width) shuffles with a full mask; otherwise log2(width) + 1 and
    log2(width) − 1 for the pointers (10 for 32 lanes). One redux instead, with any mask, for integers of at most
    32 bits (add, minimum, maximum, bit operators) and floats of at most 32 (minimum, maximum), width 32, sm_80+.
    Errors: Refused for a record, a width that is not a constant, a built-in `op` not defined on the type.
    Source: Hillis & Steele 1986.     Example: lanes 0…31 hold 0…31, add -> 496 in every lane.
    """
    return reduce_members(hold(value), op, participants(mask), width)


@device_function(check_named("warp_active_sum", add), constants=("width",))
def warp_active_sum(value, mask=None, width=32):
    """Sum `value` over the participating lanes; integers wrap. See `warp_reduce` for callers, masks and cost.

    Args: value: any integer, float or complex, vectors and flat tuples of them per component; not bool.
    Returns: the sum, type of `value`, in every participant.
    Example: lanes 0, 1, 6 call with 2, 3, 5 -> 10 in each of them.
    """
    return warp_reduce(value, add, mask, width)


@device_function(check_named("warp_active_product", mul), constants=("width",))
def warp_active_product(value, mask=None, width=32):
    """Multiply `value` over the participating lanes; integers wrap. See `warp_reduce` for callers, masks and cost.

    Args: value: any number, vectors and flat tuples of them per component.
    Returns: the product, type of `value`, in every participant.
    Example: lanes 0, 1, 6 call with 2, 3, 5 -> 30 in each of them.
    """
    return warp_reduce(value, mul, mask, width)


@device_function(check_named("warp_active_min", minimum), constants=("width",))
def warp_active_min(value, mask=None, width=32):
    """Return the smallest `value` of the participating lanes. See `warp_reduce` for callers, masks and cost.

    Args: value: bool, any integer or float, vectors and flat tuples of them per component; not complex.
    Returns: the minimum, type of `value`, in every participant; NaN if any is NaN; −0.0 is below +0.0.
    Example: lanes 0, 1, 6 call with 2, 3, 5 -> 2 in each of them.
    """
    return warp_reduce(value, minimum, mask, width)


@device_function(check_named("warp_active_max", maximum), constants=("width",))
def warp_active_max(value, mask=None, width=32):
    """Return the largest `value` of the participating lanes. See `warp_reduce` for callers, masks and cost.

    Args: value: bool, any integer or float, vectors and flat tuples of them per component; not complex.
    Returns: the maximum, type of `value`, in every participant; NaN if any is NaN; −0.0 is below +0.0.
    Example: lanes 0, 1, 6 call with 2, 3, 5 -> 5 in each of them.
    """
    return warp_reduce(value, maximum, mask, width)


@device_function(check_named("warp_active_bit_and", bit_and), constants=("width",))
def warp_active_bit_and(value, mask=None, width=32):
    """Return the bits that are set in `value` of every participating lane. See `warp_reduce` for callers and cost.

    Args: value: bool or any integer, vectors and flat tuples of them per component.
    Returns: the conjunction, type of `value`, in every participant.
    Example: lanes 0, 1, 6 call with 2, 3, 5 -> 0 in each of them.
    """
    return warp_reduce(value, bit_and, mask, width)


@device_function(check_named("warp_active_bit_or", bit_or), constants=("width",))
def warp_active_bit_or(value, mask=None, width=32):
    """Return the bits that are set in `value` of some participating lane. See `warp_reduce` for callers and cost.

    Args: value: bool or any integer, vectors and flat tuples of them per component.
    Returns: the disjunction, type of `value`, in every participant.
    Example: lanes 0, 1, 6 call with 2, 3, 5 -> 7 in each of them.
    """
    return warp_reduce(value, bit_or, mask, width)


@device_function(check_named("warp_active_bit_xor", bit_xor), constants=("width",))
def warp_active_bit_xor(value, mask=None, width=32):
    """Return the bits that are set in `value` of an odd number of participating lanes.

    See `warp_reduce` for callers and cost.
    Args: value: bool or any integer, vectors and flat tuples of them per component.
    Returns: the exclusive disjunction, type of `value`, in every participant.
    Example: lanes 0, 1, 6 call with 2, 3, 5 -> 4 in each of them.
    """
    return warp_reduce(value, bit_xor, mask, width)


def _check_reduce_valid(value: Kind, op: Kind, num_valid: Kind, mask: Kind, width: Kind) -> None:
    check_operator("warp_reduce_valid", value, op)
    check_lanes("warp_reduce_valid", mask, width)
    if not num_valid.is_integer:
        refuse(f"warp_reduce_valid: num_valid must be an integer, not {num_valid.name}.")


@device_function(_check_reduce_valid, constants=("width",))
def warp_reduce_valid(value, op, num_valid, mask=None, width=32):
    """Reduce `value` over the first `num_valid` lanes of each logical warp, in lane order.

    Called by: as `warp_reduce`; the ignored lanes call too.
    Args: num_valid: how many lanes of the logical warp count, the same in all of them; more than `width` means all.
    Returns: the reduction over those participants, in every participant, ignored ones included; with none (0 or less)
    the caller's own value.
    Storage: none.  Order: lane order.  Deterministic.
    Cost: per 32-bit word 6 shuffles, and 4 for the pointers, for 32 lanes.
    Example: value = lane, add, num_valid = 20 -> 190 in every lane.
    """
    members = participants(mask)
    group = in_group(members, width)
    valid = as_mask(group & first_lanes(width, min(max(as_int64(num_valid), 0), width)))
    return chain_reduce(hold(value), op, members, valid, log2(width))


@device_function()
def first_lanes(width, count):
    """Return the mask of the first `count` lanes, 0 ≤ count ≤ width, of this lane's group of `width` lanes."""
    first = lane_id() & ~(width - 1)
    return as_mask(((1 << count) - 1) << first)
