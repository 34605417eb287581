"""Differences of neighbouring items of a block, in blocked arrangement."""

from ..simt.kinds import Kind
from ..simt.machine import device_function
from ..simt.types import cast_like, hold
from .discontinuity import check_pairs
from .neighbours import from_previous


def _check(items: Kind, op: Kind) -> None:
    check_pairs("block_adjacent_difference", items, op)


@device_function(_check)
def block_adjacent_difference(items, op):
    """Replace every item but the block's first by op(item, item before), in blocked arrangement, in place.

    Called by: all threads of the block, each with as many items.
    Args: items: the thread's local array of N items, of which thread t holds those from t·N on; any number, vector or
    tuple.  op: a function of (item, item before), in this order as in CUB, so that operator.sub means what numpy.diff
    does; a vector comes whole. Its result is converted to the type of an item.
    Returns: nothing; the block's first item keeps its value.
    Storage: as `block_reduce` of one item.  Cost: 2 barriers; a shuffle a 32-bit word of an item.
    Example: 2 threads with items 1, 4 and 9, 16, operator.sub -> 1, 3 and 5, 7.
    """
    before, exists = from_previous(hold(items[items.size - 1]))
    for i in range(items.size):
        item = hold(items[i])
        if exists:
            items[i] = cast_like(item, op(item, before))
        before = item
        exists = True
