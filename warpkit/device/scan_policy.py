"""How scans go over their tiles: data, measured in bench/."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import Refused
from .policies import check_bounds
from .tiles import TileShape


@dataclass(frozen=True)
class ScanPolicy:
    """The tuning of a scan, from few items to many.

    One block scans what `one_threads` threads of `one_items` items hold, from registers to registers. Then, where a
    built-in operator scans into memory that is not the source's: up to `sweep_until` items such blocks read all that
    lies before their own items, with `sweep_loads` reads at a time; up to `look_until` items blocks of `look_threads`
    threads of `look_items` items look back at one another, at `look_states` states a lane, `look_patience` times before
    they do the work of one that does not answer. Else one block of
    `one_threads` threads does with up to `large_items` items each what it can; then a block works on a tile of
    `tile_threads` × `tile_items` items; and from `ring_from` items on blocks of `threads` × `items` items persist, with
    `stages` tiles in shared memory at once, `ahead` of them published before the first one is finished, `blocks` of
    them on a multiprocessor.
    Threads are multiples of 32; odd numbers of items avoid bank conflicts in shared memory, powers of two are read at
    once in registers (`one_items`, `look_items`, `large_items`). Tiles that a GPU's shared memory does not hold are
    made smaller.
    """

    threads: int = 512
    items: int = 27
    stages: int = 4
    blocks: int = 1
    ahead: int = 2
    ring_from: int = 1 << 20
    tile_threads: int = 256
    tile_items: int = 15
    one_threads: int = 1024
    one_items: int = 4
    large_items: int = 8
    sweep_until: int = 1 << 15
    sweep_loads: int = 4
    look_until: int = 1 << 18
    look_threads: int = 512
    look_items: int = 4
    look_states: int = 4
    look_patience: int = 64

    def __post_init__(self) -> None:
        for name in ("threads", "tile_threads", "one_threads", "look_threads"):
            if getattr(self, name) not in range(32, 1025, 32):
                raise Refused(
                    f"ScanPolicy: {name} must be a multiple of 32 from 32 to 1024, not {getattr(self, name)!r}."
                )
        for name in ("one_items", "large_items", "look_items"):
            if getattr(self, name) not in (1, 2, 4, 8, 16, 32):
                raise Refused(f"ScanPolicy: {name} must be a power of two from 1 to 32, not {getattr(self, name)!r}.")
        check_bounds(
            self,
            threads=(32, 1024),
            tile_threads=(32, 1024),
            one_threads=(32, 1024),
            look_threads=(32, 1024),
            items=(1, 64),
            tile_items=(1, 64),
            one_items=(1, 32),
            large_items=(1, 32),
            look_items=(1, 32),
            stages=(2, 8),
            ahead=(1, 7),
            blocks=(1, 32),
            ring_from=(0, 1 << 50),
            sweep_until=(0, 1 << 30),
            sweep_loads=(1, 16),
            look_until=(0, 1 << 30),
            look_states=(1, 8),
            look_patience=(0, 1 << 20),
        )

    @property
    def ring(self) -> TileShape:
        """The tiles of persistent blocks."""
        return TileShape(self.threads, self.items, self.stages, self.ahead)

    @property
    def tile(self) -> TileShape:
        """The tile of a block that has one."""
        return TileShape(self.tile_threads, self.tile_items)


BYTES = 108  # of a thread's items, in memory or as totals, whichever is more: four slots fill an sm_90's memory
# For (capability, bytes of an item, bytes of a total): what was measured to be better.
BY_CAPABILITY: dict[tuple[tuple[int, int], int, int], ScanPolicy] = {}


def policy_for(capability: tuple[int, int], item: np.dtype[Any], total: np.dtype[Any]) -> ScanPolicy:
    """Return the policy for a device, dtypes of items and of totals."""
    found = BY_CAPABILITY.get((capability, item.itemsize, total.itemsize))
    if found is not None:
        return found
    most = BYTES // max(item.itemsize, total.itemsize, 1)
    return ScanPolicy(items=odd(min(most, 27)), tile_items=odd(min(most, 15)))


def odd(items: int) -> int:
    """Return the largest odd number up to `items`, at least 1."""
    return max(items - (items % 2 == 0), 1)
