"""Scans over the active lanes of a warp, in lane order or against it."""

from ..simt.bits import popcount
from ..simt.kinds import Kind
from ..simt.lanes import as_mask, ballot, lanes_below
from ..simt.machine import device_function
from ..simt.ops import add, maximum, minimum, mul
from ..simt.types import cast_like, combine, hold, identity_like
from .chain import exclusive_members, inclusive_members
from .participants import (
    check_init,
    check_lanes,
    check_named,
    check_operator,
    check_scalar_predicate,
    in_group,
    participants,
)


def _check_inclusive(value: Kind, op: Kind, reverse: Kind, mask: Kind, width: Kind) -> None:
    check_operator("warp_inclusive_scan", value, op)
    check_lanes("warp_inclusive_scan", mask, width)


@device_function(_check_inclusive, constants=("width",))
def warp_inclusive_scan(value, op, reverse=False, mask=None, width=32):
    """Combine `value` of this and all earlier participating lanes.

    Called by: the lanes of `mask`, all of them; without it any set of lanes, those that execute the call together.
    Args: value: this lane's value; any number, vector or tuple.  op: associative (earlier, later) -> combined.
    reverse: scan from the last lane down, so that "earlier" is the higher lane (the scan of the reversed lanes,
    reversed).  width: lanes of a logical warp, a compile-time power of two ≤ 32; each logical warp scans on its own.
    Returns: the inclusive scan, type of `value`.
    Storage: none.
    Order: lane order; `op` need not be commutative. Deterministic.
    Cost: per 32-bit word of the value log2(width) shuffles with a full mask, with any other mask as many again less one
    for the pointers.
    Errors: Refused for a record, a width that is not a constant, a built-in `op` not defined on the type.
    Source: Kogge & Stone 1973; Hillis & Steele 1986.     Example: lanes 0…31 hold 1, add -> lane + 1.
    """
    return inclusive_members(hold(value), op, participants(mask), width, reverse)


def _check_exclusive(value: Kind, op: Kind, init: Kind, reverse: Kind, mask: Kind, width: Kind) -> None:
    check_operator("warp_exclusive_scan", value, op)
    check_lanes("warp_exclusive_scan", mask, width)
    check_init("warp_exclusive_scan", value, init)


@device_function(_check_exclusive, constants=("width",))
def warp_exclusive_scan(value, op, init, reverse=False, mask=None, width=32):
    """Combine `init` and `value` of all earlier participating lanes.

    Called by: as `warp_inclusive_scan`.
    Args: init: what the first participant gets and every other scan starts with; converted to the type of `value`.
    Returns: the exclusive scan, type of `value`.
    Storage: none.  Order: lane order; `op` need not be commutative.  Deterministic.
    Cost: per 32-bit word of the value log2(width) + 1 shuffles with a full mask, log2(width) of them in a row.
    Example: lanes 0…31 hold 1, add, init 10 -> lane + 10.
    """
    value = hold(value)
    prefix, exists = exclusive_members(value, op, participants(mask), width, reverse)
    start = cast_like(value, init)
    return combine(op, start, prefix) if exists else start


@device_function()
def prefix_from_identity(value, op, mask, width):
    """Return the exclusive scan by a built-in operator; its identity in the first participant."""
    value = hold(value)
    prefix, exists = exclusive_members(value, op, participants(mask), width, False)
    return prefix if exists else identity_like(op, value)


@device_function(check_named("warp_prefix_sum", add), constants=("width",))
def warp_prefix_sum(value, mask=None, width=32):
    """Sum `value` of all earlier participating lanes (exclusive). See `warp_exclusive_scan` for callers and cost.

    Args: value: any integer, float or complex, vectors and flat tuples of them per component; not bool.
    Returns: the sum, type of `value`; 0 in the first participant.
    Example: lanes 0, 1, 6 call with 2, 3, 5 -> 0, 2, 5.
    """
    return prefix_from_identity(value, add, mask, width)


@device_function(check_named("warp_prefix_product", mul), constants=("width",))
def warp_prefix_product(value, mask=None, width=32):
    """Multiply `value` of all earlier participating lanes (exclusive). See `warp_exclusive_scan` for callers and cost.

    Args: value: any number, vectors and flat tuples of them per component.
    Returns: the product, type of `value`; 1 in the first participant.
    Example: lanes 0, 1, 6 call with 2, 3, 5 -> 1, 2, 6.
    """
    return prefix_from_identity(value, mul, mask, width)


