"""What a block does with one tile of a scan: its threads hold neighbouring items, in blocked arrangement.

Upsweep: every thread combines its items, the block scans the threads' totals. Downsweep: every thread combines what
comes before it with its items one by one. So an item costs two applications of the operator, in order, whatever the
operator; from shared memory there are no bank conflicts where a thread holds an odd number of items.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..block.scan import exclusive_threads
from ..block.shape import between, int32
from ..simt.lanes import block_size, thread_index
from ..simt.machine import device_function
from ..simt.memory import is_aligned, load_vector, local_array, store_vector
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


def fetching(shape: TileShape, dtype: np.dtype[Any], vectors: bool, take: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function (slot, source, base, valid) that reads `source[base:]` into a slot, for the block at once.

    vectors: the source is contiguous and 16 bytes hold whole items: a thread has all its reads of so much in flight
    where they are aligned.  take: (source, i) -> an item.
    """
    threads = shape.threads

    def fetch_each(slot, source, base, begin, valid):
        i = int32(begin + thread_index())
        while i < valid:
            slot[as_index(i)] = hold(take(source, base + i))
            i = int32(i + threads)

    def fetch_elements(slot, source, base, valid):
        fetch_each(slot, source, base, int32(0), valid)

    if not vectors:
        return fetch_elements
    length = 16 // dtype.itemsize
    stride = threads * length
    reads = -(-shape.tile_items // stride)
    held = reads * length

    def fetch_vectors(slot, source, base, valid):
        pieces = local_array(held, dtype)
        done = int32(0)
        if is_aligned(source, base, 16):
            done = int32(valid & -length)
        if done > 0:
            i = int32(thread_index() * length)
            for k in range(reads):  # where nothing is left, the last one again: no read waits for a condition
                load_vector(pieces, k * length, source, base + min(i + k * stride, done - length), 16)
            for k in range(reads):
                if i + k * stride < done:
                    store_vector(pieces, k * length, slot, i + k * stride, 16)
        fetch_each(slot, source, base, done, valid)

    return fetch_vectors


@device_function()
def store_each(slot, target, base, begin, valid):
    """Copy the items from `begin` up to `valid` of a slot to `target[base:]`, one a thread."""
    i = int32(begin + thread_index())
    while i < valid:
        target[as_index(base + i)] = hold(slot[as_index(i)])
        i = int32(i + block_size())


@device_function()
def store_elements(slot, target, base, valid):
    """Copy the first `valid` items of a slot to `target[base:]`, of any layout and item size."""
    store_each(slot, target, base, int32(0), valid)


def storing(vectors: bool, dtype: np.dtype[Any], shape: TileShape) -> Callable[..., Any]:
    """Return the function (slot, target, base, valid) that copies the first items of a slot to `target[base:]`.

    vectors: the target is contiguous and 16 bytes hold whole items: a thread writes so much where it is aligned, of a
    whole tile from registers.
    """
    if not vectors:
        return store_elements
    length, tile_items = 16 // dtype.itemsize, shape.tile_items
    stride = shape.threads * length
    writes = -(-tile_items // stride)
    held = writes * length

    def store_whole(slot, target, base):
        pieces, first = local_array(held, dtype), int32(thread_index() * length)
        for k in range(writes):
            if (k + 1) * stride <= tile_items or first + k * stride < tile_items:
                load_vector(pieces, k * length, slot, first + k * stride, 16)
        for k in range(writes):
            if (k + 1) * stride <= tile_items or first + k * stride < tile_items:
                store_vector(pieces, k * length, target, base + (first + k * stride), 16)

    def store_vectors(slot, target, base, valid):
        done = int32(0)
        if is_aligned(target, base, 16):
            if valid == tile_items:
                store_whole(slot, target, base)
                done = int32(valid)
            else:
                piece, i = local_array(length, dtype), int32(thread_index() * length)
                done = int32(valid & -length)
                while i < done:
                    load_vector(piece, 0, slot, i, 16)
                    store_vector(piece, 0, target, base + i, 16)
                    i = int32(i + stride)
        store_each(slot, target, base, done, valid)

    return store_vectors
