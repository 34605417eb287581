"""The kernel that transposes tiles: into shared memory along rows of one matrix, out of it along rows of the other."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..block.shape import int32
from ..simt.lanes import block_x, thread_x
from ..simt.machine import device_function
from ..simt.memory import load_vector, local_array, shared_array, store_vector
from ..simt.sync import barrier
from ..simt.types import as_index, hold
from .reduce_reading import divide
from .transpose_policy import LONGEST, TransposePolicy

WIDE, ACROSS, DOWN = "16 bytes along a row", "along a row", "along a column"  # what neighbouring threads access


@device_function()
def load_wide(tile, items, x, rows, columns, pitch, row, column, edge, step, threads, length, shift):
    """Bring the tile at (row, column) to shared memory, 16 bytes at once; `shift`: exponent of such reads of a row."""
    for k in range(items.size // length):
        number = thread_x() + k * threads
        r, c = row + (number >> shift), column + (number & ((1 << shift) - 1)) * length
        if r < rows and c < columns:
            load_vector(items, k * length, x, r * pitch + c, 16)
    for k in range(items.size // length):
        number = thread_x() + k * threads
        at = int32((number >> shift) * step + (number & ((1 << shift) - 1)) * length)
        for j in range(length):
            tile[as_index(at + j)] = items[k * length + j]


@device_function()
def store_wide(tile, items, out, rows, columns, pitch, row, column, edge, step, threads, length, shift):
    """Write the tile of `out` at (row, column), whose rows are columns in shared memory, 16 bytes at once."""
    for k in range(items.size // length):
        number = thread_x() + k * threads
        r, c = number >> shift, (number & ((1 << shift) - 1)) * length
        for j in range(length):
            items[k * length + j] = tile[as_index((c + j) * step + r)]
        if row + r < rows and column + c < columns:
            store_vector(items, k * length, out, (row + r) * pitch + column + c, 16)


def loading_each(across: bool) -> Callable[..., Any]:
    """Return the function that brings a tile item by item, neighbouring threads along a row or along a column."""

    def load_each(tile, items, x, rows, columns, pitch, row, column, edge, step, threads, length, shift):
        for k in range(edge * edge // threads):
            number = thread_x() + k * threads
            high, low = number >> shift, number & (edge - 1)
            r, c = (high, low) if across else (low, high)
            if row + r < rows and column + c < columns:
                tile[as_index(r * step + c)] = hold(x[as_index(row + r), as_index(column + c)])

    return load_each


def storing_each(across: bool) -> Callable[..., Any]:
    """Return the function that writes a tile item by item."""

    def store_each(tile, items, out, rows, columns, pitch, row, column, edge, step, threads, length, shift):
        for k in range(edge * edge // threads):
            number = thread_x() + k * threads
            high, low = number >> shift, number & (edge - 1)
            r, c = (high, low) if across else (low, high)
            if row + r < rows and column + c < columns:
                out[as_index(row + r), as_index(column + c)] = hold(tile[as_index(c * step + r)])

    return store_each


LOADS: dict[str, Callable[..., Any]] = {WIDE: load_wide, ACROSS: loading_each(True), DOWN: loading_each(False)}
STORES: dict[str, Callable[..., Any]] = {WIDE: store_wide, ACROSS: storing_each(True), DOWN: storing_each(False)}


def transpose_kernel(item: np.dtype[Any], load_way: str, store_way: str, policy: TransposePolicy) -> Callable[..., Any]:
    """Return the kernel that moves items of dtype `item`.

    Called by: a flat grid of one block of `policy.threads` threads for each tile of `x`.
    Args: x: the matrix, as one axis where the way is WIDE.  out: likewise.  numbers: (rows, columns, tiles of a row,
    items from row to row of `x`, of `out`; 1 / tiles of a row).
    """
    size, threads, edge = item.itemsize, policy.threads, policy.edge_for(item.itemsize)
    step = edge + max(4 // size, 1)  # rows begin in different banks
    length = max(LONGEST // size, 1)
    each, vectors = edge.bit_length() - 1, (edge // length).bit_length() - 1
    load_shift, store_shift = (vectors if way == WIDE else each for way in (load_way, store_way))
    load, store = LOADS[load_way], STORES[store_way]
    held = edge * edge // threads if WIDE in (load_way, store_way) else 1
    register = item.type if not item.names else np.uint8
    room = edge * step

    def transpose_tiles(x, out, numbers):
        tile, items = shared_array(room, item), local_array(held, register)
        rows, columns, across = numbers[0], numbers[1], numbers[2]
        tile_row = divide(block_x(), across, numbers[5])
        row, column = tile_row * edge, (block_x() - tile_row * across) * edge
        load(tile, items, x, rows, columns, numbers[3], row, column, edge, step, threads, length, load_shift)
        barrier()
        store(tile, items, out, columns, rows, numbers[4], column, row, edge, step, threads, length, store_shift)

    return transpose_tiles
