"""Reductions and scans of several items a thread, in blocked arrangement: thread t holds items t·N … t·N + N − 1."""

from ..simt.kinds import Kind
from ..simt.lanes import block_size, thread_index
from ..simt.machine import device_function
from ..simt.refusals import refuse
from ..simt.types import as_int64, cast_like, combine, hold
from ..warp.participants import check_init, check_operator
from .reduce import reduce_threads
from .scan import exclusive_threads
from .shape import check_count, int32, valid_threads


@device_function()
def threads_with_items(items, num_valid):
    """Return how many threads hold some of the block's first `num_valid` items, None for all."""
    if num_valid is None:
        return block_size()
    size = items.size  # a constant once this is inlined: the division becomes a multiplication
    return valid_threads((min(max(as_int64(num_valid), 0), block_size() * size) + size - 1) // size)


@device_function()
def own_valid(items, num_valid):
    """Return how many of the thread's items, its first ones, are among the block's first `num_valid`, int32."""
    if num_valid is None:
        return int32(items.size)
    before = thread_index() * items.size
    return int32(min(max(as_int64(num_valid) - before, 0), items.size))


@device_function()
def fold_items(items, op, count):
    """Combine the thread's first `count` items in order; the first one for 0."""
    total = hold(items[0])
    for i in range(1, items.size):
        if i < count:
            total = combine(op, total, items[i])
    return total


def item_kind(name: str, items: Kind) -> Kind:
    """Return the kind of an item, or refuse what is no array of them."""
    if items.ndim != 1 or not items.parts:
        refuse(f"{name}: items must be the thread's one-dimensional local_array, not {items.name}.")
    return items.parts[0]


def _check_reduce(items: Kind, op: Kind, num_valid: Kind) -> None:
    check_operator("block_reduce_items", item_kind("block_reduce_items", items), op)
    check_count("block_reduce_items", num_valid)


@device_function(_check_reduce)
def block_reduce_items(items, op, num_valid=None):
    """Reduce the items of all threads of the block, in blocked arrangement.

    Called by: all threads of the block, each with as many items.
    Args: items: the thread's local array of N items, of which thread t holds those from t·N on; any number, vector or
    tuple; not changed.  op: associative (earlier, later) -> combined.  num_valid: how many items of the block
    contribute, the first ones, the same in all threads; None or more than there are: all.
    Returns: the reduction, type of an item, the same bits in every thread; for num_valid 0 the thread's own first item.
    Storage: as `block_reduce` of one item.  Order: item order.  Deterministic.
    Cost: 2 barriers; N − 1 operations, then as `block_reduce` of one item.
    Errors: Refused for records and for a built-in `op` not defined on the type.
    Example: 100 threads hold the 400 numbers 0…399, add -> 79800 in every thread.
    """
    own = fold_items(items, op, own_valid(items, num_valid))
    if num_valid is None:
        return reduce_threads(own, op, None, own)
    return reduce_threads(own, op, threads_with_items(items, num_valid), own)


@device_function()
def scan_own(items, op, count):
    """Replace the thread's first `count` items by their inclusive scan; return the last of them, the first for 0."""
    total = hold(items[0])
    for i in range(1, items.size):
        if i < count:
            total = combine(op, total, items[i])
            items[i] = total
    return total


@device_function()
def total_or_own(total, own, num_valid):
    """Return the block's total; the thread's own value where no item is valid."""
    if num_valid is None:
        return total
    return total if as_int64(num_valid) > 0 else own


def _check_inclusive(items: Kind, op: Kind, num_valid: Kind) -> None:
    check_operator("block_inclusive_scan_items", item_kind("block_inclusive_scan_items", items), op)
    check_count("block_inclusive_scan_items", num_valid)


@device_function(_check_inclusive)
def block_inclusive_scan_items(items, op, num_valid=None):
    """Replace every item by the combination of itself and all earlier ones of the block, in blocked arrangement.

    Called by, args: as `block_reduce_items`; `items` is scanned in place, those from `num_valid` on keep their values.
    Returns: the block's total, type of an item, the same in every thread; for num_valid 0 the thread's own first item.
    Storage: as `block_reduce` of one item.  Order: item order; `op` need not be commutative.  Deterministic.
    Cost: 2 barriers; 2·N − 1 operations, N of them independent, and as `block_exclusive_scan_total` of one item.
    Errors: Refused for records and for a built-in `op` not defined on the type.
    Example: 100 threads hold 400 ones, add -> item k becomes k + 1; returns 400.
    """
    count = own_valid(items, num_valid)
    own = scan_own(items, op, count)
    prefix, total = exclusive_threads(own, op, None, own, threads_with_items(items, num_valid), True)
    if thread_index() > 0:
        for i in range(items.size):
            if i < count:
                items[i] = combine(op, prefix, items[i])
    return total_or_own(total, own, num_valid)


def _check_exclusive(items: Kind, op: Kind, init: Kind, num_valid: Kind) -> None:
    item = item_kind("block_exclusive_scan_items", items)
    check_operator("block_exclusive_scan_items", item, op)
    check_init("block_exclusive_scan_items", item, init)
    check_count("block_exclusive_scan_items", num_valid)


@device_function(_check_exclusive)
def block_exclusive_scan_items(items, op, init, num_valid=None):
    """Replace every item by the combination of `init` and all earlier ones of the block, in blocked arrangement.

    Called by, args, storage, order, errors: as `block_inclusive_scan_items`.
    Args: init: what the first item becomes and every other scan starts with; converted to the type of an item.
    Returns: the block's total without `init`, the same in every thread; for num_valid 0 the thread's own first item.
    Cost: 2 barriers; 2·N − 1 operations and as `block_exclusive_scan_total` of one item.
    Example: 100 threads hold 400 ones, add, init 10 -> item k becomes k + 10; returns 400.
    """
    count = own_valid(items, num_valid)
    own = scan_own(items, op, count)
    threads = threads_with_items(items, num_valid)
    seed, total = exclusive_threads(own, op, cast_like(own, init), own, threads, True)
    for k in range(1, items.size):
        i = items.size - k  # downwards: each item takes over the scan of the one before it
        if i < count:
            items[i] = combine(op, seed, items[i - 1])
    if count > 0:
        items[0] = seed
    return total_or_own(total, own, num_valid)
