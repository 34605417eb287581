"""Moving values between the lanes of a warp."""

from ..simt.bits import lowest_bit
from ..simt.kinds import Kind
from ..simt.lanes import lane_id, shuffle
from ..simt.machine import device_function
from ..simt.refusals import refuse
from ..simt.types import as_int64, cast_like, hold
from .participants import check_goes_into, check_lanes, check_movable, in_group, participants


def _check_move(name):
    def check(value: Kind, mask: Kind, width: Kind) -> None:
        check_movable(name, value)
        check_lanes(name, mask, width)

    return check


def _check_operand(name, operand):
    def check(value: Kind, lane: Kind, mask: Kind, width: Kind) -> None:
        _check_move(name)(value, mask, width)
        if not lane.is_integer:
            refuse(f"{name}: {operand} must be an integer, not {lane.name}.")

    return check


def _check_filled(name, operand):
    def check(value: Kind, delta: Kind, fill: Kind, mask: Kind, width: Kind) -> None:
        _check_operand(name, operand)(value, delta, mask, width)
        if fill.family != "none":
            check_goes_into(name, "fill", fill, value)

    return check


@device_function(_check_operand("warp_read_lane", "lane"), constants=("width",))
def warp_read_lane(value, lane, mask=None, width=32):
    """Return `value` of another lane.

    Called by: the lanes of `mask`, all of them; without it any set of lanes, those that execute the call together.
    Args: value: anything that moves: numbers, vectors, tuples (matrices as tuples of tuples), records of any size.
    lane: logical lane, taken modulo `width` in the caller's logical warp; may differ between lanes.
    Returns: the value; a lane that does not take part: an error in the simulator, undefined on a GPU.
    Storage: none.  Cost: one shuffle per 32-bit word.
    Example: width 8, lane = own lane + 4 -> lane 12 reads lane 8, lane 31 reads lane 27.
    """
    return shuffle(participants(mask), hold(value), lane_number(lane, width), width)


@device_function()
def lane_number(lane, width):
    """Return a logical lane, any integer, as the int32 lane modulo `width`."""
    return cast_like(lane_id(), lane & (width - 1))


@device_function(_check_move("warp_read_first_active_lane"), constants=("width",))
def warp_read_first_active_lane(value, mask=None, width=32):
    """Return `value` of the lowest participating lane of the caller's logical warp.

    Called by: as `warp_read_lane`.  Args: value: anything that moves.  Returns: the value.  Cost: as `warp_read_lane`.
    Example: lanes 5, 6, 9 call with their lane -> 5 in each of them.
    """
    members = participants(mask)
    return shuffle(members, hold(value), lowest_bit(in_group(members, width)))


@device_function()
def take(value, source, inside, fill, members):
    """Return `value` of lane `source` if that is `inside` the logical warp and takes part, else `fill` or own value."""
    lane = lane_id()
    there = inside and ((members >> source) & 1) != 0
    moved = shuffle(members, value, source if there else lane)
    if fill is None:
        return moved
    return moved if there else cast_like(value, fill)


@device_function()
def shifted(value, delta, fill, mask, width):
    """Return `value` of the lane `delta` above, as the public shuffles say."""
    members = participants(mask)
    lane = lane_id()
    position = (lane & (width - 1)) + delta  # 64-bit: any run-time delta means what it says
    inside = 0 <= position and position < width
    source = cast_like(lane, (lane & ~(width - 1)) + position if inside else lane)
    return take(hold(value), source, inside, fill, members)


@device_function(_check_filled("warp_shuffle_up", "delta"), constants=("width",))
def warp_shuffle_up(value, delta, fill=None, mask=None, width=32):
    """Return `value` of the lane `delta` below this one.

    Called by: the lanes of `mask`, all of them; without it any set of lanes, those that execute the call together.
    Args: value: anything that moves.  delta: any run-time integer, negative (reads above) and ≥ 32 included; may differ
    between lanes.  fill: what a lane gets whose source is outside its logical warp or absent; None: its own value.
    Returns: the value, type of `value`.
    Storage: none.  Cost: one shuffle per 32-bit word.
    Example: delta 1, fill −7 -> lane 0 gets −7, lane k the value of lane k − 1.
    """
    return shifted(value, -as_int64(delta), fill, mask, width)  # minus an unsigned number would be another one


@device_function(_check_filled("warp_shuffle_down", "delta"), constants=("width",))
def warp_shuffle_down(value, delta, fill=None, mask=None, width=32):
    """Return `value` of the lane `delta` above this one. See `warp_shuffle_up` for callers, arguments and cost.

    Returns: the value, type of `value`; `fill` or the own one without a source.
    Example: delta 1, fill −7 -> lane 31 gets −7, lane k the value of lane k + 1.
    """
    return shifted(value, as_int64(delta), fill, mask, width)


@device_function(_check_filled("warp_shuffle_xor", "lane_mask"), constants=("width",))
def warp_shuffle_xor(value, lane_mask, fill=None, mask=None, width=32):
    """Return `value` of the lane whose logical number is this lane's xor `lane_mask`.

    See `warp_shuffle_up` for callers, fill and cost.
    Args: lane_mask: any run-time integer; from `width` on (or negative) the source is outside the logical warp.
    Returns: the value, type of `value`; `fill` or the own one without a source.
    Example: lane_mask 1 -> neighbours swap.
    """
    members = participants(mask)
    lane = lane_id()
    inside = 0 <= lane_mask and lane_mask < width
    source = cast_like(lane, lane ^ lane_mask if inside else lane)
    return take(hold(value), source, inside, fill, members)


@device_function(_check_operand("warp_rotate", "delta"), constants=("width",))
def warp_rotate(value, delta, mask=None, width=32):
    """Return `value` of logical lane (this lane + `delta`) modulo `width`. See `warp_shuffle_up` for callers and cost.

    Args: delta: any run-time integer.  Returns: the value; the own one if that lane does not take part.
    Example: delta 1 -> lane 31 gets the value of lane 0.
    """
    lane = lane_id()
    source = cast_like(lane, (lane & ~(width - 1)) | ((lane + delta) & (width - 1)))
    return take(hold(value), source, True, None, participants(mask))
