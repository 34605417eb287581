"""Sorting the values of a warp's lanes.

Bitonic sorting network (Batcher 1968) in the form whose comparators all put the smaller item into the lower rank, so
that ranks beyond the last participant may be left out: they would hold "larger than everything" and never move.
"""

from ..simt.bits import popcount
from ..simt.kinds import Kind
from ..simt.lanes import as_mask, lane_id, lanes_below, shuffle
from ..simt.machine import device_function
from ..simt.refusals import refuse
from ..simt.types import cast_like, hold, precedes
from .chain import log2
from .participants import FULL_MASK, check_lanes, check_movable, in_group, participants


def _check_key(name: str, key: Kind, mask: Kind, width: Kind) -> None:
    if key.family not in ("bool", "signed", "unsigned", "float"):
        refuse(f"{name}: {key.name} has no order to sort by; sort pairs by a number, the rest as the value.")
    check_lanes(name, mask, width)


def _check_sort(value: Kind, mask: Kind, width: Kind) -> None:
    _check_key("warp_sort", value, mask, width)


def _check_sort_pairs(key: Kind, value: Kind, mask: Kind, width: Kind) -> None:
    _check_key("warp_sort_pairs", key, mask, width)
    check_movable("warp_sort_pairs", value)


@device_function(_check_sort, constants=("width",))
def warp_sort(value, mask=None, width=32):
    """Sort `value` over the participating lanes of each logical warp, ascending: the lowest lane gets the smallest.

    Called by: the lanes of `mask`, all of them; without it any set of lanes, those that execute the call together.
    Args: value: bool, any integer or float; NaN sorts last.  width: lanes of a logical warp, a power of two.
    Returns: the sorted value of this lane's rank among the participants, type of `value`.
    Storage: none.  Order: ascending.  Deterministic.
    Cost: n(n + 1)/2 rounds for n = log2(width), one shuffle per 32-bit word of the key and one of its origin each.
    Source: Batcher 1968.     Example: lanes 0, 1, 6 call with 5, 2, 3 -> 2, 3, 5.
    """
    members = participants(mask)
    return sort_ranked(value, members, in_group(members, width), width)[0]


@device_function(_check_sort_pairs, constants=("width",))
def warp_sort_pairs(key, value, mask=None, width=32):
    """Sort (key, value) pairs by `key` over the participating lanes of each logical warp, ascending and stable.

    Called by: as `warp_sort`.  Cost: as `warp_sort`, and one shuffle per 32-bit word of the value.
    Args: key: bool, any integer or float; NaN sorts last.  value: anything that moves.
    Returns: (key, value) of this lane's rank; pairs with equal keys keep their order.
    Example: lanes 0, 1, 6 call with (5, a), (2, b), (2, c) -> (2, b), (2, c), (5, a).
    """
    members = participants(mask)
    sorted_key, origin = sort_ranked(key, members, in_group(members, width), width)
    return sorted_key, shuffle(members, hold(value), origin)


@device_function()
def sort_ranked(key, members, group, width):
    """Return (sorted key of this lane's rank in `group`, the lane that it comes from)."""
    rank = popcount(as_mask(group & lanes_below()))
    origin = lane_id()  # breaks ties: keys with their origin are all different, which makes the network stable
    rounds = log2(width)
    for comparator in range(rounds * (rounds + 1) // 2):  # one loop of constant length: it unrolls
        block = block_of(comparator)
        step = comparator - block * (block + 1) // 2
        distance = (2 << block) - 1 if step == 0 else 1 << (block - step)
        key, origin = exchange(key, origin, members, group, rank, cast_like(rank, rank ^ distance))
    return key, origin


@device_function()
def block_of(comparator):
    """Return the number of the merge, 0…4, that a comparator of the network belongs to: merge k has k + 1 of them."""
    return (comparator >= 1) + (comparator >= 3) + (comparator >= 6) + (comparator >= 10)


@device_function()
def exchange(key, origin, members, group, rank, partner):
    """Compare with the lane of rank `partner`: the lower rank keeps the smaller item."""
    lane = lane_id()
    exists = partner < popcount(group)
    source = lane_of_rank(members, group, rank, partner) if exists else lane
    other_key = shuffle(members, key, source)
    other_origin = shuffle(members, origin, source)
    other_first = precedes(other_key, key) or (not precedes(key, other_key) and other_origin < origin)
    taken = exists and other_first == (rank < partner)
    return (other_key if taken else key), (other_origin if taken else origin)


@device_function()
def lane_of_rank(members, group, rank, partner):
    """Return the lane of `group` that has `partner` lanes of it below, int32; this lane has `rank`."""
    if members == FULL_MASK:
        return cast_like(rank, lane_id() - rank + partner)
    lane = cast_like(rank, 0)
    for k in range(5):  # the highest lane with at most that many lanes of the group below it
        higher = cast_like(rank, lane + (16 >> k))
        if popcount(as_mask(group & ((1 << higher) - 1))) <= partner:
            lane = higher
    return lane
