"""The kernel of scans in which a block works on the tile of its own index, and looks back as scan_look.py says.

As `scan_kernel.tile_kernel`, but that no block waits for a number before it reads its items: where a built-in operator
scans into memory that is not the source's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..block.shape import int32
from ..simt.lanes import block_index, grid_size, thread_index
from ..simt.memory import dynamic_shared
from ..simt.sync import barrier
from ..simt.types import as_int64, combine, hold
from .scan_kernel import Scan, tile_parts
from .scan_look import looking_back, tile_total
from .scan_tile import seed_of
from .tile_io import fetching
from .tiles import (
    TAKE,
    TileShape,
    end_draw,
    start_draw,
    tiles_of,
    valid_of,
    whole_pieces,
)


@dataclass(frozen=True)
class LookingShape(TileShape):
    """A tile whose block looks back at `states` states a lane, and `patience` times before it does others' work."""

    states: int = 4
    patience: int = 64


def look_kernel(scan: Scan, shape: LookingShape) -> Callable[..., Any]:
    """Return the kernel. Called by: as many blocks as it takes, of whole warps.  Args: as of `tile_kernel`."""
    op, starts, item_type, result_type, tile_items = scan.op, scan.starts, scan.item, scan.result, shape.tile_items
    result_at = 0 if scan.in_place else whole_pieces(tile_items * scan.item.itemsize)
    number, arranged, upsweep, downsweep, store = tile_parts(scan, shape)
    fetch = fetching(shape, scan.item, scan.vectors_in, TAKE[scan.axes])
    look = looking_back(shape.states, shape.patience, scan.total, op, tile_total(op, TAKE[scan.axes], arranged))

    def scan_in_tiles_that_look(source, target, init, states, count):
        like = hold(init)
        drawn = as_int64(0)
        if thread_index() == 0 and grid_size() > 1:
            drawn = start_draw(states)
        num_items = number(count, source)
        num_tiles = tiles_of(num_items, tile_items)
        tile = int32(block_index())
        if tile < num_tiles:
            in_memory = arranged(tile, num_tiles)
            base = as_int64(in_memory) * tile_items
            valid = valid_of(num_items, in_memory, tile_items)
            slot = dynamic_shared(tile_items, item_type, 0)
            fetch(slot, source, base, valid)
            barrier()
            results = dynamic_shared(tile_items, result_type, result_at)
            own, total = upsweep(slot, valid, like)
            before = like
            if grid_size() > 1:
                before = look(states, drawn, tile, total, source, tile_items, num_items)
                if starts:
                    before = combine(op, like, before)
            seed, seeded = seed_of(before, own, op, starts or tile > 0)
            downsweep(slot, results, valid, seed, seeded)
            barrier()
            store(results, target, base, valid)
        if thread_index() == 0 and grid_size() > 1:
            end_draw(states, drawn, grid_size(), grid_size())

    return scan_in_tiles_that_look
