"""Tiles of an array: how many items there are, how a tile is copied into shared memory, in which direction it lies."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..block.lookback import LONG, end_launch
from ..block.lookback_ahead import end_prefix
from ..block.shape import int32
from ..block.staging import block_copy_async
from ..block.tiles import TileShape, start_draw, tiles_of, valid_of, whole_pieces
from ..simt.debug import note_draw
from ..simt.lanes import block_size, thread_index
from ..simt.machine import device_function
from ..simt.memory import dynamic_shared
from ..simt.staging import close_stage
from ..simt.states import address_of, block_notes, viewed
from ..simt.types import as_index, as_int64, hold
from .reduce_reading import element_1, element_2, element_3, element_4

__all__ = ["TileShape", "start_draw", "tiles_of", "valid_of", "whole_pieces"]  # what others take from here too

# ------------------------------------------------------------------ numbers


@device_function()
def count_given(count, source):
    """Return the number of items that the host has counted, int64."""
    return as_int64(count)


@device_function()
def count_on_device(count, source):
    """Return the number of items that stands in device memory, at most as many as the array has, int64."""
    return min(max(as_int64(count[0]), 0), source.size)


@device_function()
def count_within(count, source):
    """Do what `count_on_device` does for a source of several axes: see `loading`."""
    return count_on_device(count, source[0])


@device_function()
def end_draw(states, drawn, num_tiles, draws):
    """Return the tile that a drawn number means, int32, −1 for none; `draws`: how many numbers the launch draws."""
    number = drawn & 0xFFFFFFFF
    if number == draws - 1:
        end_launch(states, viewed(states, LONG), drawn, num_tiles)
    return int32(number if number < num_tiles else -1)


@device_function()
def first_draw(states, num_tiles, draws):
    """Draw a number at once, and note for the look-back what it says about the launch; called by thread 0."""
    drawn = start_draw(states)
    note_draw(states)
    notes = block_notes()
    notes[0] = address_of(states)
    notes[1] = drawn + 1
    notes[2] = 0
    return end_draw(states, drawn, num_tiles, draws)


@device_function()
def prefix_after_init(states, begun, tile, total, op, init):
    """Return `init` combined with what all tiles before `tile` add up to; see `end_prefix`."""
    return end_prefix(states, begun, tile, total, op, init)


@device_function()
def prefix_alone(states, begun, tile, total, op, init):
    """Return what all tiles before `tile` add up to, anything for the first one."""
    return end_prefix(states, begun, tile, total, op, None)


# ------------------------------------------------------------------ copies into shared memory


@device_function()
def load_by_copies(pipe, slot, source, base, num_items):
    """Begin to copy a tile into a slot: asynchronously, in the widest pieces that its alignment allows."""
    block_copy_async(pipe, slot, source, base, num_items)


@device_function()
def take_1(source, i):
    """Return item `i` of an array of one axis."""
    return element_1(source, i, None)


@device_function()
def take_2(source, i):
    """Return item `i` in C order of (an array of two axes, inverses of its extents)."""
    return element_2(source[0], i, source[1])


@device_function()
def take_3(source, i):
    """Return item `i` in C order of (an array of three axes, inverses of its extents)."""
    return element_3(source[0], i, source[1])


@device_function()
def take_4(source, i):
    """Return item `i` in C order of (an array of four axes, inverses of its extents)."""
    return element_4(source[0], i, source[1])


TAKE = {1: take_1, 2: take_2, 3: take_3, 4: take_4}  # by axes


def loading_by_elements(take: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that copies a tile of a strided array into a slot, one item after the other."""

    def load(pipe, slot, source, base, num_items):
        i = int32(thread_index())
        while i < num_items:
            slot[as_index(i)] = hold(take(source, base + i))
            i = int32(i + block_size())
        close_stage(pipe, False)

    return load


def loading(
    copied: bool, item: Any, tile_items: int, slot_step: int, offset: int = 0, lead: int = 0, axes: int = 1
) -> Callable[..., Any]:
    """Return the function that begins to load the `valid` items of a tile into a slot.

    In front of them lie `lead` items of the tile before it.

    copied: the array is contiguous and its items can be copied as they are.  item: their dtype.  Slots lie `slot_step`
    bytes apart, the items `offset` bytes behind the beginning of one.  axes: of several the source is a tuple (array,
    inverses), inverses[k] being the float64 nearest 1 / extent of axis k.
    """
    load = load_by_copies if copied else loading_by_elements(TAKE[axes])
    itemsize, room = np.dtype(item).itemsize, tile_items + lead

    def start(pipe, number, source, other, tile, valid):
        before = int32(lead if tile > 0 else 0)
        slot = dynamic_shared(room, item, number * slot_step + offset + (lead - before) * itemsize)
        load(pipe, slot, source, as_int64(tile) * tile_items - before, int32(valid + before))

    return start


def loading_both(first: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that begins to load a tile of two arrays, each by its own function."""

    def start(pipe, number, source, other, tile, valid):
        first(pipe, number, source, source, tile, valid)
        second(pipe, number, other, other, tile, valid)

    return start


# ------------------------------------------------------------------ from the beginning or from the end


@device_function()
def forward(position, valid):
    """Return where the item at a position of the scan lies in its tile of `valid` items: in memory's order."""
    return position


@device_function()
def backward(position, valid):
    """Return where the item at a position of the scan lies in its tile of `valid` items: the last one comes first."""
    return valid - 1 - position


@device_function()
def tile_forward(tile, num_tiles):
    """Return which tile of memory a tile of the scan is."""
    return tile


@device_function()
def tile_backward(tile, num_tiles):
    """Return which tile of memory a tile of a scan from the end is."""
    return num_tiles - 1 - tile
