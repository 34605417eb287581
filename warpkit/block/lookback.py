"""Look-back: every tile learns what all tiles before it add up to, in one launch and one pass over the data.

Decoupled look-back (Merrill & Garland 2016). A block publishes the aggregate of its tile as early as it can; whoever
needs the tiles before reads their states 32 at a time, back to the nearest one that already knows its own prefix.

- Tiles are numbered by an atomic counter in the order in which blocks ask, so that a tile is only ever waited for when
  some running block has it: no assumption about the order in which blocks start.
- Nobody clears the states between launches: they carry the launch's epoch, the upper half of the counter. The last
  number that is drawn in a launch puts the counter back to 0 and the epoch up by one. A block has drawn at least one
  number when it asks for its epoch, so that the counter holds either (epoch, n > 0) or (epoch + 1, 0): less one, its
  upper half is the epoch of the launch in both cases.
- An epoch has 30 bits in a state. Each launch also clears one state that it does not use, in turn, so that none
  survives until its epoch comes again.
"""

import numpy as np

from ..simt.debug import check_drawn, note_draw
from ..simt.kinds import Kind
from ..simt.lanes import as_mask, grid_size, lane_id, thread_index
from ..simt.machine import device_function
from ..simt.memory import atomic_add, load_relaxed, put, scratch, take
from ..simt.refusals import refuse
from ..simt.states import (
    ABSENT,
    AGGREGATE,
    INCLUSIVE,
    address_of,
    block_notes,
    in_one_access,
    load_state,
    state_value,
    store_state,
    viewed,
)
from ..simt.sync import barrier
from ..simt.types import cast_like, combine
from ..warp.participants import check_init, check_operator
from .lookback_walk import look_back
from .states import HEAD

COUNTER, TURN = 0, 1  # int64 words of the head: epoch and number; the state to be cleared by the next launch that can
LONG = np.int64(0)


def _check_states(name: str, states: Kind) -> None:
    if states.family != "array":
        refuse(f"{name}: states must come from tile_states(num_tiles, dtype), not be {states.name}.")


def _check_number(name: str, what: str, number: Kind) -> None:
    if not number.is_integer:
        refuse(f"{name}: {what} must be an integer, not {number.name}.")


def _check_next(states: Kind, num_tiles: Kind, also: Kind) -> None:
    _check_states("lookback_next_tile", states)
    _check_number("lookback_next_tile", "num_tiles", num_tiles)
    if also.family != "none":
        _check_states("lookback_next_tile", also)


@device_function(_check_next)
def lookback_next_tile(states, num_tiles, also=None):
    """Return the number of the tile that this block works on next, −1 when none is left.

    Called by: all threads of every block of the grid, in a loop until it returns −1; once through in a launch.
    Args: states: from `tile_states`.  num_tiles: how many tiles this launch has, the same in all blocks, at most the
    capacity of `states`.  also: further states that are used with the same tile numbers, for a second look-back whose
    aggregates depend on the first.
    Returns: int32, the same in every thread; each number 0…num_tiles − 1 is given out once, in ascending order. Every
    tile so drawn must be published, or asked for its prefix.
    Storage: 32 bytes of shared memory for the whole kernel.  Cost: 1 global atomic, 2 with `also`; 2 barriers.
    Order: a block may draw tiles ahead of those that it has finished, as long as it publishes them without waiting.
    Example: 3 tiles, 2 blocks -> 0, 2, −1 in one block and 1, −1 in the other.
    """
    notes = block_notes()
    if thread_index() == 0:
        notes[0] = address_of(states)
        notes[1] = draw(states, num_tiles)
        notes[2] = 0
        if also is not None:  # its numbers go to nobody, but they are counted, and so its launches
            notes[2] = address_of(also)
            notes[3] = draw(also, num_tiles)
    barrier()
    number = (notes[1] - 1) & 0xFFFFFFFF
    barrier()
    return cast_like(lane_id(), number if number < num_tiles else -1)


@device_function()
def draw(states, num_tiles):
    """Draw a number; return the counter behind it, int64."""
    note_draw(states)
    return drawn(states, atomic_add(viewed(states, LONG), COUNTER, 1), num_tiles)


@device_function()
def drawn(states, counter, num_tiles):
    """Do what follows a draw that found the counter at `counter`; return the counter behind it."""
    last = num_tiles + grid_size() - 1  # every block draws one number too many
    if (counter & 0xFFFFFFFF) == last:
        end_launch(states, viewed(states, LONG), counter, num_tiles)
    return counter + 1


@device_function()
def end_launch(states, head, drawn, num_tiles):
    """Do what follows the last number of a launch: next epoch, numbers from 0, one state that is not in use cleared."""
    atomic_add(head, COUNTER, (1 << 32) - ((drawn & 0xFFFFFFFF) + 1))
    turn = head[TURN]
    capacity = states.size - HEAD
    if turn >= num_tiles and turn < capacity:
        store_state(states, HEAD + turn, state_value(states), as_mask(drawn >> 32), ABSENT)
    head[TURN] = turn + 1 if turn + 1 < capacity else 0


