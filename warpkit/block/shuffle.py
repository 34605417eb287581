"""Moving one value a thread along the block."""

import numpy as np

from ..simt.kinds import Kind
from ..simt.lanes import block_size, thread_index
from ..simt.machine import device_function
from ..simt.memory import scratch as shared_words
from ..simt.refusals import refuse
from ..simt.types import as_int64, cast_like, hold
from ..warp.participants import check_goes_into, check_movable
from .pool import POOL_WORDS, check_scratch, hand_over
from .shape import int32


def _check(name):
    def check(value: Kind, delta: Kind, fill: Kind, scratch: Kind) -> None:
        check_movable(name, value)
        if not delta.is_integer:
            refuse(f"{name}: delta must be an integer, not {delta.name}.")
        if fill.family != "none":
            check_goes_into(name, "fill", fill, value)
        check_scratch(name, scratch, value)

    return check


@device_function()
def shifted(pool, scratch, value, delta, fill):
    """Return `value` of the thread `delta` above, `fill` or own value where there is none."""
    place = thread_index() + as_int64(delta)
    there = 0 <= place and place < block_size()
    moved = hand_over(pool, scratch, value, thread_index(), int32(place) if there else int32(-1))
    if fill is None:
        return moved
    return moved if there else cast_like(value, fill)


@device_function(_check("block_shuffle_up"))
def block_shuffle_up(value, delta, fill=None, scratch=None):
    """Return `value` of the thread whose linear index is `delta` lower.

    Called by: all threads of the block.
    Args: value: anything that moves: numbers, vectors, tuples, records.  delta: any integer, negative ones read above;
    may differ between threads.  fill: what a thread gets whose source is outside the block; None: its own value.
    scratch: a shared_array of the value's type, of any length: with as many items as threads one round is enough. None:
    a fixed pool.
    Returns: the value, type of `value`.
    Storage: the pool is 8192 bytes of shared memory, one memory for all functions with `scratch=`; free on return.
    Cost: 2 barriers a round; with the pool one round for up to 2048 threads × 32-bit words.
    Example: delta 1, fill −7 -> thread 0 gets −7, thread k the value of thread k − 1.
    """
    pool = shared_words(POOL_WORDS, np.uint32(0))
    return shifted(pool, scratch, hold(value), -as_int64(delta), fill)


@device_function(_check("block_shuffle_down"))
def block_shuffle_down(value, delta, fill=None, scratch=None):
    """Return `value` of the thread whose linear index is `delta` higher. See `block_shuffle_up`.

    Returns: the value, type of `value`; `fill` or the own one without a source.
    Example: delta 1, fill −7 -> the last thread gets −7, thread k the value of thread k + 1.
    """
    pool = shared_words(POOL_WORDS, np.uint32(0))
    return shifted(pool, scratch, hold(value), as_int64(delta), fill)
