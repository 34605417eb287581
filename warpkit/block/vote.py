"""Votes of a block, its barrier, and one thread's value for all."""

from ..simt import sync
from ..simt.kinds import Kind
from ..simt.lanes import thread_index
from ..simt.machine import device_function
from ..simt.memory import scratch
from ..simt.refusals import refuse
from ..simt.types import as_int64, hold
from ..warp.participants import check_movable, check_scalar_predicate
from .totals import SLOTS, put_total, take_total


@device_function()
def sync_block():
    """Wait for all threads of the block; what they stored before is seen by all of them afterwards.

    Called by: all threads of the block, at one place of the program: never in a branch that only some of them take.
    Returns: nothing.  Cost: 1 barrier.
    """
    sync.barrier()


def _check_vote(name):
    def check(pred: Kind) -> None:
        check_scalar_predicate(name, pred)

    return check


@device_function(_check_vote("block_all"))
def block_all(pred):
    """Return whether every thread of the block has a true `pred`.

    Called by: all threads of the block; a thread with nothing to say calls with what changes nothing.
    Args: pred: bool or an integer, non-zero is true.
    Returns: bool, in every thread.
    Storage: none.  Cost: 1 barrier, which votes.
    Example: 100 threads call with index < 100 -> True.
    """
    return sync.barrier_all(pred != 0)


@device_function(_check_vote("block_any"))
def block_any(pred):
    """Return whether some thread of the block has a true `pred`. See `block_all`.

    Returns: bool, the same in every thread.
    Example: 100 threads call with index == 99 -> True.
    """
    return sync.barrier_any(pred != 0)


@device_function(_check_vote("block_count"))
def block_count(pred):
    """Count the threads of the block with a true `pred`. See `block_all`.

    Returns: int32, in every thread.     Example: 100 threads call with index < 7 -> 7.
    """
    return sync.barrier_count(pred != 0)


def _check_broadcast(value: Kind, thread: Kind) -> None:
    check_movable("block_broadcast", value)
    if not thread.is_integer:
        refuse(f"block_broadcast: thread must be an integer, not {thread.name}.")


@device_function(_check_broadcast)
def block_broadcast(value, thread):
    """Return `value` of thread number `thread` to all threads of the block.

    Called by: all threads of the block.
    Args: value: anything that moves: numbers, vectors, tuples, records of any size.  thread: linear index 0…block size
    − 1, the same in all threads; with any other the result is undefined.
    Returns: the value, type of `value`.
    Storage: 32 slots of shared memory, each the value's 32-bit words rounded up to a power of two, × 4 bytes (128 bytes
    for float32), one memory shared by all collectives of that size; free again when it returns.
    Cost: 2 barriers.     Example: thread = 5, every thread holds its index -> 5 in every thread.
    """
    value = hold(value)
    words = scratch(SLOTS, value)
    if thread_index() == as_int64(thread):
        put_total(words, 0, value)
    sync.barrier()
    result = take_total(words, 0, value)
    sync.barrier()
    return result
