"""How scans go over their tiles: data, measured in bench/."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import Refused
from .policies import check_bounds
from .tiles import TileShape


@dataclass(frozen=True)
class ScanPolicy:
    """The tuning of a scan: of few items a block a tile; from `ring_from` on persistent blocks with tiles in flight.

    threads, items, stages: of a persistent block, items of a thread, tiles that lie in its shared memory at once.
    blocks: of these on a multiprocessor.  tile_threads, tile_items: of a block that works on one tile.
    Threads are multiples of 32; odd numbers of items avoid bank conflicts. Tiles that a GPU's shared memory does not
    hold are made smaller.
    """

    threads: int = 512
    items: int = 35
    stages: int = 3
    blocks: int = 1
    ring_from: int = 1 << 20
    tile_threads: int = 256
    tile_items: int = 15

    def __post_init__(self) -> None:
        for name in ("threads", "tile_threads"):
            if getattr(self, name) not in range(32, 1025, 32):
                raise Refused(
                    f"ScanPolicy: {name} must be a multiple of 32 from 32 to 1024, not {getattr(self, name)!r}."
                )
        check_bounds(
            self,
            threads=(32, 1024),
            tile_threads=(32, 1024),
            items=(1, 64),
            tile_items=(1, 64),
            stages=(2, 8),
            blocks=(1, 32),
            ring_from=(0, 1 << 50),
        )

    @property
    def ring(self) -> TileShape:
        """The tiles of persistent blocks."""
        return TileShape(self.threads, self.items, self.stages)

    @property
    def tile(self) -> TileShape:
        """The tile of a block that has one."""
        return TileShape(self.tile_threads, self.tile_items)


BYTES = (
    140  # of a thread's items, in memory or as totals, whichever is more: three slots of them fill an sm_90's memory
)
# For (capability, bytes of an item, bytes of a total): what was measured to be better.
BY_CAPABILITY: dict[tuple[tuple[int, int], int, int], ScanPolicy] = {}


def policy_for(capability: tuple[int, int], item: np.dtype[Any], total: np.dtype[Any]) -> ScanPolicy:
    """Return the policy for a device, dtypes of items and of totals."""
    found = BY_CAPABILITY.get((capability, item.itemsize, total.itemsize))
    if found is not None:
        return found
    most = BYTES // max(item.itemsize, total.itemsize, 1)
    return ScanPolicy(items=odd(min(most, 35)), tile_items=odd(min(most, 15)))


def odd(items: int) -> int:
    """Return the largest odd number up to `items`, at least 1."""
    return max(items - (items % 2 == 0), 1)
