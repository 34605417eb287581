"""Look-back without drawn numbers: a block works on the tile of its own index, and waits for no block without end.

What a tile adds up to is usually there soon, from a block that began earlier or at the same time. If not, its block may
not run before others end: then whoever needs the total reads the tile itself and publishes it in its block's place. So
a block asks for nothing before it reads its items. For that nobody may have written over them: not in place. Where a
block asks for the tiles behind its own too, all blocks should run at once: else they read much a second time.

A number is drawn all the same, for the launch's epoch: see block/lookback.py. It is on its way while items are read.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..block.lookback import publish
from ..block.lookback_walk import FIRST_PAUSE, LONGEST_PAUSE
from ..block.shape import int32, lane_number
from ..block.states import HEAD
from ..simt.lanes import as_mask, grid_size, shuffle, thread_index
from ..simt.memory import local_array, put, result_scratch, scratch, take
from ..simt.ops import maximum
from ..simt.states import ABSENT, INCLUSIVE, load_state, state_value, store_state
from ..simt.sync import barrier, sleep
from ..simt.types import as_int64, cast_like, combine, hold, identity_or_own
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .tiles import tiles_of, valid_of

EAGER = 16  # looks one after the other, before there is a pause between them


def own_total(op: Callable[..., Any], fetch: Callable[..., Any], lowest: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function (source, tile, tile_items, num_items, like) -> what the items of a whole tile add up to.

    Called by a whole warp; the operator is a built-in one.
    """

    def total_of(source, tile, tile_items, num_items, like):
        total = identity_or_own(op, like)
        j = lane_number()
        while j < tile_items:
            item = cast_like(like, hold(fetch(source, lowest(int32(tile * tile_items + j), 1, num_items))))
            total = combine(op, total, item)
            j = int32(j + 32)
        return reduce_members(total, op, FULL_MASK, 32)

    return total_of


def tile_total(op: Callable[..., Any], fetch: Callable[..., Any], arranged: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that does what that of `own_total` does, for tiles that lie in memory as `arranged` says."""

    def total_of(source, tile, tile_items, num_items, like):
        in_memory = arranged(tile, tiles_of(num_items, tile_items))
        base, valid = as_int64(in_memory) * tile_items, valid_of(num_items, in_memory, tile_items)
        total = identity_or_own(op, like)
        j = lane_number()
        while j < valid:
            total = combine(op, total, cast_like(like, hold(fetch(source, base + j))))
            j = int32(j + 32)
        return reduce_members(total, op, FULL_MASK, 32)

    return total_of


def surveying(each: int) -> Callable[..., Any]:
    """Return the function that reads the states of up to 32 · `each` tiles back from `last`, `each` a lane, by a warp.

    (values, known, states, last, epoch, like) -> (the last tile that knows its inclusive prefix, the last one that is
    absent), −1 for none. values, known: get what the lane has read.
    """

    def survey(values, known, states, last, epoch, like):
        inclusive, absent = int32(-1), int32(-1)
        for k in range(each):
            state = load_state(states, HEAD + max(int32(last - lane_number() - 32 * k), 0), epoch, like)
            values[k], known[k] = state[0], int32(state[1])
        for k in range(each):
            at = int32(last - lane_number() - 32 * k)
            if at >= 0 and known[k] == INCLUSIVE:
                inclusive = max(inclusive, at)
            if at >= 0 and known[k] == ABSENT:
                absent = max(absent, at)
        return reduce_members(inclusive, maximum, FULL_MASK, 32), reduce_members(absent, maximum, FULL_MASK, 32)

    return survey


def adding_up(
    each: int, patience: int, total: Any, op: Callable[..., Any], total_of: Callable[..., Any]
) -> Callable[..., Any]:
    """Return the function (states, last, epoch, source, tile_items, num_items, like) -> tiles 0…`last` combined.

    Called by a warp. It waits for tiles that are not there, and after that reads their items: see `looking_back`.
    """
    survey, window, next_turn = surveying(each), 32 * each, max(patience - 2, 0)

    def add_up(states, last, epoch, source, tile_items, num_items, like):
        values, known = local_array(each, total), local_array(each, np.int32)
        prefix = identity_or_own(op, like)
        turns, pause = int32(0), int32(FIRST_PAUSE)
        while last >= 0:
            inclusive, absent = survey(values, known, states, last, epoch, like)
            while absent > inclusive:
                if turns >= patience:
                    missing = total_of(source, absent, tile_items, num_items, like)
                    if thread_index() == 0:
                        publish(states, absent, missing, epoch)
                    turns = int32(next_turn)
                if turns >= EAGER:
                    sleep(pause)
                    pause = int32(min(2 * pause, LONGEST_PAUSE))
                turns = int32(turns + 1)
                inclusive, absent = survey(values, known, states, last, epoch, like)
            for k in range(each):
                at = int32(last - lane_number() - 32 * k)
                if at >= max(inclusive, 0):
                    prefix = combine(op, prefix, values[k])
            last = int32(-1 if inclusive >= 0 else last - window)
        return reduce_members(prefix, op, FULL_MASK, 32)

    return add_up


def looking_back(
    each: int, patience: int, total: Any, op: Callable[..., Any], total_of: Callable[..., Any], whole: bool = False
) -> Callable[..., Any]:
    """Return the function that publishes what a tile adds up to and returns what all tiles before it do.

    each: states that a lane looks at at once.  patience: looks at a tile that is not there, before it is read.
    total: type of the totals, for `local_array`.  op: a built-in operator.  total_of: see `own_total`.
    whole: it returns a pair, the second of which is what all tiles add up to, those behind it too.
    """
    add_up = adding_up(each, patience, total, op, total_of)

    def look(states, drawn, tile, own, source, tile_items, num_items):
        like = state_value(states, own)
        words = scratch(1, like)
        if thread_index() < 32:
            epoch = as_mask(drawn >> 32)
            if thread_index() == 0:
                publish(states, tile, like, epoch)
            epoch = shuffle(FULL_MASK, epoch, 0)
            prefix = add_up(states, int32(tile - 1), epoch, source, tile_items, num_items, like)
            if thread_index() == 0:
                put(words, 0, 1, prefix)
                if tile > 0:
                    store_state(states, HEAD + tile, combine(op, prefix, like), epoch, INCLUSIVE)
        barrier()
        return take(words, 0, 1, like)

    def look_at_all(states, drawn, tile, own, source, tile_items, num_items):
        prefix = look(states, drawn, tile, own, source, tile_items, num_items)
        words = result_scratch(prefix)
        if thread_index() < 32:
            epoch = shuffle(FULL_MASK, as_mask(drawn >> 32), 0)
            last = int32(grid_size() - 1)
            while last > 0 and last * tile_items >= num_items:  # fewer items than the host knew of; a division is more
                last = int32(last - 1)
            every = add_up(states, last, epoch, source, tile_items, num_items, prefix)
            if thread_index() == 0:
                put(words, 0, 1, every)
        barrier()
        return prefix, take(words, 0, 1, prefix)

    return look_at_all if whole else look
