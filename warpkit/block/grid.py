"""Reducing over the whole grid in one launch: the block that is done last combines what all blocks left behind.

Threadfence reduction (NVIDIA's CUDA samples): a block stores its total, then counts itself as done; who counts last
knows that all totals are there. It leaves the counter at 0, so that the next launch needs no reset.
"""

from typing import Any

import numpy as np

from ..simt import machine
from ..simt.debug import check_index
from ..simt.kinds import Kind
from ..simt.lanes import block_index, block_size, grid_size, thread_index
from ..simt.machine import device_function
from ..simt.memory import atomic_add, put, store_relaxed, take, words_of
from ..simt.refusals import refuse
from ..simt.states import state_dtype, state_value, viewed
from ..simt.sync import barrier_any, fence_device
from ..simt.types import combine
from ..warp.participants import check_operator
from .reduce import block_reduce
from .states import HEAD, packed_dtype

COUNTER = 0
LONG, WORD = np.int64(0), np.uint32(0)


def grid_scratch(max_blocks: int, dtype: Any) -> Any:
    """Return scratch for `grid_reduce` in grids of at most `max_blocks` blocks: a plain device array, ready for use.

    Args: dtype: of the values: any NumPy scalar dtype, complex, a structured dtype or a tuple of dtypes, nested; for
    a CUDA vector the tuple of its components.
    Returns: a one-dimensional device array; one `grid_reduce` of a launch may use it, one launch at a time.
    Size: as for `tile_states`.
    Errors: Refused for a dtype that holds no numbers, ValueError for a negative number of blocks.
    """
    if max_blocks < 0:
        raise ValueError(f"grid_scratch: max_blocks must not be negative, as {max_blocks} is.")
    return machine.zeros(int(max_blocks) + HEAD, state_dtype(packed_dtype("grid_scratch", dtype)))


def _check(value: Kind, op: Kind, scratch: Kind) -> None:
    check_operator("grid_reduce", value, op)
    if scratch.family != "array":
        refuse(f"grid_reduce: scratch must come from grid_scratch(max_blocks, dtype), not be {scratch.name}.")


@device_function(_check)
def grid_reduce(value, op, scratch):
    """Reduce `value` over all threads of the grid; the block that is done last gets the result.

    Called by: all threads of every block of the grid, at most once in a launch for the same `scratch`.
    Args: value: this thread's value; any number, vector or tuple.  op: associative (earlier, later) -> combined.
    scratch: from `grid_scratch`, for at least as many blocks as the grid has, with the dtype of the value.
    Returns: (is_last, total): in one block (True, the reduction), in every thread of it; in the others (False, the
    block's own reduction). Type: that of `scratch`. The last block sees what the others wrote before the call.
    Storage: that of `block_reduce`; free again when it returns.
    Order: blocks by linear index, in them threads by linear index; `op` need not be commutative.  Deterministic.
    Cost: two `block_reduce` in the last block, one in the others; 1 barrier, 1 global atomic and 2 fences a block.
    Errors: Refused for a record, for a value that does not go into the scratch.
    Example: 3 blocks of 100 threads that hold 1, add -> (True, 300) in one block, (False, 100) in two.
    """
    total = block_reduce(state_value(scratch, value), op)
    is_last = leave_total(total, scratch)
    if is_last:
        total = combine_blocks(total, op, scratch)
    return is_last, total


@device_function()
def leave_total(total, store):
    """Store the block's total and count the block as done; return whether it was the last, in every thread."""
    is_last = False
    if thread_index() == 0:
        put_total(store, block_index(), total)
        fence_device()  # the total is there before the block counts as done
        done = atomic_add(viewed(store, LONG), COUNTER, 1)
        fence_device()  # the totals of the others are read after it counted
        is_last = done == grid_size() - 1
    return barrier_any(is_last)


@device_function()
def combine_blocks(like, op, store):
    """Reduce the totals of all blocks in their order: each thread takes a run of them, of a power of two."""
    blocks = grid_size()
    run = 0  # its exponent: a division would be one per launch, but of 64 bits and with a branch for errors
    while (block_size() << run) < blocks:
        run += 1
    first = thread_index() << run
    total = like
    if first < blocks:
        total = take_total(store, first, like)
        for block in range(first + 1, min(first + (1 << run), blocks)):
            total = combine(op, total, take_total(store, block, like))
    total = block_reduce(total, op, (blocks + (1 << run) - 1) >> run)
    if thread_index() == 0:
        store_relaxed(viewed(store, LONG), COUNTER, 0)
    return total


@device_function()
def put_total(store, block, total):
    """Store the total of a block, word after word."""
    words = viewed(store, WORD)
    first = (HEAD + block) * words_of(total)
    check_index(words, first + words_of(total) - 1)
    put(words, first, 1, total)


@device_function()
def take_total(store, block, like):
    """Return the total of a block."""
    return take(viewed(store, WORD), (HEAD + block) * words_of(like), 1, like)
