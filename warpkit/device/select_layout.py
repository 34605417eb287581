"""What a compaction kernel is made for, and where things lie in its shared memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..simt.ops import add
from .select_few_put import ITEMS, Few
from .select_keep import no_previous
from .select_tile import as_count, emit_items, finish_count, move_items, nothing_after
from .tiles import TileShape, whole_pieces

NONE, FEW = np.int64(0), np.int32(0)  # no items yet: of any number of them, of fewer than 2^31
POSITION, NOTHING = np.dtype(np.uint16), np.dtype(np.uint8)  # an item's place in its tile


@dataclass(frozen=True)
class Compaction:
    """What a compaction kernel is made for: dtypes, and device functions (see select_keep.py and select_tile.py).

    item: dtype in memory.  flag: dtype of the flags that are loaded with the items, if any.  positioned: places of the
    kept items are needed.  led: the item before a tile is needed.  copied, flags_copied: the source, the flags are
    contiguous.  axes, flag_axes: how many they are read with.  on_device: the number of items stands in device memory.
    keep, previous: which items are kept.  move: what moves up.  summarise, op, zero: what tiles add up to; its type is
    that of `zero`.  emit: how a tile is written.  finish: what is written at the end.  after: what all blocks do when
    they have no more tiles.  few: how few items are written.
    """

    item: np.dtype[Any]
    keep: Callable[..., Any]
    copied: bool = True
    on_device: bool = False
    flag: np.dtype[Any] | None = None
    flags_copied: bool = True
    axes: int = 1
    flag_axes: int = 1
    positioned: bool = False
    led: bool = False
    previous: Callable[..., Any] = no_previous
    move: Callable[..., Any] = move_items
    summarise: Callable[..., Any] = as_count
    op: Callable[..., Any] = add
    zero: Any = NONE
    emit: Callable[..., Any] = emit_items
    finish: Callable[..., Any] = finish_count
    after: Callable[..., Any] = nothing_after
    few: Few = ITEMS

    @property
    def lead(self) -> int:
        """How many items lie in front of a tile in its slot: whole 16 bytes, so that the tile stays aligned."""
        return max(16 // self.item.itemsize, 1) if self.led else 0


class Layout:
    """Where things lie in dynamic shared memory: in every slot the items, then their flags, then places.

    What there is none of lies at the beginning, as bytes that nobody reads.
    """

    def __init__(self, what: Compaction, shape: TileShape) -> None:
        items = whole_pieces((what.lead + shape.tile_items) * what.item.itemsize)
        self.flag_type = what.flag or NOTHING
        self.flags = items if what.flag else 0
        items += whole_pieces(shape.tile_items * self.flag_type.itemsize) if what.flag else 0
        self.position_type = POSITION if what.positioned else NOTHING
        self.positions = items if what.positioned else 0
        self.step = items + (whole_pieces(shape.tile_items * POSITION.itemsize) if what.positioned else 0)


def shared_bytes(what: Compaction, shape: TileShape) -> int:
    """Return the dynamic shared memory of a block."""
    return shape.stages * Layout(what, shape).step
