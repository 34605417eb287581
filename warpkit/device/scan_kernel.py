"""The two kernels of the scans: one tile a block, and persistent blocks with tiles in flight.

Single pass, decoupled look-back (Merrill & Garland 2016). A persistent block publishes what its next tile adds up to
before it looks back for the one at hand, so that whoever looks finds what it needs; meanwhile the copies of the tiles
after that one go on. What it looks at has been on its way since before that next tile was read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..block.lookback import lookback_publish
from ..block.lookback_ahead import begin_prefix
from ..block.shape import int32
from ..block.staging import block_copy_pipeline, block_copy_wait
from ..simt.lanes import block_index, grid_size, thread_index
from ..simt.memory import dynamic_shared, shared_array
from ..simt.sync import barrier
from ..simt.types import as_int64, hold
from .scan_tile import (
    downsweeping,
    fetching,
    own_count,
    seed_of,
    storing,
    upsweeping,
)
from .tiles import (
    TAKE,
    TileShape,
    backward,
    count_given,
    count_on_device,
    count_within,
    draws_of,
    end_draw,
    fill,
    first_draw,
    following,
    forward,
    loading,
    prefix_after_init,
    prefix_alone,
    refill,
    start_draw,
    tile_backward,
    tile_forward,
    tiles_of,
    valid_of,
    whole_pieces,
)


@dataclass(frozen=True)
class Scan:
    """What a scan kernel is made for.

    op: (earlier, later) -> combined.  exclusive: without the item itself.  starts: it begins with `init`, an exclusive
    one always does.  reverse: from the end.  item, result: dtypes in memory.  total: type of what is combined, for
    `local_array`.  copied: the source is contiguous and of items that can be copied as they are.  vectors: the target
    is contiguous and its items fill 16 bytes.  on_device: the number of items stands in device memory.  axes: of a
    source that is not contiguous; of several it comes with inverses: see `tiles.loading`.
    """

    op: Callable[..., Any]
    exclusive: bool
    starts: bool
    reverse: bool
    item: np.dtype[Any]
    result: np.dtype[Any]
    total: Any
    copied: bool
    vectors: bool
    on_device: bool
    axes: int = 1

    @property
    def vectors_in(self) -> bool:
        """Whether the source is contiguous and its items fill 16 bytes."""
        return self.copied and not self.item.names and 16 % self.item.itemsize == 0

    @property
    def in_place(self) -> bool:
        """Whether results take the place of the items in shared memory."""
        return self.item == self.result


def starting(scan: Scan, shape: TileShape, step_bytes: int) -> Callable[..., Any]:
    """Return the function that begins to load a tile into a slot of `step_bytes`."""
    return loading(scan.copied, scan.item, shape.tile_items, step_bytes, axes=scan.axes)


def number_of(scan: Scan) -> Callable[..., Any]:
    """Return the function (count, source) that says how many items there are."""
    if not scan.on_device:
        return count_given
    return count_on_device if scan.axes == 1 else count_within


def shared_bytes(scan: Scan, shape: TileShape) -> int:
    """Return the dynamic shared memory of a block: the ring, and the results where they do not fit into it."""
    ring = shape.stages * whole_pieces(shape.tile_items * scan.item.itemsize)
    return ring if scan.in_place else ring + whole_pieces(shape.tile_items * scan.result.itemsize)


def ring_kernel(scan: Scan, shape: TileShape) -> Callable[..., Any]:
    """Return the kernel of persistent blocks.

    Called by: any grid of blocks of `shape.threads` threads with `shared_bytes` of dynamic shared memory.
    Args: source, target: arrays.  init: of the type of a total, also where the scan does not start with it.
    states: tile states for that type.  count: the number of items, or a device array that holds it.
    """
    op, starts, item_type, result_type = scan.op, scan.starts, scan.item, scan.result
    items, stages, tile_items, last = shape.items, shape.stages, shape.tile_items, shape.stages - 1
    step_bytes = whole_pieces(tile_items * scan.item.itemsize)
    in_place, result_at = scan.in_place, stages * step_bytes
    whole = shape.threads >= 32
    place, arranged = (backward, tile_backward) if scan.reverse else (forward, tile_forward)
    number, start = number_of(scan), starting(scan, shape, step_bytes)
    upsweep = upsweeping(shape, scan.total, place, op)
    downsweep = downsweeping(shape, scan.total, scan.result, place, op, scan.exclusive)
    store = storing(scan.vectors, scan.result, shape.threads)
    prefix = prefix_after_init if starts else prefix_alone

    def scan_in_rings(source, target, init, states, count):
        like = hold(init)
        num_items = number(count, source)
        num_tiles = tiles_of(num_items, tile_items)
        draws = draws_of(num_tiles, stages)
        tiles = shared_array(stages, np.int32)  # the tile in each slot
        pipe = block_copy_pipeline(last)
        in_flight = fill(pipe, tiles, start, source, source, arranged, states, num_tiles, num_items, draws)
        s, tile = int32(last), int32(-1)
        own = like
        total = like
        more = True
        while more:
            drawn = as_int64(0)
            if thread_index() == 0:
                drawn = start_draw(states)
            begun = begin_prefix(states, tile, op, whole)
            # upsweep of the next tile, which is published at once
            near = following(s, stages)
            ahead = tiles[near]
            own_ahead = like
            total_ahead = like
            if ahead >= 0:
                in_flight = int32(in_flight - 1)
                block_copy_wait(pipe, in_flight)
                valid = valid_of(num_items, arranged(ahead, num_tiles), tile_items)
                held = own_count(valid, items)
                slot = dynamic_shared(tile_items, item_type, near * step_bytes)
                own_ahead, total_ahead = upsweep(slot, held, valid, like)
                lookback_publish(states, ahead, total_ahead)
            # downsweep of the tile at hand
            if tile >= 0:
                before = prefix(states, begun, tile, total, op, init, whole)
                valid = valid_of(num_items, arranged(tile, num_tiles), tile_items)
                held = own_count(valid, items)
                slot = dynamic_shared(tile_items, item_type, s * step_bytes)
                results = dynamic_shared(tile_items, result_type, s * step_bytes if in_place else result_at)
                seed, seeded = seed_of(before, own, op, starts or tile > 0)
                downsweep(slot, results, held, valid, seed, seeded)
                barrier()
                store(results, target, as_int64(arranged(tile, num_tiles)) * tile_items, valid)
            if thread_index() == 0:
                tiles[s] = end_draw(states, drawn, num_tiles, draws)
            barrier()
            more = ahead >= 0
            if more:
                loads = refill(pipe, s, tiles, start, source, source, arranged, num_tiles, num_items)
                in_flight = int32(in_flight + loads)
            tile, s = ahead, near
            own, total = own_ahead, total_ahead

    return scan_in_rings


def tile_kernel(scan: Scan, shape: TileShape) -> Callable[..., Any]:
    """Return the kernel in which a block works on one tile: for few items, and where latency counts.

    Called by: at least as many blocks as there are tiles; a single tile asks for no number and no state.
    Args: as of `ring_kernel`.
    """
    op, starts, item_type, result_type = scan.op, scan.starts, scan.item, scan.result
    items, tile_items = shape.items, shape.tile_items
    result_at = 0 if scan.in_place else whole_pieces(tile_items * scan.item.itemsize)
    whole = shape.threads >= 32
    place, arranged = (backward, tile_backward) if scan.reverse else (forward, tile_forward)
    number, fetch = number_of(scan), fetching(shape, scan.item, scan.vectors_in, TAKE[scan.axes])
    upsweep = upsweeping(shape, scan.total, place, op)
    downsweep = downsweeping(shape, scan.total, scan.result, place, op, scan.exclusive)
    store = storing(scan.vectors, scan.result, shape.threads)
    prefix = prefix_after_init if starts else prefix_alone

    def scan_in_tiles(source, target, init, states, count):
        like = hold(init)
        num_items = number(count, source)
        num_tiles = tiles_of(num_items, tile_items)
        tiles = shared_array(1, np.int32)
        tile = int32(0 if block_index() == 0 and num_tiles == 1 else -1)
        if num_tiles > 1:
            if thread_index() == 0:
                tiles[0] = first_draw(states, num_tiles, grid_size())
            barrier()
            tile = tiles[0]
        if tile >= 0:
            in_memory = arranged(tile, num_tiles)
            base = as_int64(in_memory) * tile_items
            valid = valid_of(num_items, in_memory, tile_items)
            held = own_count(valid, items)
            slot = dynamic_shared(tile_items, item_type, 0)
            fetch(slot, source, base, valid)
            barrier()
            results = dynamic_shared(tile_items, result_type, result_at)
            own, total = upsweep(slot, held, valid, like)
            before = like
            if num_tiles > 1:
                lookback_publish(states, tile, total)
                before = prefix(states, begin_prefix(states, tile, op, whole), tile, total, op, init, whole)
            seed, seeded = seed_of(before, own, op, starts or tile > 0)
            downsweep(slot, results, held, valid, seed, seeded)
            barrier()
            store(results, target, base, valid)

    return scan_in_tiles