@device_function(check_named("warp_prefix_min", minimum), constants=("width",))
def warp_prefix_min(value, mask=None, width=32):
    """Return the smallest `value` of all earlier participating lanes. See `warp_exclusive_scan` for callers and cost.

    Args: value: bool, any integer or float, vectors and flat tuples of them per component; not complex.
    Returns: NaN if any is NaN; in the first participant the largest value of the type (floats: inf).
    """
    return prefix_from_identity(value, minimum, mask, width)


@device_function(check_named("warp_prefix_max", maximum), constants=("width",))
def warp_prefix_max(value, mask=None, width=32):
    """Return the largest `value` of all earlier participating lanes. See `warp_exclusive_scan` for callers and cost.

    Args: value: bool, any integer or float, vectors and flat tuples of them per component; not complex.
    Returns: NaN if any is NaN; in the first participant the smallest value of the type (floats: −inf).
    """
    return prefix_from_identity(value, maximum, mask, width)


@device_function(check_named("warp_inclusive_sum", add), constants=("width",))
def warp_inclusive_sum(value, mask=None, width=32):
    """Sum `value` of this and all earlier participating lanes. See `warp_inclusive_scan` for callers and cost.

    Args: value: any integer, float or complex, vectors and flat tuples of them per component; not bool.
    Returns: the sum, type of `value`.
    Example: lanes 0, 1, 6 call with 2, 3, 5 -> 2, 5, 10.
    """
    return warp_inclusive_scan(value, add, False, mask, width)


@device_function(check_named("warp_inclusive_product", mul), constants=("width",))
def warp_inclusive_product(value, mask=None, width=32):
    """Multiply `value` of this and all earlier participating lanes. See `warp_inclusive_scan` for callers and cost.

    Args: value: any number, vectors and flat tuples of them per component.
    Returns: the product, type of `value`.
    Example: lanes 0, 1, 6 call with 2, 3, 5 -> 2, 6, 30.
    """
    return warp_inclusive_scan(value, mul, False, mask, width)


@device_function(check_named("warp_inclusive_min", minimum), constants=("width",))
def warp_inclusive_min(value, mask=None, width=32):
    """Return the smallest `value` of this and all earlier participating lanes.

    See `warp_inclusive_scan` for callers and cost.
    Args: value: bool, any integer or float, vectors and flat tuples of them per component; not complex.
    Returns: the minimum, type of `value`; NaN if any is NaN; −0.0 is below +0.0.
    Example: lanes 0, 1, 6 call with 3, 2, 5 -> 3, 2, 2.
    """
    return warp_inclusive_scan(value, minimum, False, mask, width)


@device_function(check_named("warp_inclusive_max", maximum), constants=("width",))
def warp_inclusive_max(value, mask=None, width=32):
    """Return the largest `value` of this and all earlier participating lanes.

    See `warp_inclusive_scan` for callers and cost.
    Args: value: bool, any integer or float, vectors and flat tuples of them per component; not complex.
    Returns: the maximum, type of `value`; NaN if any is NaN; −0.0 is below +0.0.
    Example: lanes 0, 1, 6 call with 3, 2, 5 -> 3, 3, 5.
    """
    return warp_inclusive_scan(value, maximum, False, mask, width)


def _check_prefix_count(pred: Kind, mask: Kind, width: Kind) -> None:
    check_scalar_predicate("warp_prefix_count_bits", pred)
    check_lanes("warp_prefix_count_bits", mask, width)


@device_function(_check_prefix_count, constants=("width",))
def warp_prefix_count_bits(pred, mask=None, width=32):
    """Count the earlier participating lanes whose `pred` is true.

    Called by: the lanes of `mask`, all of them; without it any set of lanes, those that execute the call together.
    Args: pred: bool or an integer, non-zero is true.
    Returns: int32; 0 in the first participant.
    Storage: none.  Cost: 1 ballot.
    Example: lanes 0, 1, 6 call with True -> 0, 1, 2.
    """
    members = participants(mask)
    true = ballot(members, pred != 0)
    return popcount(as_mask(in_group(true, width) & lanes_below()))
