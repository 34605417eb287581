"""Reductions over runs of lanes, marked by their first or their last lane."""

from ..simt.bits import highest_bit, lowest_bit
from ..simt.kinds import Kind
from ..simt.lanes import as_mask, ballot, lanes_below
from ..simt.machine import device_function
from ..simt.ops import add
from ..simt.types import hold
from .chain import chain_reduce, log2
from .participants import check_lanes, check_operator, check_scalar_predicate, in_group, participants


def _check_segmented(name):
    def check(value: Kind, flag: Kind, op: Kind, mask: Kind, width: Kind) -> None:
        check_operator(name, value, op)
        check_scalar_predicate(name, flag)
        check_lanes(name, mask, width)

    return check


@device_function()
def segment_of(starts, group):
    """Return the lanes of `group` in this lane's segment, given the lanes that start one."""
    below = lanes_below()
    up_to_here = as_mask(below + below + 1)
    first = highest_bit(as_mask(starts & group & up_to_here))  # −1: the segment began with the group
    next_first = lowest_bit(as_mask(starts & group & ~up_to_here))  # −1: it ends with the group
    from_first = as_mask(~((1 << max(first, 0)) - 1))
    before_next = as_mask((1 << next_first) - 1 if next_first >= 0 else ~0)
    return as_mask(group & from_first & before_next)


@device_function(_check_segmented("warp_segmented_reduce"), constants=("width",))
def warp_segmented_reduce(value, head, op, mask=None, width=32):
    """Reduce `value` over each segment of participating lanes; a true `head` starts one, as does the first participant.

    Called by: the lanes of `mask`, all of them; without it any set of lanes, those that execute the call together.
    Args: value: any number, vector or tuple.  head: bool or an integer.  op: associative (earlier, later) -> combined.
    width: segments end with the logical warp, a compile-time power of two ≤ 32.
    Returns: the total of the caller's segment, type of `value`, the same bits in all its lanes.
    Storage: none.  Order: lane order; `op` need not be commutative.  Deterministic.
    Cost: 1 ballot, per 32-bit word log2(width) + 1 shuffles, and log2(width) − 1 for the pointers.
    Source: pointer doubling within a segment, see chain.py.
    Example: heads at lanes 0 and 3, lanes 0…4 hold 1, add -> 3 3 3 2 2.
    """
    members = participants(mask)
    segment = segment_of(ballot(members, head != 0), in_group(members, width))
    return chain_reduce(hold(value), op, members, segment, log2(width))


@device_function(_check_segmented("warp_tail_segmented_reduce"), constants=("width",))
def warp_tail_segmented_reduce(value, tail, op, mask=None, width=32):
    """Reduce `value` over each segment of participating lanes; a true `tail` ends one, as does the last participant.

    Called by: as `warp_segmented_reduce`, as are arguments and cost.
    Returns: the total of the caller's segment, type of `value`, the same bits in all its lanes.
    Example: tails at lanes 2 and 4, lanes 0…4 hold 1, add -> 3 3 3 2 2.
    """
    members = participants(mask)
    group = in_group(members, width)
    ends = as_mask(ballot(members, tail != 0) & group)
    return chain_reduce(hold(value), op, members, tail_segment_of(ends, group), log2(width))


@device_function()
def tail_segment_of(ends, group):
    """Return the lanes of `group` in this lane's segment, given the lanes that end one."""
    below = lanes_below()
    previous_end = highest_bit(as_mask(ends & below))  # −1: the segment began with the group
    end = lowest_bit(as_mask(ends & ~below))  # −1: it ends with the group
    after_previous = as_mask(~((1 << (previous_end + 1)) - 1))
    up_to_end = as_mask((2 << end) - 1 if end >= 0 else ~0)
    return as_mask(group & after_previous & up_to_end)


def _check_segmented_sum(value: Kind, head: Kind, mask: Kind, width: Kind) -> None:
    _check_segmented("warp_segmented_sum")(value, head, Kind("add", "function", function=add), mask, width)


@device_function(_check_segmented_sum, constants=("width",))
def warp_segmented_sum(value, head, mask=None, width=32):
    """Sum `value` over each segment of participating lanes; a true `head` starts one.

    See `warp_segmented_reduce` for callers and cost.
    Args: value: any integer, float or complex, vectors and flat tuples of them per component; not bool.
    Returns: the sum of the caller's segment, type of `value`, in all its lanes.
    """
    return warp_segmented_reduce(value, head, add, mask, width)
