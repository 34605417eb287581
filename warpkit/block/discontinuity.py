"""Where one item of a block differs from its neighbour, in blocked arrangement."""

import numpy as np

from ..simt.kinds import Kind
from ..simt.lanes import as_mask
from ..simt.machine import device_function
from ..simt.refusals import refuse
from ..simt.types import hold
from ..warp.participants import check_movable
from .items import item_kind
from .neighbours import from_next, from_previous


def check_pairs(name: str, items: Kind, op: Kind) -> None:
    """Refuse items that do not move and an operator that is none."""
    check_movable(name, item_kind(name, items))
    if op.family != "function":
        refuse(f"{name}: op must be a function of two items, not {op.name}.")


def _check(name):
    def check(items: Kind, op: Kind, flags: Kind) -> None:
        check_pairs(name, items, op)
        if flags.family not in ("none", "array"):
            refuse(f"{name}: flags must be a local_array, or None, not {flags.name}.")

    return check


@device_function()
def set_flag(flags, i, flag):
    """Store a flag where there is room for it."""
    if flags is not None:
        flags[i] = flag


@device_function(_check("block_discontinuity_heads"))
def block_discontinuity_heads(items, op, flags=None):
    """Flag the items of the block that differ from the one before them, in blocked arrangement.

    Called by: all threads of the block, each with as many items.
    Args: items: the thread's local array of N items, of which thread t holds those from t·N on; anything that moves.
    op: (item before, item) -> whether the item begins something new, such as operator.ne.
    flags: a local array of N, in which flag i becomes 1 or 0; None: only the mask.
    Returns: uint32, bit i for item i (items from 32 on have a flag only). The block's first item is always a head.
    Storage: as `block_reduce` of one item.  Cost: 2 barriers; a shuffle a 32-bit word of an item.
    Example: 2 threads with items 1, 1 and 2, 2, operator.ne -> 0b01 and 0b01.
    """
    last = hold(items[items.size - 1])
    before, exists = from_previous(last)
    mask = np.uint32(0)
    for i in range(items.size):
        item = hold(items[i])
        head = op(before, item) != 0 if exists else True
        set_flag(flags, i, head)
        mask = as_mask(mask | (head << i)) if i < 32 else mask
        before = item
        exists = True
    return mask


@device_function(_check("block_discontinuity_tails"))
def block_discontinuity_tails(items, op, flags=None):
    """Flag the items of the block that differ from the one behind them. See `block_discontinuity_heads`.

    Args: op: (item, item behind) -> whether the item ends something.
    Returns: uint32, bit i for item i. The block's last item is always a tail.
    Example: 2 threads with items 1, 1 and 2, 2, operator.ne -> 0b10 and 0b10.
    """
    behind, exists = from_next(hold(items[0]))
    mask = np.uint32(0)
    for k in range(items.size):
        i = items.size - 1 - k
        item = hold(items[i])
        tail = op(item, behind) != 0 if exists else True
        set_flag(flags, i, tail)
        mask = as_mask(mask | (tail << i)) if i < 32 else mask
        behind = item
        exists = True
    return mask
