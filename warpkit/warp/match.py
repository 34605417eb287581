"""Lanes with equal values, and collectives among them."""

from ..simt.bits import lowest_bit
from ..simt.kinds import Kind
from ..simt.lanes import all_among, match_any, shuffle
from ..simt.machine import device_function
from ..simt.ops import add
from ..simt.types import equal_bits, hold, identity_like
from .chain import chain_exclusive, chain_reduce, log2
from .participants import check_builtin, check_lanes, check_movable, check_operator, in_group, participants


def _check_match(name):
    def check(value: Kind, mask: Kind, width: Kind) -> None:
        check_movable(name, value)
        check_lanes(name, mask, width)

    return check


@device_function(_check_match("warp_match_any"), constants=("width",))
def warp_match_any(value, mask=None, width=32):
    """Return the participating lanes whose `value` has the same bits as this lane's.

    Called by: the lanes of `mask`, all of them; without it any set of lanes, those that execute the call together.
    Args: value: anything that moves; bits are compared (NaN matches the same NaN, −0.0 does not match +0.0).
    Returns: uint32, bit k for (physical) lane k, of the caller's logical warp only; its own bit is set.
    Storage: none.  Cost: one match per 32-bit word.
    Example: value = lane % 2 -> 0x55555555 in even lanes, 0xAAAAAAAA in odd ones.
    """
    return in_group(match_any(participants(mask), hold(value)), width)


@device_function(_check_match("warp_match_all"), constants=("width",))
def warp_match_all(value, mask=None, width=32):
    """Return whether `value` has the same bits in all participating lanes of the logical warp.

    Called by: as `warp_match_any`.  Args: value: anything that moves; bits are compared.
    Returns: bool, the same in all of them.  Cost: one shuffle per 32-bit word, one ballot.
    """
    members = participants(mask)
    group = in_group(members, width)
    value = hold(value)
    return all_among(members, group, equal_bits(value, shuffle(members, value, lowest_bit(group))))


def _check_prefix(value: Kind, key: Kind, mask: Kind, width: Kind) -> None:
    check_builtin("warp_multi_prefix_sum", value, add)
    _check_match("warp_multi_prefix_sum")(key, mask, width)


@device_function(_check_prefix, constants=("width",))
def warp_multi_prefix_sum(value, key, mask=None, width=32):
    """Sum `value` of the earlier participating lanes that have the same `key` (exclusive); 0 in the first of each key.

    Called by: as `warp_match_any`.
    Args: value: any integer, float or complex, vectors, flat tuples of them.  key: anything that moves; bits compared.
    Returns: type of `value`.
    Storage: none.  Order: lane order.  Deterministic.
    Cost: one match per 32-bit word of the key; per word of the value log2(width) + 1 shuffles, and log2(width) − 1 for
    the pointers.
    Example: keys a b a a, values 1 2 3 4 -> 0 0 1 4.
    """
    members = participants(mask)
    alike = in_group(match_any(members, hold(key)), width)
    prefix, exists = chain_exclusive(value, add, members, alike, log2(width), False)
    return prefix if exists else identity_like(add, value)


def _check_multi_reduce(value: Kind, key: Kind, op: Kind, mask: Kind, width: Kind) -> None:
    check_operator("warp_multi_reduce", value, op)
    _check_match("warp_multi_reduce")(key, mask, width)


@device_function(_check_multi_reduce, constants=("width",))
def warp_multi_reduce(value, key, op, mask=None, width=32):
    """Reduce `value` over the participating lanes that have the same `key`, in lane order.

    Called by: as `warp_match_any`.  Cost: as `warp_multi_prefix_sum`.
    Args: value: any number, vector or tuple.  key: anything that moves.  op: associative (earlier, later) -> combined.
    Returns: the total of the caller's key, type of `value`, the same bits in all its lanes.
    Example: keys a b a a, values 1 2 3 4, add -> 8 2 8 8.
    """
    members = participants(mask)
    alike = in_group(match_any(members, hold(key)), width)
    return chain_reduce(hold(value), op, members, alike, log2(width))
