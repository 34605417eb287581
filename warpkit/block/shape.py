"""What a block looks like from one of its threads: warps, the lanes that exist, the checks that collectives share."""

from ..simt.kinds import Kind
from ..simt.lanes import as_mask, block_size, thread_index
from ..simt.machine import device_function
from ..simt.refusals import refuse
from ..simt.types import as_int64, cast_like
from ..warp.participants import FULL_MASK


@device_function()
def int32(number):
    """Return an integer as int32: Numba widens every sum, and inside a block 32 bits are enough."""
    return cast_like(thread_index(), number)


@device_function()
def log2_up(count):
    """Return the exponent of the smallest power of two not below `count`, 1…4096; folds where that is constant."""
    return (
        (count > 1) + (count > 2) + (count > 4) + (count > 8) + (count > 16) + (count > 32)
        + (count > 64) + (count > 128) + (count > 256) + (count > 512) + (count > 1024) + (count > 2048)
    )  # fmt: skip


@device_function()
def warp_number():
    """Return the number of this thread's warp in its block, int32."""
    return int32(thread_index() >> 5)


@device_function()
def lane_number():
    """Return this thread's lane, int32: from its index, which a collective needs anyway."""
    return int32(thread_index() & 31)


@device_function()
def warps_of(threads):
    """Return how many warps hold `threads` threads, int32."""
    return int32(int32(threads + 31) >> 5)


@device_function()
def between(number, low, high):
    """Return `number` no lower than `low` and no higher than `high`, int32.

    In this order: CUDA 13.0's assembler takes max(min(x, n), 0) == n for max(min(x, n), 0) == x on sm_90 and sm_100.
    """
    return min(max(int32(number), int32(low)), int32(high))


@device_function()
def lanes_of(count):
    """Return how many of the block's first `count` threads are in this thread's warp, int32 0…32."""
    return between(int32(count) - int32(thread_index() & ~31), 0, 32)


@device_function()
def existing_lanes():
    """Return the mask of the lanes that this thread's warp has: all, except in a partial last warp."""
    count = lanes_of(block_size())
    return as_mask(FULL_MASK if count == 32 else (1 << count) - 1)


@device_function()
def valid_threads(num_valid):
    """Return how many threads of the block contribute, int32: `num_valid` within 0…block size, None for all."""
    if num_valid is None:
        return block_size()
    return int32(min(max(as_int64(num_valid), 0), block_size()))


def check_count(name: str, num_valid: Kind) -> None:
    """Refuse a `num_valid` that is no integer."""
    if num_valid.family != "none" and not num_valid.is_integer:
        refuse(f"{name}: num_valid must be an integer, not {num_valid.name}.")
