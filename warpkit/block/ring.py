"""A pass over an array by persistent blocks: tiles in flight, published ahead, one block that adds up for the others.

Every block keeps a ring of tiles in its shared memory: some that are being copied into it, some that are published and
wait for what lies before them, one that is finished. A tile's number is drawn while others are worked on; the first
number of a launch means no tile, but to serve: see lookback_serve.py.

A launch of `blocks` blocks with rings of `stages` slots over `num_tiles` tiles draws 1 + num_tiles + blocks · stages
numbers: a block draws one for each slot and each tile that it works on, and the one that serves as many as it has slots
when it is done, for those that it has not drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..simt.lanes import as_mask, grid_size, thread_index
from ..simt.machine import device_function
from ..simt.memory import atomic_add, local_array, shared_array
from ..simt.states import state_value, viewed
from ..simt.sync import barrier
from ..simt.types import hold
from .lookback import COUNTER, LONG, end_launch, publish
from .lookback_serve import begin_served, serve, served_prefix
from .shape import int32
from .staging import block_copy_pipeline, block_copy_wait
from .tiles import TileShape, following, start_draw, tiles_of, valid_of


@dataclass(frozen=True)
class Ring:
    """What a pass is made of. A tile lies in the bytes of dynamic shared memory from `number * step` on.

    start: (pipe, slot's number, source, other, tile in memory, valid items), which begins to copy a tile, by as many
    `copies`.  gather: (first byte, tile in memory, valid, like, context) -> (what this thread keeps of it, what it adds
    up to), for its whole block.  finish: (first byte, tile in memory, valid, kept, aggregate, what lies before it,
    whether anything does, whether it is the last one, context), which writes it.  arranged: tile -> which it is in
    memory.  op: combines aggregates.  kept, total: types of what a thread keeps and of aggregates, for `local_array`.
    """

    shape: TileShape
    step: int
    start: Callable[..., Any]
    gather: Callable[..., Any]
    finish: Callable[..., Any]
    arranged: Callable[..., Any]
    op: Callable[..., Any]
    kept: Any
    total: Any
    copies: int = 1


# ------------------------------------------------------------------ numbers


@device_function()
def tile_of(states, drawn, num_tiles, draws):
    """Return the tile that a drawn number means, int32, −1 for none; `draws`: how many numbers the launch draws."""
    number = drawn & 0xFFFFFFFF
    if number == draws - 1:
        end_launch(states, viewed(states, LONG), drawn, num_tiles)
    return int32(number - 1 if number <= num_tiles else -1)


@device_function()
def draw_rest(states, num_tiles, draws, count):
    """Draw the `count` numbers that the serving block owes; called by one thread when all tiles are served."""
    drawn = atomic_add(viewed(states, LONG), COUNTER, count) + (count - 1)
    if (drawn & 0xFFFFFFFF) == draws - 1:
        end_launch(states, viewed(states, LONG), drawn, num_tiles)


@device_function()
def valid_at(tile, last_tile, rest, tile_items):
    """Return how many items of a tile there are, int32: `rest` of the last one in memory."""
    return int32(rest if tile == last_tile else tile_items)


# ------------------------------------------------------------------ the pass


def ring_work(ring: Ring) -> Callable[..., Any]:
    """Return what a block does that works on tiles: see `ring_pass`; `first`: the counter at its first draw."""
    shape, step, start, arranged, op = ring.shape, ring.step, ring.start, ring.arranged, ring.op
    gather, finish, kept_type, total_type = ring.gather, ring.finish, ring.kept, ring.total
    stages, tile_items, copies, ahead = shape.stages, shape.tile_items, ring.copies, shape.published
    flying = stages - ahead  # turns from the copy of a tile to its publication
    in_all, held = flying * copies, ahead + 1

    def work(states, first, epoch, num_tiles, draws, num_items, source, other, like, context):
        last_tile = int32(num_tiles - 1)
        rest = valid_of(num_items, last_tile, tile_items)
        tiles = shared_array(stages, np.int32)  # the tile in each slot
        kept, totals = local_array(held, kept_type), local_array(held, total_type)
        pipe = block_copy_pipeline(in_all)
        in_flight, written, turn = int32(0), int32(0), int32(0)
        s, near = int32(0), int32(0)  # slots of the tile to be finished, of the one to be published
        tile, next_tile = int32(-1), int32(-1)
        more = True
        while more:
            drawn = first
            if turn > 0 and thread_index() == 0:
                drawn = start_draw(states)
            begun = begin_served(states, tile)  # earlier it would mostly not be there yet
            if next_tile >= 0:
                in_flight = int32(in_flight - 1)
                block_copy_wait(pipe, in_flight * copies)
                there = arranged(next_tile, num_tiles)
                own, total = gather(near * step, there, valid_at(there, last_tile, rest, tile_items), like, context)
                if thread_index() == 0:
                    publish(states, next_tile, state_value(states, total), epoch)
                kept[ahead] = own
                totals[ahead] = total
            else:
                barrier()
            if tile >= 0:
                there, aggregate = arranged(tile, num_tiles), state_value(states, hold(totals[0]))
                before = served_prefix(states, begun, tile, aggregate, epoch, op, like)
                valid = valid_at(there, last_tile, rest, tile_items)
                finish(s * step, there, valid, hold(kept[0]), aggregate, before, tile > 0, tile == last_tile, context)
                written = int32(written + 1)
            for k in range(ahead):
                kept[k] = kept[k + 1]
                totals[k] = totals[k + 1]
            if thread_index() == 0:
                tiles[s] = tile_of(states, drawn, num_tiles, draws)
            barrier()
            fresh = tiles[s]
            if fresh >= 0:
                there = arranged(fresh, num_tiles)
                start(pipe, s, source, other, there, valid_at(there, last_tile, rest, tile_items))
                in_flight = int32(in_flight + 1)
            turn, s = int32(turn + 1), following(s, stages)
            tile = int32(tiles[s] if turn >= stages else -1)
            if turn >= flying:
                near = following(near, stages) if turn > flying else int32(0)
                next_tile = tiles[near]
            more = turn < stages or tile >= 0
        return written

    return work


def ring_pass(ring: Ring, made: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return the function (states, num_items, source, other, like, context) -> how many tiles this block wrote.

    made: what makes a device function of a Python function, for kernels that numba alone compiles.
    Called by: all threads of every block of the grid, once in a launch; whole warps. like: a value of the type of what
    is combined.  context: what `gather` and `finish` are given.
    """
    work, op = ring_work(ring), ring.op
    stages, tile_items = ring.shape.stages, ring.shape.tile_items
    work_on = work if made is None else made(work)

    def pass_over(states, num_items, source, other, like, context):
        num_tiles = tiles_of(num_items, tile_items)
        draws = 1 + num_tiles + grid_size() * stages
        numbers = shared_array(1, np.int64)
        if thread_index() == 0:
            numbers[0] = start_draw(states)
        barrier()
        first = numbers[0]
        epoch, working = as_mask(first >> 32), True
        if (first & 0xFFFFFFFF) == 0:
            working = not serve(states, num_tiles, epoch, op, state_value(states, like))
            if thread_index() == 0:
                if working:
                    first = start_draw(states)
                else:
                    draw_rest(states, num_tiles, draws, stages)
        written = int32(0)
        if working:
            written = work_on(states, first, epoch, num_tiles, draws, num_items, source, other, like, context)
        return written

    return pass_over
