"""The kernels that keep some of the items, in order: one tile a block, and persistent blocks with tiles in flight.

As the scans, see scan_kernel.py: a tile publishes how many items it keeps before anybody looks back for it, and what it
keeps has already moved up in shared memory when it is known where it goes. Every item is read once and written once.

In place a tile is written over items of tiles before it, or its own. All of these have been read by then: their counts,
which a block publishes when it has the tile in shared memory, are what says where to write.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..block.lookback import lookback_publish
from ..block.lookback_ahead import begin_prefix
from ..block.ring import Ring, ring_pass
from ..block.shape import int32
from ..block.staging import block_copy_pipeline, block_copy_wait
from ..simt.lanes import block_index, grid_size, thread_index
from ..simt.memory import dynamic_shared, local_array, shared_array
from ..simt.sync import barrier
from ..simt.types import as_int64, combine
from .scan_tile import own_count
from .select_layout import Compaction, Layout, shared_bytes
from .select_tile import decide, rank
from .tiles import (
    TileShape,
    count_given,
    count_on_device,
    count_within,
    first_draw,
    loading,
    loading_both,
    prefix_after_init,
    tile_forward,
    tiles_of,
    valid_of,
)

__all__ = ["Compaction", "Layout", "ring_kernel", "shared_bytes", "tile_kernel"]


def number_of(what: Compaction) -> Callable[..., Any]:
    """Return the function that says how many items there are."""
    if not what.on_device:
        return count_given
    return count_on_device if what.axes == 1 else count_within


def starting(what: Compaction, shape: TileShape) -> Callable[..., Any]:
    """Return the function that begins to load a tile, with its flags where there are any."""
    layout = Layout(what, shape)
    items = loading(what.copied, what.item, shape.tile_items, layout.step, 0, what.lead, what.axes)
    if what.flag is None:
        return items
    flags = loading(what.flags_copied, what.flag, shape.tile_items, layout.step, layout.flags, 0, what.flag_axes)
    return loading_both(items, flags)


def gathering(what: Compaction, shape: TileShape) -> Callable[..., Any]:
    """Return the function (slot's first byte, tile, valid) -> (how many items the tile keeps, what it adds up to).

    What it keeps has moved up in the slot, for the whole block after the next barrier.
    """
    keep, previous, move, summarise = what.keep, what.previous, what.move, what.summarise
    items, tile_items, lead, layout = shape.items, shape.tile_items, what.lead, Layout(what, shape)
    threads = shape.threads
    item_type, flag_type, position_type = what.item, layout.flag_type, layout.position_type
    room, flags_at, positions_at = lead + tile_items, layout.flags, layout.positions

    def gather(first_byte, tile, valid):
        values = local_array(items, item_type)
        slot = dynamic_shared(room, item_type, first_byte)
        flags = dynamic_shared(tile_items, flag_type, first_byte + flags_at)
        positions = dynamic_shared(tile_items, position_type, first_byte + positions_at)
        bits = decide(values, slot, flags, lead, valid, keep, previous, tile == 0)
        earlier, total = rank(bits, threads)
        move(values, slot, positions, lead, bits, earlier, total, own_count(valid, items))
        return total, summarise(positions, total, as_int64(tile) * tile_items)

    return gather


def writing(what: Compaction, shape: TileShape) -> Callable[..., Any]:
    """Return the function (slot's first byte, tile, kept, aggregate, before, is it the last one, context).

    It writes what a tile keeps, behind what all tiles before it do.  context: of `ring_kernel`.
    """
    op, emit, finish, lead, layout = what.op, what.emit, what.finish, what.lead, Layout(what, shape)
    item_type, position_type, tile_items = what.item, layout.position_type, shape.tile_items
    positions_at, room = layout.positions, lead + tile_items

    def write(first_byte, tile, kept, aggregate, before, is_last, context):
        out, more, count_out, states, num_items = context
        slot = dynamic_shared(room, item_type, first_byte)
        places = dynamic_shared(tile_items, position_type, first_byte + positions_at)
        emit(slot, places, lead, before, kept, as_int64(tile) * tile_items, num_items, out, more)
        if is_last and thread_index() == 0:
            finish(combine(op, before, aggregate), num_items, out, more, count_out, states)

    return write


def ring_kernel(what: Compaction, shape: TileShape) -> Callable[..., Any]:
    """Return the kernel of persistent blocks: see block/ring.py.

    Called by: any grid of blocks of `shape.threads` threads with `shared_bytes` of dynamic shared memory.
    Args: source: the items.  flags: where there are any, else anything.  out, more: what is written.  count_out: one
    integer.  states: tile states for the type of `zero`.  count: the number of items, or a device array that holds it.
    """
    zero, end, after, tile_items = what.zero, what.finish, what.after, shape.tile_items
    number, gather_tile, write = number_of(what), gathering(what, shape), writing(what, shape)

    def gather(first_byte, tile, valid, like, context):
        return gather_tile(first_byte, tile, valid)

    def finish(first_byte, tile, valid, kept, aggregate, before, has_before, is_last, context):
        write(first_byte, tile, kept, aggregate, before, is_last, context)

    pass_over = ring_pass(
        Ring(
            shape,
            Layout(what, shape).step,
            starting(what, shape),
            gather,
            finish,
            tile_forward,
            what.op,
            np.int32,
            type_of(zero),
            2 if what.flag else 1,
        )
    )

    def compact_in_rings(source, flags, out, more, count_out, states, count):
        num_items = number(count, source)
        num_tiles = tiles_of(num_items, tile_items)
        written = pass_over(states, num_items, source, flags, zero, (out, more, count_out, states, num_items))
        if num_tiles == 0 and block_index() == 0 and thread_index() == 0:
            end(zero, num_items, out, more, count_out, states)
        after(states, written, num_tiles, num_items, int32(0), num_tiles == 0, out)

    return compact_in_rings


def type_of(zero: Any) -> Any:
    """Return the type of what tiles add up to, for `local_array`."""
    return tuple(type(part) for part in zero) if isinstance(zero, tuple) else type(zero)


def tile_kernel(what: Compaction, shape: TileShape) -> Callable[..., Any]:
    """Return the kernel in which a block works on one tile: for few items, and where latency counts.

    Called by: at least as many blocks as there are tiles, one at least; a single tile asks for no number and no state.
    Args: as of `ring_kernel`.
    """
    op, zero, finish, after, tile_items = what.op, what.zero, what.finish, what.after, shape.tile_items
    copies = 2 if what.flag else 1
    number, start = number_of(what), starting(what, shape)
    gather, write = gathering(what, shape), writing(what, shape)

    def compact_in_tiles(source, flags, out, more, count_out, states, count):
        num_items = number(count, source)
        num_tiles = tiles_of(num_items, tile_items)
        tiles = shared_array(1, np.int32)
        pipe = block_copy_pipeline(copies)
        tile, total = int32(0 if block_index() == 0 and num_tiles == 1 else -1), int32(0)
        if num_tiles > 1:
            if thread_index() == 0:
                tiles[0] = first_draw(states, num_tiles, grid_size())
            barrier()
            tile = tiles[0]
        if tile >= 0:
            valid = valid_of(num_items, tile, tile_items)
            start(pipe, int32(0), source, flags, tile, valid)
            block_copy_wait(pipe, 0)
            total, own = gather(int32(0), tile, valid)
            before = zero
            if num_tiles > 1:
                lookback_publish(states, tile, own)
                begun = begin_prefix(states, tile, op)
                before = prefix_after_init(states, begun, tile, own, op, zero)
            else:
                barrier()
            context = (out, more, count_out, states, num_items)
            write(int32(0), tile, total, own, before, tile == num_tiles - 1, context)
        if num_tiles == 0 and block_index() == 0 and thread_index() == 0:
            finish(zero, num_items, out, more, count_out, states)
        after(states, int32(tile >= 0), num_tiles, num_items, total, num_tiles <= 1, out)

    return compact_in_tiles
