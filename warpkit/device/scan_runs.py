"""The items of a scan in registers: each thread has a run of neighbouring ones, read and written in their place."""

from collections.abc import Callable
from typing import Any

from ..block.shape import int32
from ..simt.lanes import thread_index
from ..simt.machine import device_function
from ..simt.memory import is_aligned, load_vector, local_array, store_vector
from ..simt.types import as_index, cast_like, combine, hold, identity_or_own, is_commutative
from .scan_kernel import Scan
from .scan_tile import fold_all
from .tiles import TAKE

WIDEST = 16  # bytes of one access


@device_function()
def from_begin(position, length, num_items):
    """Return where a run of `length` items lies whose first one in the order of the scan has `position`."""
    return position


@device_function()
def from_end(position, length, num_items):
    """Return where a run of `length` items of a scan from the end lies."""
    return num_items - position - length


@device_function()
def same_place(j, size):
    """Return which of the items of a run in memory is number `j` of the scan."""
    return j


@device_function()
def other_place(j, size):
    """Return which of the items of a run in memory is number `j` of a scan from the end."""
    return size - 1 - j


def reading(
    scan: Scan, items: int, lowest: Callable[..., Any], turned: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return two functions that read items from `source` into `values`, in the order of the scan.

    The first, (values, source, position, num_items, like), reads a whole run; the second, with `held` before `like`,
    as much of it as there is, and gives the others the identity of `op`, if it is known.
    """
    op, take, item = scan.op, TAKE[scan.axes], scan.item
    width = min(WIDEST, items * item.itemsize) if scan.vectors_in else 0
    each = width // item.itemsize if width else items
    vectors = width >= 2

    def read_each(values, source, position, num_items, held, like):
        for j in range(items):
            values[j] = identity_or_own(op, like)
            if j < held:
                values[j] = cast_like(like, hold(take(source, lowest(position + j, 1, num_items))))

    if not vectors:

        def read_elements(values, source, position, num_items, like):
            read_each(values, source, position, num_items, items, like)

        return read_elements, read_each
    pieces = items // each

    def read_run(values, source, position, num_items, like):
        low = lowest(position, items, num_items)
        if is_aligned(source, low, width):
            run = local_array(items, item)
            for k in range(pieces):
                load_vector(run, k * each, source, low + k * each, width)
            for j in range(items):
                values[j] = cast_like(like, run[turned(j, items)])
        else:
            read_each(values, source, position, num_items, items, like)

    def read_some(values, source, position, num_items, held, like):
        if held == items:
            read_run(values, source, position, num_items, like)
        else:
            read_each(values, source, position, num_items, held, like)

    return read_run, read_some


def writing(scan: Scan, items: int, lowest: Callable[..., Any], turned: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function (values, target, position, num_items, held) that writes the first `held` results."""
    result = scan.result
    width = min(WIDEST, items * result.itemsize) if scan.vectors else 0
    each = width // result.itemsize if width else items
    vectors, pieces = width >= 2, items // each

    def write_each(values, target, position, num_items, held):
        mould = local_array(1, result)
        for j in range(items):
            if j < held:
                target[as_index(lowest(position + j, 1, num_items))] = cast_like(mould[0], values[j])

    if not vectors:
        return write_each

    def write_run(values, target, position, num_items, held):
        low = lowest(position, items, num_items)
        if held == items and is_aligned(target, low, width):
            run = local_array(items, result)
            for j in range(items):
                run[turned(j, items)] = cast_like(run[0], values[j])
            for k in range(pieces):
                store_vector(run, k * each, target, low + k * each, width)
        else:
            write_each(values, target, position, num_items, held)

    return write_run


@device_function()
def fold_held(values, held, op):
    """Combine the thread's items, of which there are `held`; anything for none. Those beyond are identities, if any."""
    if is_commutative(op):
        return fold_all(values, op)
    total = hold(values[0])
    for j in range(1, values.size):
        if j < held:
            total = combine(op, total, values[j])
    return total


@device_function()
def scan_held(values, held, op, seed, seeded, step):
    """Replace the thread's items, of which there are `held`, by their results."""
    run = seed
    for j in range(values.size):
        if is_commutative(op) or j < held:
            both = step(op, run, seeded or j > 0, hold(values[j]))
            run = both[0]
            values[j] = both[1]


def sweeping(
    items: int, loads: int, total: Any, op: Callable[..., Any], read: Callable[..., Any]
) -> Callable[..., Any]:
    """Return the function (source, tiles, tile_items, num_items, like) that combines what tiles hold for this thread.

    There is one tile at least. `loads`: how many of them are read before any is waited for.
    """

    in_flight = loads * items

    def sweep(source, tiles, tile_items, num_items, like):
        values = local_array(in_flight, total)
        some = local_array(items, total)
        first = int32(thread_index() * items)
        swept = identity_or_own(op, like)
        at = int32(0)
        while at < tiles:
            for k in range(loads):  # where nothing is left, the last one again: no read waits for a condition
                read(some, source, int32(first + min(at + k, tiles - 1) * tile_items), num_items, like)
                for j in range(items):
                    values[k * items + j] = some[j]
            for k in range(loads):
                part = hold(values[k * items])
                for j in range(1, items):
                    part = combine(op, part, values[k * items + j])
                swept = combine(op, swept, part) if at + k < tiles else swept
            at = int32(at + loads)
        return swept

    return sweep