@device_function()
def epoch_of(states):
    """Return this launch's epoch, uint32; called by threads of warp 0, which see what thread 0 drew."""
    notes = block_notes()
    mine = address_of(states)
    if notes[0] == mine:  # what this block drew last
        counter = notes[1]
    elif notes[2] == mine:
        counter = notes[3]
    else:  # it drew from other states since: what anybody has drawn
        counter = load_relaxed(viewed(states, LONG), COUNTER)
    return as_mask((counter - 1) >> 32)


def _check_publish(states: Kind, tile: Kind, aggregate: Kind) -> None:
    _check_states("lookback_publish", states)
    _check_number("lookback_publish", "tile", tile)
    if not aggregate.is_movable or any(leaf.family == "record" for leaf in aggregate.leaves):
        refuse(f"lookback_publish: aggregate must be a number, vector or tuple, not {aggregate.name}.")


@device_function(_check_publish)
def lookback_publish(states, tile, aggregate):
    """Tell the blocks of later tiles what `tile` adds up to; as early as it is known, which is what makes scans fast.

    Called by: all threads of the block that drew `tile`, at most once per tile and before `lookback_exclusive_prefix`,
    which otherwise does it.
    Args: aggregate: of this tile alone; thread 0's counts; converted to the type of the states.
    Returns: nothing.
    Storage: none.  Cost: 1 store by thread 0; no barrier: what a thread knows it may publish at once.
    Errors: Refused for an aggregate that does not go into the states.
    """
    if thread_index() == 0:
        value = state_value(states, aggregate)
        check_drawn(states)
        publish(states, tile, value, epoch_of(states))


@device_function()
def publish(states, tile, value, epoch):
    """Store the aggregate of a tile; of tile 0 it is the inclusive prefix too."""
    store_state(states, HEAD + tile, value, epoch, INCLUSIVE if tile == 0 else AGGREGATE)


def _check_prefix(states: Kind, tile: Kind, aggregate: Kind, op: Kind, init: Kind) -> None:
    _check_states("lookback_exclusive_prefix", states)
    _check_number("lookback_exclusive_prefix", "tile", tile)
    check_operator("lookback_exclusive_prefix", aggregate, op)
    if init.family != "none":
        check_init("lookback_exclusive_prefix", aggregate, init)


@device_function(_check_prefix)
def lookback_exclusive_prefix(states, tile, aggregate, op, init):
    """Return `init` combined with the aggregates of all tiles before `tile`, waiting for those that are not there yet.

    Called by: all threads of the block that drew `tile`, once per tile.
    Args: aggregate: of this tile alone; thread 0's counts, the one that it published if it did.  op: associative
    (earlier, later) -> combined.  init: the first operand, the same in all blocks; not part of what blocks exchange.
    None: the aggregates are combined without one, and what tile 0 gets means nothing.
    Returns: op(init, aggregates of tiles 0…tile − 1), in the type of the states, in every thread; tile 0 gets `init`.
    Storage: one slot of shared memory for the value, shared with other collectives; free again when it returns.
    Order: tile order; `op` need not be commutative. Which aggregates are combined first depends on timing: floats may
    differ in their last bits between launches.
    Cost: 2 barriers; warp 0 reads 32 states at a time and per 32-bit word of the value shuffles 5 times for each 32.
    It orders no other memory: data that a block wrote for a later tile needs fences of its own.
    Errors: Refused for a record, for an aggregate that does not go into the states.
    Source: Merrill & Garland 2016.     Example: aggregates 1, 2, 3, add, init 10 -> 10, 11, 13.
    """
    value = state_value(states, aggregate)
    check_drawn(states)
    start = value
    if init is not None:
        start = cast_like(value, init)
    words = scratch(1, value)
    if thread_index() < 32:
        epoch = epoch_of(states)
        if lane_id() == 0 and (in_one_access(states) or not published(states, tile, epoch, value)):
            publish(states, tile, value, epoch)  # as one access it may be stored a second time
        prefix = start
        if tile > 0:
            before = look_back(states, tile, epoch, op, value)
            if lane_id() == 0:
                store_state(states, HEAD + tile, combine(op, before, value), epoch, INCLUSIVE)
            prefix = before
            if init is not None:
                prefix = combine(op, start, before)
        if lane_id() == 0:
            put(words, 0, 1, prefix)
    barrier()
    prefix = take(words, 0, 1, value)
    barrier()
    return prefix


@device_function()
def published(states, tile, epoch, like):
    """Return whether this block has already published `tile`."""
    return load_state(states, HEAD + tile, epoch, like)[1] != ABSENT
