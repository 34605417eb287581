"""Shared memory through which items change threads: a fixed pool used in rounds, or the caller's own array.

A slot is the place of one item. The pool keeps the k-th words of all slots together, so that neighbouring slots are in
neighbouring banks whatever the size of an item. A collective that needs more slots than there are works through
windows of them; every window ends with a barrier, so the memory is free again when the collective returns.
"""

from ..simt.kinds import Kind
from ..simt.lanes import block_size
from ..simt.machine import device_function
from ..simt.memory import put, take, words_of
from ..simt.refusals import refuse
from ..simt.sync import barrier
from ..simt.types import as_index, hold
from .shape import int32, log2_up

# 8 KB: `scratch(POOL_WORDS, np.uint32(0))`, called in the function that uses it; not there where it is not used.
POOL_WORDS = 2048


@device_function()
def capacity(scratch, like):
    """Return how many slots fit: a power of two in the pool (`scratch` None), the length of the caller's own array."""
    if scratch is None:
        return int32(POOL_WORDS >> log2_up(words_of(like)))
    return int32(scratch.size)


@device_function()
def put_slot(pool, scratch, slot, value):
    """Store `value` in a slot."""
    if scratch is None:
        put(pool, slot, capacity(scratch, value), value)
    else:
        scratch[as_index(slot)] = value


@device_function()
def take_slot(pool, scratch, slot, like):
    """Return the value in a slot."""
    if scratch is None:
        return take(pool, slot, capacity(scratch, like), like)
    return hold(scratch[as_index(slot)])


@device_function()
def hand_over(pool, scratch, value, target, source):
    """Put `value` in slot `target` and return what slot `source` then holds: one slot for every thread of the block.

    Called by: all threads of the block. A target outside 0…block size − 1 stores nothing, such a source gives `value`.
    Cost: 2 barriers for every window of slots.
    """
    window, start, result = capacity(scratch, value), int32(0), value
    while start < block_size():
        room = min(window, int32(block_size() - start))
        there, here = int32(target - start), int32(source - start)
        if 0 <= there and there < room:
            put_slot(pool, scratch, there, value)
        barrier()
        if 0 <= here and here < room:
            result = take_slot(pool, scratch, here, value)
        barrier()
        start = int32(start + window)
    return result


def check_scratch(name: str, scratch: Kind, item: Kind) -> None:
    """Refuse a `scratch` that is not an array of the items' type."""
    if scratch.family == "none":
        return
    if scratch.family != "array" or not scratch.parts:
        refuse(f"{name}: scratch must be a shared_array of {item.name}, or None, not {scratch.name}.")
    if scratch.parts[0].name != item.name:
        refuse(f"{name}: scratch must be a shared_array of {item.name}, not of {scratch.parts[0].name}.")
