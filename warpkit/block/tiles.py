"""Tiles of consecutive items, and the numbers of those that blocks work on."""

from dataclasses import dataclass

from ..simt.machine import device_function
from ..simt.memory import atomic_add
from ..simt.states import viewed
from ..simt.types import as_int64
from .lookback import COUNTER, LONG
from .shape import int32

PIECE = 128  # bytes that everything in dynamic shared memory is a multiple of


@dataclass(frozen=True)
class TileShape:
    """How a tile is worked on: threads of a block, items of a thread (odd: no bank conflicts), slots of the ring.

    ahead: how many tiles a block publishes before it finishes the first of them, at least 1; one less than slots where
    there are fewer.
    """

    threads: int
    items: int
    stages: int = 1
    ahead: int = 1

    @property
    def tile_items(self) -> int:
        """Items of a tile."""
        return self.threads * self.items

    @property
    def published(self) -> int:
        """Tiles that are published ahead, as far as there are slots."""
        return min(self.ahead, self.stages - 1)


def whole_pieces(nbytes: int) -> int:
    """Return so many bytes in whole pieces."""
    return -(-nbytes // PIECE) * PIECE


@device_function()
def tiles_of(num_items, tile_items):
    """Return how many tiles hold `num_items` items, int32."""
    return int32((num_items + (tile_items - 1)) // tile_items)


@device_function()
def valid_of(num_items, tile, tile_items):
    """Return how many items of `tile` there are, int32."""
    return int32(min(num_items - as_int64(tile) * tile_items, tile_items))


@device_function()
def start_draw(states):
    """Draw a number; return the counter before it, int64. Called by thread 0, which need not look at it yet."""
    return atomic_add(viewed(states, LONG), COUNTER, 1)


@device_function()
def following(slot, stages):
    """Return the slot after `slot` in a ring, int32."""
    return int32(slot + 1 if slot + 1 < stages else 0)
