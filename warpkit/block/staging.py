"""Staging: the block copies tiles of global memory to shared memory while it works on others.

Every thread issues its own part, in the widest pieces that both addresses are aligned to; where the GPU can, one
instruction copies all whole 16-byte pieces at once. GPUs without either load and store.
"""

from ..simt.debug import check_index
from ..simt.kinds import Kind
from ..simt.lanes import block_size, thread_index
from ..simt.machine import device_function
from ..simt.memory import is_aligned
from ..simt.refusals import refuse
from ..simt.staging import await_stages, block_copy_pipeline, close_stage, copy_bulk, copy_chunk, has_bulk_copy
from ..simt.sync import barrier
from ..simt.types import as_int64

LEAST_BULK_BYTES = 1024  # below, the threads' own copies are as fast

__all__ = ["block_copy_async", "block_copy_pipeline", "block_copy_wait"]


def _check_pipe(name: str, pipe: Kind) -> None:
    if pipe.is_numeric or pipe.family in ("none", "function", "undecorated", "array"):
        refuse(f"{name}: pipe must come from block_copy_pipeline(stages), not be {pipe.name}.")


def _check_async(pipe: Kind, target_shared: Kind, source: Kind, base: Kind, num_items: Kind) -> None:
    _check_pipe("block_copy_async", pipe)
    for what, given in (("target_shared", target_shared), ("source", source)):
        if given.family != "array":
            refuse(f"block_copy_async: {what} must be an array, not {given.name}.")
    for what, given in (("base", base), ("num_items", num_items)):
        if not given.is_integer:
            refuse(f"block_copy_async: {what} must be an integer, not {given.name}.")


@device_function(_check_async)
def block_copy_async(pipe, target_shared, source, base, num_items):
    """Begin to copy `source[base : base + num_items]` to the start of `target_shared`: the next stage of `pipe`.

    Called by: all threads of the block, with the same arguments.
    Args: pipe: from `block_copy_pipeline`.  target_shared, source: one-dimensional and contiguous, of one dtype (any,
    records too); a row of a two-dimensional shared array will do. No thread may still be using the target: put a
    `sync_block`, or a `block_copy_wait`, which ends with one, between.  num_items: any number; 0 or less: nothing.
    Returns: nothing; the items are in the target for the whole block after `block_copy_wait`, not before.
    Storage: none.
    Cost: no barrier. On sm_90, from 1024 bytes on with both addresses multiples of 16, one bulk copy; otherwise one
    cp.async (sm_80) per thread and 16, 8 or 4 bytes, as aligned; bytes beyond, and all on older GPUs, are loaded and
    stored.
    Errors: Refused for arrays of different dtypes or with strides.
    """
    base = as_int64(base)
    count = max(as_int64(num_items), 0)
    if count > 0:
        check_index(source, base)
        check_index(source, base + count - 1)
        check_index(target_shared, count - 1)
    nbytes = count * target_shared.itemsize
    bulk = has_bulk_copy() and nbytes >= LEAST_BULK_BYTES and both_aligned(target_shared, source, base, 16)
    if bulk and thread_index() == 0:
        copy_bulk(pipe, target_shared, source, base, nbytes & ~15)
    done = (nbytes & ~15) if bulk else 0
    if done < nbytes:
        copy_pieces(pipe, target_shared, source, base, done, nbytes)
    close_stage(pipe, bulk)


@device_function()
def copy_pieces(pipe, target_shared, source, base, done, nbytes):
    """Begin to copy the bytes from `done` on, by all threads, in the widest pieces that the alignment allows."""
    if both_aligned(target_shared, source, base, 16):
        copy_chunks(pipe, target_shared, source, base, done, nbytes & ~15, 16)
        done = nbytes & ~15
    if both_aligned(target_shared, source, base, 8):
        copy_chunks(pipe, target_shared, source, base, done, nbytes & ~7, 8)
        done = nbytes & ~7
    if both_aligned(target_shared, source, base, 4):
        copy_chunks(pipe, target_shared, source, base, done, nbytes & ~3, 4)
        done = nbytes & ~3
    if (target_shared.itemsize & 3) != 0 and both_aligned(target_shared, source, base, 2):
        copy_chunks(pipe, target_shared, source, base, done, nbytes & ~1, 2)
        done = nbytes & ~1
    copy_chunks(pipe, target_shared, source, base, done, nbytes, 1)


@device_function()
def both_aligned(target, source, base, nbytes):
    """Return whether both runs start at multiples of `nbytes`."""
    return is_aligned(target, 0, nbytes) and is_aligned(source, base, nbytes)


@device_function(constants=("width",))
def copy_chunks(pipe, target, source, base, begin, end, width):
    """Begin to copy the bytes from `begin` up to `end`, `width` at a time, a piece a thread."""
    offset = begin + thread_index() * width
    while offset < end:  # a range with a step that is not constant divides
        copy_chunk(pipe, target, source, base, offset, width)
        offset += block_size() * width


def _check_wait(pipe: Kind, stages_left: Kind) -> None:
    _check_pipe("block_copy_wait", pipe)
    if not stages_left.is_integer:
        refuse(f"block_copy_wait: stages_left must be an integer, not {stages_left.name}.")


@device_function(_check_wait)
def block_copy_wait(pipe, stages_left):
    """Wait until all stages of `pipe` but the newest `stages_left` have landed: their items may be read by all threads.

    Called by: all threads of the block.
    Args: stages_left: how many stages may go on, the same in all threads; 0 waits for everything.
    Returns: nothing.
    Storage: none.  Cost: 1 barrier, behind which the block may also reuse what it read before.
    Example: two stages: copy tile 0; loop: copy the next tile, wait with 1 left, work on the tile that has landed.
    """
    await_stages(pipe, stages_left)
    barrier()
