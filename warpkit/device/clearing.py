"""Clearing an output in the launch that adds to it.

Whichever blocks run first clear the output, in slices that they draw, and a block adds to it once all of it is clear.
It waits for blocks that run already and themselves wait for nobody, so it waits in vain on no GPU, however busy. The
block that is done last leaves the scratch as it was. A block alone clears everything and needs no scratch.
Blocks and grids are flat.
"""

import numpy as np

from ..simt.lanes import block_size, grid_x, thread_x
from ..simt.machine import device_function
from ..simt.memory import atomic_add, load_acquire, shared_array, store_relaxed
from ..simt.sync import barrier, fence_device, sleep
from ..simt.types import as_index, as_int64

SLICE = 1 << 12  # elements that a block clears at once
DRAWN, CLEARED, DONE, SLOTS = 0, 1, 2, 3  # of the scratch, int64
NAP = 40  # nanoseconds


@device_function()
def clear_slice(out, first, nothing):
    """Clear the slice of the output that begins with bin `first`."""
    at = first + thread_x()
    end = min(first + SLICE, out.size)
    while at < end:
        out[as_index(at)] = nothing
        at += block_size()


@device_function()
def clear(out, store, nothing):
    """Clear slices of the output until there are none left that nobody has drawn. A block alone clears all of them."""
    drawn = shared_array(1, np.int64)
    first = as_int64(0)
    while first < out.size:
        if grid_x() > 1:
            if thread_x() == 0:
                drawn[0] = atomic_add(store, DRAWN, SLICE)
            barrier()
            first = drawn[0]
        if first < out.size:
            clear_slice(out, first, nothing)
        barrier()
        if grid_x() > 1 and first < out.size and thread_x() == 0:
            fence_device()  # what the block has cleared is seen before it counts
            atomic_add(store, CLEARED, min(SLICE, out.size - first))
        first += SLICE  # what others have drawn lies behind it: beyond the output, there is nothing left to draw


@device_function()
def await_clear(out, store):
    """Wait until the whole output is clear."""
    if grid_x() > 1:
        if thread_x() == 0:
            while load_acquire(store, CLEARED) < out.size:
                sleep(NAP)
        barrier()


@device_function()
def leave(store):
    """Count the block as done, the last one being who makes the scratch as new."""
    if grid_x() > 1 and thread_x() == 0:
        if atomic_add(store, DONE, 1) == grid_x() - 1:
            for slot in range(SLOTS):
                store_relaxed(store, slot, 0)
