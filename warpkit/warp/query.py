"""Who am I in my warp, and who is here."""

from ..simt.bits import lowest_bit
from ..simt.kinds import Kind
from ..simt.lanes import as_mask, lane_id, lanes_below, thread_index
from ..simt.machine import device_function
from ..simt.refusals import refuse
from ..simt.types import cast_like
from .participants import check_mask, participants


@device_function()
def warp_lane_count():
    """Return how many lanes a warp has.

    Called by: any thread.  Returns: int32 32, in the last, partial warp of a block too.
    """
    return cast_like(lane_id(), 32)


@device_function()
def warp_lane_id():
    """Return this thread's lane: its linear index in the block (x fastest) modulo 32.

    Called by: any thread.  Returns: int32 0…31.  Cost: one special register.
    Example: block (8, 8): thread (3, 4) -> 3.
    """
    return lane_id()


@device_function()
def warp_id():
    """Return the number of this thread's warp in its block: its linear index (x fastest) divided by 32.

    Called by: any thread.  Returns: int32.     Example: block (8, 8): thread (3, 4) -> 1.
    """
    return cast_like(lane_id(), thread_index() >> 5)


@device_function()
def warp_active_mask():
    """Return the lanes that execute this call together.

    Called by: any set of lanes.
    Returns: uint32, bit k for lane k.
    Order: what the hardware decides. In branches and after an early return it is what one expects; in a loop with a
    different trip count per lane the compiler may have split lanes that a reader thinks together: pass explicit masks.
    Cost: one instruction.
    """
    return participants(None)


@device_function()
def warp_lane_mask_lt():
    """Return the mask of the lanes lower than this one.

    Called by: any thread.  Returns: uint32, bit k for lane k.     Example: lane 3 -> 0b0111.
    """
    return lanes_below()


@device_function()
def warp_lane_mask_le():
    """Return the mask of this lane and those lower.

    Called by: any thread.  Returns: uint32, bit k for lane k.     Example: lane 3 -> 0b1111.
    """
    return as_mask(lanes_below() * 2 + 1)


@device_function()
def warp_lane_mask_eq():
    """Return the mask of this lane alone.

    Called by: any thread.  Returns: uint32, bit k for lane k.     Example: lane 3 -> 0b1000.
    """
    return as_mask(lanes_below() + 1)


@device_function()
def warp_lane_mask_ge():
    """Return the mask of this lane and those higher.

    Called by: any thread.  Returns: uint32, bit k for lane k.     Example: lane 3 -> 0xFFFFFFF8.
    """
    return as_mask(~lanes_below())


@device_function()
def warp_lane_mask_gt():
    """Return the mask of the lanes higher than this one.

    Called by: any thread.  Returns: uint32, bit k for lane k.     Example: lane 3 -> 0xFFFFFFF0.
    """
    return as_mask(~(lanes_below() * 2 + 1))


def _check_mask(name):
    def check(mask: Kind) -> None:
        check_mask(name, mask)

    return check


@device_function(_check_mask("warp_first_active_lane"))
def warp_first_active_lane(mask=None):
    """Return the lowest participating lane.

    Called by: the lanes of `mask`; without it any set of lanes, those that execute the call together.
    Returns: int32, the same in all of them.
    Storage: none.  Cost: two instructions.     Example: lanes 5, 6, 9 call -> 5.
    """
    return lowest_bit(participants(mask))


@device_function(_check_mask("warp_is_first_active_lane"))
def warp_is_first_active_lane(mask=None):
    """Return whether this is the lowest participating lane. See `warp_first_active_lane` for callers.

    Returns: bool, True in exactly one participant.     Example: lanes 5, 6, 9 call -> True in lane 5.
    """
    return lowest_bit(participants(mask)) == lane_id()


@device_function(_check_mask("warp_elect"))
def warp_elect(mask=None):
    """Return True in exactly one participating lane: elect a lane for work that is to be done once.

    Called by: as `warp_first_active_lane`.  Returns: bool; which lane it is, is not promised.
    """
    return warp_is_first_active_lane(mask)


def _check_warp_size(n: Kind) -> None:
    if n.constant != 32:
        given = n.constant if n.constant is not None else f"a run-time {n.name}"
        refuse(
            f"set_warp_size: a CUDA warp has 32 lanes, not {given}; pass width= to the collectives for logical warps."
        )


@device_function(_check_warp_size, constants=("n",))
def set_warp_size(n):
    """Accept 32, the size of a CUDA warp.

    Called by: any thread.  Args: n: a compile-time integer.  Returns: nothing.  Cost: none.
    Errors: Refused for any other size, pointing to the `width=` of the collectives.
    """


def compute_warp_size(device: object = None) -> int:
    """Return the warp size of `device` (any CUDA device, or the simulator): 32. Host code."""
    return 32
