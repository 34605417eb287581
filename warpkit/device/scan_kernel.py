"""The two kernels of the scans: one tile a block, and persistent blocks with tiles in flight.

Single pass, decoupled look-back (Merrill & Garland 2016). A persistent block publishes what its next tile adds up to
before it looks back for the one at hand, so that whoever looks finds what it needs; meanwhile the copies of the tiles
after that one go on. What it looks at has been on its way since before that next tile was read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..block.lookback import lookback_publish
from ..block.lookback_ahead import begin_prefix
from ..block.ring import Ring, ring_pass
from ..block.shape import int32
from ..simt.lanes import block_index, grid_size, thread_index
from ..simt.memory import dynamic_shared, shared_array
from ..simt.sync import barrier
from ..simt.types import as_int64, combine, hold
from .scan_tile import downsweeping, seed_of, upsweeping
from .tile_io import fetching, storing
from .tiles import (
    TAKE,
    TileShape,
    backward,
    count_given,
    count_on_device,
    count_within,
    first_draw,
    forward,
    loading,
    prefix_after_init,
    prefix_alone,
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


class TileParts(NamedTuple):
    """What every kernel of tiles is made of.

    number: see `number_of`.  arranged: tile of the scan -> tile of memory.  The others: see scan_tile.py, tile_io.py.
    """

    number: Callable[..., Any]
    arranged: Callable[..., Any]
    upsweep: Callable[..., Any]
    downsweep: Callable[..., Any]
    store: Callable[..., Any]


def tile_parts(scan: Scan, shape: TileShape) -> TileParts:
    """Return the parts for tiles of a shape."""
    place, arranged = (backward, tile_backward) if scan.reverse else (forward, tile_forward)
    return TileParts(
        number_of(scan),
        arranged,
        upsweeping(shape, scan.total, place, scan.op),
        downsweeping(shape, scan.total, scan.result, place, scan.op, scan.exclusive),
        storing(scan.vectors, scan.result, shape),
    )


def shared_bytes(scan: Scan, shape: TileShape) -> int:
    """Return the dynamic shared memory of a block: the ring, and the results where they do not fit into it."""
    ring = shape.stages * whole_pieces(shape.tile_items * scan.item.itemsize)
    return ring if scan.in_place else ring + whole_pieces(shape.tile_items * scan.result.itemsize)


def ring_kernel(scan: Scan, shape: TileShape) -> Callable[..., Any]:
    """Return the kernel of persistent blocks: see block/ring.py.

    Called by: any grid of blocks of `shape.threads` threads with `shared_bytes` of dynamic shared memory.
    Args: source, target: arrays.  init: of the type of a total, also where the scan does not start with it.
    states: tile states for that type.  count: the number of items, or a device array that holds it.
    """
    op, starts, item_type, result_type, tile_items = scan.op, scan.starts, scan.item, scan.result, shape.tile_items
    step_bytes = whole_pieces(tile_items * scan.item.itemsize)
    in_place, result_at = scan.in_place, shape.stages * step_bytes
    number, arranged, upsweep, downsweep, store = tile_parts(scan, shape)

    def gather(first_byte, tile, valid, like, context):
        return upsweep(dynamic_shared(tile_items, item_type, first_byte), valid, like)

    def finish(first_byte, tile, valid, own, total, before, has_before, is_last, context):
        target, init = context
        slot = dynamic_shared(tile_items, item_type, first_byte)
        results = dynamic_shared(tile_items, result_type, first_byte if in_place else result_at)
        if starts:
            before = combine(op, init, before) if has_before else init
        seed, seeded = seed_of(before, own, op, starts or has_before)
        downsweep(slot, results, valid, seed, seeded)
        barrier()
        store(results, target, as_int64(tile) * tile_items, valid)

    start = starting(scan, shape, step_bytes)
    pass_over = ring_pass(Ring(shape, step_bytes, start, gather, finish, arranged, op, scan.total, scan.total))

    def scan_in_rings(source, target, init, states, count):
        first = hold(init)
        pass_over(states, number(count, source), source, source, first, (target, first))

    return scan_in_rings


def tile_kernel(scan: Scan, shape: TileShape) -> Callable[..., Any]:
    """Return the kernel in which a block works on one tile: for few items, and where latency counts.

    Called by: at least as many blocks as there are tiles; a single tile asks for no number and no state.
    Args: as of `ring_kernel`.
    """
    op, starts, item_type, result_type = scan.op, scan.starts, scan.item, scan.result
    tile_items = shape.tile_items
    result_at = 0 if scan.in_place else whole_pieces(tile_items * scan.item.itemsize)
    number, arranged, upsweep, downsweep, store = tile_parts(scan, shape)
    fetch = fetching(shape, scan.item, scan.vectors_in, TAKE[scan.axes])
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
            slot = dynamic_shared(tile_items, item_type, 0)
            fetch(slot, source, base, valid)
            barrier()
            results = dynamic_shared(tile_items, result_type, result_at)
            own, total = upsweep(slot, valid, like)
            before = like
            if num_tiles > 1:
                lookback_publish(states, tile, total)
                before = prefix(states, begin_prefix(states, tile, op), tile, total, op, init)
            seed, seeded = seed_of(before, own, op, starts or tile > 0)
            downsweep(slot, results, valid, seed, seeded)
            barrier()
            store(results, target, base, valid)

    return scan_in_tiles
