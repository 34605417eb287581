"""How the blocks of a reduction leave their totals to the one that is done last: no fence, nothing to clear.

As in block/grid.py, who counts last knows that the others have stored their totals; here it need not know that they
have arrived. A total travels with its tag, in one access up to 12 bytes, so that the last block waits for those few
that are still on their way. A store, its fence and the count would be three trips to the L2 cache one after the other;
here the store and the count are one. The last block leaves the scratch as it found it: every state absent, the counter
at 0. Grids are flat.
"""

from ..block.grid import COUNTER, LONG
from ..block.states import HEAD
from ..simt.lanes import block_x, grid_x, thread_x
from ..simt.machine import device_function
from ..simt.memory import atomic_add, store_relaxed
from ..simt.states import (
    ABSENT,
    AGGREGATE,
    begin_load,
    end_load,
    load_state,
    nothing_begun,
    state_value,
    store_state,
    viewed,
)
from ..simt.sync import barrier_any, sleep
from ..simt.types import combine

EPOCH = 0  # states are absent between launches
NAP = 20  # nanoseconds


@device_function()
def leave_share(total, store):
    """Store the block's total and count the block as done; return whether it was the last, in every thread."""
    is_last = False
    if thread_x() == 0:
        store_state(store, HEAD + block_x(), total, EPOCH, AGGREGATE)
        is_last = atomic_add(viewed(store, LONG), COUNTER, 1) == grid_x() - 1
    return barrier_any(is_last)


@device_function()
def begin_share(store, block, blocks):
    """Begin to load the total of a block, for `end_share`; nothing where there is no such block."""
    begun = nothing_begun(store)
    if block < blocks:
        begun = begin_load(store, HEAD + block)
    return begun


@device_function()
def end_share(store, begun, block, like):
    """Return the total of a block, waiting until it is there, and make its state absent again: by one thread."""
    value, status = end_load(store, begun, HEAD + block, EPOCH, like)
    while status == ABSENT:
        sleep(NAP)
        value, status = load_state(store, HEAD + block, EPOCH, like)
    store_state(store, HEAD + block, state_value(store), EPOCH, ABSENT)
    return value


@device_function()
def with_share(total, op, store, begun, block, blocks, like):
    """Return `total` combined with that of a block, where there is such a block."""
    return combine(op, total, end_share(store, begun, block, like)) if block < blocks else total


@device_function()
def take_share(store, block, like):
    """Return the total of a block as `end_share` does."""
    return end_share(store, begin_load(store, HEAD + block), block, like)


@device_function()
def forget_blocks(store):
    """Set the counter to 0; called by thread 0 of the last block."""
    store_relaxed(viewed(store, LONG), COUNTER, 0)
