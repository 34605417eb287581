"""Votes of the active lanes of a warp."""

from ..simt.bits import lowest_bit, popcount
from ..simt.kinds import Kind
from ..simt.lanes import all_among, ballot, shuffle
from ..simt.machine import device_function
from ..simt.refusals import refuse
from ..simt.types import equal
from .participants import check_lanes, check_movable, check_scalar_predicate, in_group, participants


def _check_vote(name):
    def check(pred: Kind, mask: Kind, width: Kind) -> None:
        check_scalar_predicate(name, pred)
        check_lanes(name, mask, width)

    return check


@device_function(_check_vote("warp_active_bit_mask"), constants=("width",))
def warp_active_bit_mask(pred, mask=None, width=32):
    """Return which participating lanes have a true `pred`.

    Called by: the lanes of `mask`, all of them; without it any set of lanes, those that execute the call together.
    Args: pred: bool or an integer, non-zero is true.  width: lanes of a logical warp, a compile-time power of two ≤ 32.
    Returns: uint32, bit k for (physical) lane k, of the lanes of the caller's logical warp only.
    Storage: none.  Cost: 1 ballot.
    Example: lanes 0, 1, 6 call with lane > 0 -> 0x42 in each of them.
    """
    return in_group(ballot(participants(mask), pred != 0), width)


@device_function(_check_vote("warp_active_count_bits"), constants=("width",))
def warp_active_count_bits(pred, mask=None, width=32):
    """Count the participating lanes with a true `pred`. See `warp_active_bit_mask` for callers.

    Returns: int32.  Cost: 1 ballot.     Example: lanes 0, 1, 6 call with lane > 0 -> 2 in each of them.
    """
    return popcount(warp_active_bit_mask(pred, mask, width))


@device_function(_check_vote("warp_active_any"), constants=("width",))
def warp_active_any(pred, mask=None, width=32):
    """Return whether some participating lane has a true `pred`. See `warp_active_bit_mask` for callers.

    Returns: bool.  Cost: 1 ballot.     Example: lanes 0, 1, 6 call with lane > 1 -> True in each of them.
    """
    return warp_active_bit_mask(pred, mask, width) != 0


@device_function(_check_vote("warp_active_all"), constants=("width",))
def warp_active_all(pred, mask=None, width=32):
    """Return whether every participating lane has a true `pred`. See `warp_active_bit_mask` for callers.

    Returns: bool.  Cost: 1 ballot.     Example: lanes 0, 1, 6 call with lane > 1 -> False in each of them.
    """
    members = participants(mask)
    return all_among(members, in_group(members, width), pred != 0)


def _check_all_equal(value: Kind, mask: Kind, width: Kind) -> None:
    check_movable("warp_active_all_equal", value)
    if any(part.family == "record" for part in (value, *value.leaves)):
        refuse("warp_active_all_equal: records have no ==; pass a tuple of the fields, or use warp_match_all.")
    check_lanes("warp_active_all_equal", mask, width)


@device_function(_check_all_equal, constants=("width",))
def warp_active_all_equal(value, mask=None, width=32):
    """Return whether `value` is the same, by ==, in all participating lanes.

    Called by: as `warp_active_bit_mask`.
    Args: value: any number, vector or tuple.
    Returns: bool; for a vector or tuple a flat tuple with one bool per component. NaN equals nothing, not even itself.
    Storage: none.  Cost: one shuffle per 32-bit word and one ballot per component.
    Example: lanes 0, 1, 6 call with 42 -> True; with lane & 1 -> False.
    """
    members = participants(mask)
    group = in_group(members, width)
    return all_among(members, group, equal(value, shuffle(members, value, lowest_bit(group))))
