"""How large the tiles of a compaction are, and how many a block has in flight: data, measured in bench/."""

from dataclasses import dataclass
from typing import Any

from ..errors import Refused
from ..simt import machine
from .policies import check_bounds

MOST_ITEMS = 31  # of a thread: a bit for each in 32; odd, so that threads read from different banks


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

    def __post_init__(self) -> None:
        for name in ("threads", "few_threads", "alone_threads", "small_threads"):
            threads = getattr(self, name)
            if threads not in (32, 64, 128, 256, 512, 1024):
                raise Refused(f"SelectPolicy: {name} must be a power of two from 32 to 1024, not {threads!r}.")
        check_bounds(
            self,
            threads=(32, 1024),
            few_threads=(32, 1024),
            alone_threads=(32, 1024),
            small_threads=(32, 1024),
            nbytes=(1, 512),
            few_nbytes=(1, 512),
            large_nbytes=(1, 512),
            small_until=(0, 1 << 50),
            large_from=(0, 1 << 50),
            stages=(2, 8),
            ahead=(1, 7),
            blocks=(1, 32),
            most_tiles=(0, 1 << 20),
        )


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
