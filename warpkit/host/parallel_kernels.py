"""The kernels of `parallel_for` and `parallel_reduce`: a thread finds the indices of its items and calls the body.

A template is an ordinary function that closes over the body and over how items become indices (ranges_walk.py); it is
compiled like any kernel, so that arrays that the body captures become arguments.
"""

from collections.abc import Callable
from typing import Any

from ..simt.lanes import block_index, block_x, thread_x
from .ranges_walk import PLACES, after, times

THREADS = 256  # a block: the 255 registers that a thread has at most are there for so many
TILE = 2 * THREADS  # items of a full tile: two a thread, further loads in flight than with one


def each_item(body: Callable[..., Any], ndim: int, stepped: bool, wide: bool) -> Callable[..., None]:
    """Return the kernel that calls `body` for every item of a range.

    wide: more items than 32 bits count, and a grid that may have more than one axis.
    """
    place = PLACES[ndim, stepped]
    block = block_index if wide else block_x

    def parallel_for(num_items, full_items, tile_items, numbers, steps, args):
        first = times(tile_items, block())
        number = after(first, thread_x())
        other = after(number, THREADS)
        if first < full_items:  # the same for the whole block: a full tile, with no question per item
            body(*(place(number, numbers, steps) + args))
            body(*(place(other, numbers, steps) + args))
        else:  # the last tile, or small tiles of one item a thread
            end = min(after(first, tile_items), num_items)
            if number < end:
                body(*(place(number, numbers, steps) + args))
            if other < end:
                body(*(place(other, numbers, steps) + args))

    return parallel_for
