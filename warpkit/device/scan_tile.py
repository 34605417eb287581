"""What a block does with one tile of a scan: its threads hold neighbouring items, in blocked arrangement.

Upsweep: every thread combines its items, the block scans the threads' totals. Downsweep: every thread combines what
comes before it with its items one by one. So an item costs two applications of the operator, in order, whatever the
operator; from shared memory there are no bank conflicts where a thread holds an odd number of items.
"""

from collections.abc import Callable
from typing import Any

from ..block.scan import exclusive_threads
from ..block.shape import between, int32
from ..simt.lanes import thread_index
from ..simt.machine import device_function
from ..simt.memory import local_array
from ..simt.types import as_index, cast_like, combine, hold
from .tiles import TileShape


@device_function()
def own_count(valid, size):
    """Return how many of the tile's `valid` items this thread holds, int32: it has room for `size`."""
    return between(valid - thread_index() * size, 0, size)


@device_function()
def threads_holding(valid, size):
    """Return how many threads hold some of the tile's items, int32."""
    return int32((valid + (size - 1)) // size)


@device_function()
def item_at(slot, position, valid, place, like):
    """Return the item at a position of the scan, in the type of `like`."""
    return cast_like(like, hold(slot[as_index(place(position, valid))]))


@device_function()
def take_all(values, slot, valid, place, like):
    """Read the thread's items from a slot, in the order of the scan."""
    first = int32(thread_index() * values.size)
    for j in range(values.size):
        values[j] = item_at(slot, int32(first + j), valid, place, like)


@device_function()
def fold_all(values, op):
    """Combine the thread's items."""
    total = hold(values[0])
    for j in range(1, values.size):
        total = combine(op, total, values[j])
    return total


@device_function()
def fold_some(slot, count, size, valid, place, like, op):
    """Combine the thread's first `count` items; anything for none."""
    first = int32(thread_index() * size)
    total = like
    j = int32(0)
    while j < count:
        item = item_at(slot, int32(first + j), valid, place, like)
        total = combine(op, total, item) if j > 0 else item
        j = int32(j + 1)
    return total


def upsweeping(shape: TileShape, total: Any, place: Callable[..., Any], op: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function (slot, valid, like) -> (what earlier threads hold, what the tile adds up to).

    The first part means nothing in the first thread.
    """
    items, tile_items, threads = shape.items, shape.tile_items, shape.threads

    def upsweep(slot, valid, like):
        values = local_array(items, total)
        own, holding = like, int32(threads)
        if valid == tile_items:  # the same for the block: a whole tile takes no arithmetic on its size
            take_all(values, slot, tile_items, place, like)
            own = fold_all(values, op)
        else:
            own = fold_some(slot, own_count(valid, items), items, valid, place, like, op)
            holding = threads_holding(valid, items)
        return exclusive_threads(own, op, None, own, holding, True)

    return upsweep


@device_function()
def seed_of(before, own, op, has_before):
    """Return (what comes before this thread's items, whether anything does), given what comes before the tile."""
    seed = own
    if has_before:
        seed = before
        if thread_index() > 0:
            seed = combine(op, before, own)
    return seed, has_before or thread_index() > 0


@device_function()
def inclusive_step(op, run, seeded, item):
    """Return (what is combined so far, the result at this item), given what was before, if anything."""
    if seeded:
        item = combine(op, run, item)
    return item, item


@device_function()
def exclusive_step(op, run, seeded, item):
    """Return (what is combined so far, the result at this item), given what was before: something always was."""
    return combine(op, run, item), run


@device_function()
def downsweep_all(values, op, seed, seeded, step):
    """Replace the thread's items by their results."""
    run = seed
    for j in range(values.size):
        both = step(op, run, seeded or j > 0, hold(values[j]))
        run = both[0]
        values[j] = both[1]


@device_function()
def downsweep_some(slot, results, count, size, valid, place, mould, op, seed, seeded, step):
    """Write the results of the thread's first `count` items."""
    first = int32(thread_index() * size)
    run = seed
    j = int32(0)
    while j < count:
        both = step(op, run, seeded or j > 0, item_at(slot, int32(first + j), valid, place, seed))
        run = both[0]
        results[as_index(place(int32(first + j), valid))] = cast_like(mould[0], both[1])
        j = int32(j + 1)


@device_function()
def put_all(values, results, valid, place, mould):
    """Write the thread's results, in the type of `mould[0]`."""
    first = int32(thread_index() * values.size)
    for j in range(values.size):
        results[as_index(place(int32(first + j), valid))] = cast_like(mould[0], values[j])


def downsweeping(
    shape: TileShape, total: Any, result: Any, place: Callable[..., Any], op: Callable[..., Any], exclusive: bool
) -> Callable[..., Any]:
    """Return the function (slot, results, valid, seed, seeded) that writes the results of a thread's items.

    They may take the items' place.
    """
    items, tile_items, step = shape.items, shape.tile_items, exclusive_step if exclusive else inclusive_step

    def downsweep(slot, results, valid, seed, seeded):
        values, mould = local_array(items, total), local_array(1, result)
        if valid == tile_items:
            take_all(values, slot, tile_items, place, seed)
            downsweep_all(values, op, seed, seeded, step)
            put_all(values, results, tile_items, place, mould)
        else:
            held = own_count(valid, items)
            downsweep_some(slot, results, held, items, valid, place, mould, op, seed, seeded, step)

    return downsweep
