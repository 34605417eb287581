"""Tiles between shared memory and arrays that threads read and write themselves, in 16 bytes where those line up."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..block.shape import int32
from ..simt.lanes import block_size, thread_index
from ..simt.machine import device_function
from ..simt.memory import is_aligned, load_vector, local_array, store_vector
from ..simt.types import as_index, hold
from .tiles import TileShape


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
