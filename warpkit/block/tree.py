"""Tree reduction in shared memory: the textbook form, beside the two-level `block_reduce`, which is faster."""

import numpy as np

from ..simt.bits import highest_bit
from ..simt.kinds import Kind
from ..simt.lanes import block_size, thread_index
from ..simt.machine import device_function
from ..simt.memory import scratch as shared_words
from ..simt.ops import add
from ..simt.sync import barrier
from ..simt.types import combine, hold
from ..warp.participants import check_builtin, check_operator
from .pool import POOL_WORDS, capacity, check_scratch, put_slot, take_slot
from .shape import int32


def _check(value: Kind, op: Kind, scratch: Kind) -> None:
    check_operator("block_tree_reduce", value, op)
    check_scratch("block_tree_reduce", scratch, value)


@device_function(_check)
def block_tree_reduce(value, op, scratch=None):
    """Reduce `value` over the threads of the block by a halving tree, in order of their linear index.

    Called by: all threads of the block.
    Args: value: this thread's value; any number, vector or tuple.  op: associative (earlier, later) -> combined.
    scratch: a shared_array of the value's type, of any length: with half as many items as threads every step is one
    round. None: a fixed pool.
    Returns: the reduction, type of `value`, the same bits in every thread.
    Storage: the pool is 8192 bytes of shared memory, one memory for all functions with `scratch=`; free on return.
    Order: linear thread index; `op` need not be commutative; the block size need not be a power of two. Deterministic.
    Cost: ceil(log2(threads)) steps of 2 barriers, and 2 to hand the result out; more rounds for values over 16 bytes.
    Source: neighbours first, so that the order is kept.     Example: 100 threads hold their index, add -> 4950.
    """
    pool = shared_words(POOL_WORDS, np.uint32(0))
    return tree(pool, scratch, hold(value), op)


@device_function()
def tree(pool, scratch, value, op):
    """Combine neighbours, then pairs of pairs, …: after a step every (2 · span)-th thread holds their total."""
    threads, thread = block_size(), thread_index()
    window, total, span = capacity(scratch, value), value, int32(1)
    while span < threads:
        pair = int32(span + span)
        inside = int32(thread & int32(pair - 1))  # where I stand in my pair; 0 takes, `span` gives
        step = highest_bit(pair)
        slot, slots = int32(thread >> step), int32(int32(threads + int32(pair - 1)) >> step)
        start = int32(0)
        while start < slots:
            near = int32(slot - start)
            held = 0 <= near and near < window
            if held and inside == span:
                put_slot(pool, scratch, near, total)
            barrier()
            if held and inside == 0 and thread + span < threads:
                total = combine(op, total, take_slot(pool, scratch, near, total))
            barrier()
            start = int32(start + window)
        span = pair
    if thread == 0:
        put_slot(pool, scratch, 0, total)
    barrier()
    total = take_slot(pool, scratch, 0, total)
    barrier()
    return total


def _check_sum(value: Kind, scratch: Kind) -> None:
    check_builtin("block_tree_sum", value, add)
    check_scratch("block_tree_sum", scratch, value)


@device_function(_check_sum)
def block_tree_sum(value, scratch=None):
    """Sum `value` over the threads of the block by a halving tree; integers wrap. See `block_tree_reduce`.

    Args: value: any integer, float or complex, vectors and flat tuples of them per component; not bool.

    Returns: the sum, type of `value`, in every thread.
    """
    return block_tree_reduce(value, add, scratch)
