"""How scans go over their tiles: data, measured in bench/."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import Refused
from .policies import check_bounds
from .scan_few import FewShape
from .tiles import TileShape


@dataclass(frozen=True)
class ScanPolicy:
    """The tuning of a scan, from few items to many.

    One block scans what `one_threads` threads of `one_items` items hold, from registers to registers. Then, where a
    built-in operator scans into memory that is not the source's: up to `sweep_until` items blocks of `sweep_threads`
    threads of as many items read all that lies before their own, with `sweep_loads` reads at a time; up to `look_until`
    blocks of `look_items` items a thread look back at one another, at `look_states` states a lane, `look_patience`
    times before they do the work of one that does not answer. These have 256 threads, or up to `look_threads` where
    there were else more than `look_tiles` of them. Otherwise one block of `one_threads` threads does with up to
    `large_items` items each what it can; then a block works on a tile of `tile_threads` × `tile_items` items, from
    `wide_from` items on `wide_items`, looking back in that manner too where it can, at `tile_states` states a lane,
    unless these are 0; and from `ring_from` items on blocks of `threads` × `items` items persist, with `stages` tiles
    in shared memory at once, `ahead` of them published before the first one is finished, `blocks` of them on a
    multiprocessor.
    Threads are multiples of 32; odd numbers of items avoid bank conflicts in shared memory, powers of two are read at
    once in registers (`one_items`, `look_items`, `large_items`). Tiles that a GPU's shared memory does not hold are
    made smaller.
    """

    threads: int = 512
    items: int = 27
    stages: int = 4
    blocks: int = 1
    ahead: int = 2
    ring_from: int = 17 << 18
    tile_threads: int = 256
    tile_items: int = 15
    wide_from: int = 1 << 19
    wide_items: int = 23
    tile_states: int = 4
    one_threads: int = 1024
    one_items: int = 4
    large_items: int = 8
    sweep_threads: int = 256
    sweep_until: int = 1 << 14
    sweep_loads: int = 8
    look_threads: int = 1024
    look_until: int = 1 << 19
    look_items: int = 4
    look_tiles: int = 64
    look_states: int = 1
    look_patience: int = 64

    def __post_init__(self) -> None:
        for name in ("threads", "tile_threads", "one_threads", "sweep_threads", "look_threads"):
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
            sweep_threads=(32, 1024),
            look_threads=(32, 1024),
            items=(1, 64),
            tile_items=(1, 64),
            wide_items=(1, 64),
            wide_from=(0, 1 << 50),
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
            look_tiles=(1, 1 << 20),
            look_states=(1, 8),
            tile_states=(0, 8),
            look_patience=(0, 1 << 20),
        )

    @property
    def ring(self) -> TileShape:
        """The tiles of persistent blocks."""
        return TileShape(self.threads, self.items, self.stages, self.ahead)

    @property
    def one(self) -> FewShape:
        """What one block has."""
        return FewShape(self.one_threads, self.one_items)

    @property
    def large(self) -> FewShape:
        """What one block has where there cannot be several that do not wait for one another."""
        return FewShape(self.one_threads, self.large_items)

    @property
    def sweep(self) -> FewShape:
        """What blocks have that read all that lies before their items."""
        return FewShape(self.sweep_threads, self.one_items, self.sweep_loads)

    @property
    def look(self) -> FewShape:
        """What blocks have that look back."""
        return FewShape(self.look_threads, self.look_items, 0, self.look_states, self.look_patience, self.look_tiles)

    @property
    def tile(self) -> TileShape:
        """The tile of a block that has one."""
        return TileShape(self.tile_threads, self.tile_items)

    @property
    def wide(self) -> TileShape:
        """The tile of a block that has one of many."""
        return TileShape(self.tile_threads, self.wide_items)


BYTES = 108  # of a thread's items in a tile, in memory or as totals, whichever is more
SHARED = 220 << 10  # bytes of an sm_90's shared memory for the slots of a ring, and for results beside them
HELD = 248  # bytes of a thread's totals that a ring keeps in registers
WIDEST = 16  # bytes of an access: a thread's items where there are few, so that neighbours lie side by side
SWEEPS, LOOKS = 16, 128  # blocks of 256 threads, of 1024 threads
RINGS = 17 << 20  # bytes of items, or of totals, from where on blocks persist
# For (capability, bytes of an item, bytes of a total): what was measured to be better.
BY_CAPABILITY: dict[tuple[tuple[int, int], int, int], ScanPolicy] = {}


def policy_for(capability: tuple[int, int], item: np.dtype[Any], total: np.dtype[Any]) -> ScanPolicy:
    """Return the policy for a device, dtypes of items and of totals."""
    found = BY_CAPABILITY.get((capability, item.itemsize, total.itemsize))
    if found is not None:
        return found
    size = max(item.itemsize, total.itemsize, 1)
    most, few = BYTES // size, power_of_two(min(WIDEST // size, 4))
    threads, items = ring_of(item, total)
    return ScanPolicy(
        threads=threads,
        items=items,
        tile_items=odd(min(most, 15)),
        wide_items=odd(min(most, 23)),
        wide_from=LOOKS * 1024 * few,
        one_threads=1024 if size <= WIDEST else 256,
        one_items=few,
        large_items=2 * few if size <= WIDEST else 1,
        sweep_until=SWEEPS * 256 * few,
        look_until=LOOKS * 1024 * few,
        look_items=few,
        ring_from=RINGS // max(size, 4),
    )


def ring_of(item: np.dtype[Any], total: np.dtype[Any]) -> tuple[int, int]:
    """Return the threads and items of persistent blocks: few threads of many items, where results replace items."""
    results = 0 if item.itemsize == total.itemsize or item == np.float16 else total.itemsize
    threads = 256 if item.itemsize == total.itemsize else 512
    fits = SHARED // ((4 * item.itemsize + results) * threads)
    return threads, odd(max(min(fits, HELD // total.itemsize, 53), 1))


def odd(items: int) -> int:
    """Return the largest odd number up to `items`, at least 1."""
    return max(items - (items % 2 == 0), 1)


def power_of_two(number: int) -> int:
    """Return the largest power of two up to a number, at least 1."""
    return 1 << max(number.bit_length() - 1, 0)
