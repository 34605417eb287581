"""How large the tiles of a compaction are, and how many a block has in flight: data, measured in bench/."""

from dataclasses import dataclass
from typing import Any

from ..errors import Refused
from ..simt import machine
from .policies import check_bounds
from .scan_few import FewShape

MOST_ITEMS = 31  # of a thread: a bit for each in 32; odd, so that threads read from different banks

THREADS = tuple(f"{whose}threads" for whose in ("", "few_", "alone_", "small_", "one_", "look_", "look_large_"))


@dataclass(frozen=True)
class SelectPolicy:
    """The tuning of select, select_flagged, nonzero, partition, unique and run_length_encode.

    Many items: blocks that stay have `stages` tiles in flight, `ahead` of them published before the first one is
    finished, of `threads` threads with about `nbytes` bytes each, flags and places included; so many `blocks` a
    multiprocessor, or as many as fit.  Few items: a block for each tile, of `few_threads` threads with about
    `few_nbytes` bytes of items each, from `large_from` items on with `large_nbytes`; up to `most_tiles` such tiles a
    multiprocessor.  What is more than such a tile, but not more than `alone_threads` threads with as many bytes each
    hold, is the tile of one block; what is more than that has, up to `small_until` items, tiles of `small_threads`
    threads.
    Fewest items, of at most 16 bytes and no records, from registers: up to `one_until` one block of `one_threads`
    threads does with `one_items` each what it can. Then up to `look_until` blocks of `look_items` items a thread look
    back at one another, at `look_states` states a lane, `look_patience` times before they do the work of one that does
    not answer; they have 256 threads, or up to `look_threads` where there were else more than `look_tiles` of them.
    Above `look_large_from` items these numbers are those of `look_large_threads`, `_items` and `_states`.
    Partitions have up to `whole_tiles` such blocks a multiprocessor: each needs what all count, so all should run.
    Runs, and what is written in place has one block with `wide_items` a thread instead, up to `wide_until`.
    Threads: a power of two, 32 to 1024. Where shared memory does not hold the tiles there are fewer and smaller ones.
    """

    threads: int = 512
    nbytes: int = 108
    stages: int = 4
    blocks: int = 1
    ahead: int = 2
    few_threads: int = 256
    few_nbytes: int = 28
    most_tiles: int = 5
    alone_threads: int = 512
    small_threads: int = 128
    small_until: int = 1 << 15
    large_from: int = 1 << 19
    large_nbytes: int = 60
    one_threads: int = 1024
    one_items: int = 4
    one_until: int = 1 << 12
    wide_items: int = 8
    wide_until: int = 1 << 13
    look_threads: int = 1024
    look_items: int = 4
    look_tiles: int = 64
    look_states: int = 1
    look_patience: int = 64
    look_until: int = 1 << 21
    look_large_from: int = 1 << 18
    look_large_threads: int = 512
    look_large_items: int = 8
    look_large_states: int = 4
    whole_tiles: int = 1

    def __post_init__(self) -> None:
        for name in THREADS:
            threads = getattr(self, name)
            if threads not in (32, 64, 128, 256, 512, 1024):
                raise Refused(f"SelectPolicy: {name} must be a power of two from 32 to 1024, not {threads!r}.")
        check_bounds(
            self,
            **dict.fromkeys(THREADS, (32, 1024)),
            nbytes=(1, 512),
            few_nbytes=(1, 512),
            large_nbytes=(1, 512),
            small_until=(0, 1 << 50),
            large_from=(0, 1 << 50),
            stages=(2, 8),
            ahead=(1, 7),
            blocks=(1, 32),
            most_tiles=(0, 1 << 20),
            one_items=(1, 16),
            one_until=(0, 1 << 14),
            wide_items=(1, 16),
            wide_until=(0, 1 << 14),
            look_items=(1, 32),
            look_tiles=(1, 1 << 20),
            look_states=(1, 32),
            look_patience=(0, 1 << 20),
            look_until=(0, 1 << 30),
            look_large_from=(0, 1 << 30),
            look_large_items=(1, 32),
            look_large_states=(1, 32),
            whole_tiles=(0, 1 << 20),
        )

    @property
    def one(self) -> FewShape:
        """Return the shape of the one block that compacts few items."""
        return FewShape(self.one_threads, self.one_items)

    @property
    def wide(self) -> FewShape:
        """Return the shape of the one block where several are of no use."""
        return FewShape(self.one_threads, self.wide_items)

    @property
    def look(self) -> FewShape:
        """Return the shape of blocks that look back."""
        return self._looking(self.look_threads, self.look_items, self.look_states)

    @property
    def look_large(self) -> FewShape:
        """Return the shape of those over more items."""
        return self._looking(self.look_large_threads, self.look_large_items, self.look_large_states)

    def _looking(self, threads: int, items: int, states: int) -> FewShape:
        return FewShape(threads, items, 0, states, self.look_patience, self.look_tiles)


DEFAULT = SelectPolicy()
# For (capability, bytes of an item): what was measured to be better.
BY_CAPABILITY: dict[tuple[tuple[int, int], int], SelectPolicy] = {}


def policy_of(name: str, policy: Any, itemsize: int) -> SelectPolicy:
    """Return the policy of a call: the given one, else that for the device and the item size."""
    if policy is None:
        return BY_CAPABILITY.get((machine.properties().compute_capability, itemsize), DEFAULT)
    if not isinstance(policy, SelectPolicy):
        raise Refused(f"{name}: policy must be a SelectPolicy, not a {type(policy).__name__}.")
    return policy


def items_of_thread(nbytes: int, itemsize: int) -> int:
    """Return how many items a thread has: an odd number."""
    items = max(min(nbytes // itemsize, MOST_ITEMS), 1)
    return items - 1 + items % 2
