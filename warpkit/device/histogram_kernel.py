"""The kernel that counts in counters of the block's own; see histogram_common.py for bins that are too many for that.

One launch, which clears the output itself: see clearing.py.

A block has several copies of every counter, next to one another, and lane k uses copy k modulo their number: with 32 of
them no two lanes of a warp meet in a counter or in a bank, whatever the items are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..block.shape import int32
from ..simt.bits import lowest_bit
from ..simt.lanes import block_x, grid_x, thread_x
from ..simt.machine import device_function
from ..simt.memory import accumulate, atomic_add, dynamic_shared, local_array, store_vector
from ..simt.sync import barrier
from ..simt.types import as_index, cast_like
from .clearing import await_clear, clear, leave
from .histogram_bins import Finder
from .reduce_reading import Reading


@dataclass(frozen=True)
class Counting:
    """What a counting kernel is made for.

    finder: finds the counter of an item.  place: (number of a counter, numbers, edges) -> the bin that it counts.
    result: type of the output's elements.  threads: of a block.  copies_shift: exponent of the copies of a counter.
    table_shift: exponent of the places of a table.  emptied: items of a block after which it is emptied.
    """

    finder: Finder
    place: Callable[..., Any]
    reading: Reading
    result: Any
    threads: int
    copies_shift: int = 0
    table_shift: int = 0
    emptied: int = 0


@device_function()
def place_itself(number, numbers, edges):
    """Return the bin that a counter counts: the one of its number."""
    return number


@device_function()
def bin_of(value, numbers, edges, find, settle):
    """Return the bin of a value, −1 for none."""
    number, certain = find(value, numbers, edges)
    if not certain:
        number = settle(value, numbers, edges)
    return number


def placing_bytes(finder: Finder, item: Any) -> Callable[..., Any]:
    """Return the function that finds the bin of what a counter counts: an integer of one byte, of type `item`."""
    like, wrap, find, settle = item(0), 256 if np.dtype(item).kind == "i" else 0, finder.find, finder.settle

    def place_byte(number, numbers, edges):
        value = cast_like(like, number - wrap if number >= 128 else number)
        return bin_of(value, numbers, edges, find, settle)

    return place_byte


@device_function()
def count_own(counters, number, shift, change):
    """Change this lane's copy of the counter of a bin; −1, or as many as there are bins, has one too, for nothing."""
    atomic_add(counters, as_index(int32(number + 1) << shift), change)


@device_function()
def clear_counters(counters, threads):
    """Let a block of so many threads clear its counters, whose number is a multiple of 4."""
    zeros = local_array(4, np.int32)
    for k in range(4):
        zeros[k] = 0
    at = thread_x() << 2
    while at < counters.size:
        store_vector(zeros, 0, counters, at, 16)
        at = int32(at + (threads << 2))


@device_function()
def fold_copies(counters, number, shift, copies):
    """Return the sum of a counter's copies, four at a time; neighbouring threads begin in different banks.

    The number of copies is one of run time, so that the loop is not unrolled: it would take most of the registers.
    """
    total, first, k = int32(0), int32(number << shift), int32(0)
    last, step = int32((1 << shift) - 1), 4 if shift >= 2 else 1
    while k < copies:
        for j in range(step):
            total = int32(total + counters[as_index(int32(first + ((thread_x() + k + j) & last)))])
        k = int32(k + step)
    return total


@device_function()
def write_counts(mine, counters, shift, threads, place_of, numbers, edges, out, one):
    """Add what a block of so many threads has counted to the bins that its counters stand for."""
    at = thread_x()
    while at < counters[0]:
        total = fold_copies(mine, int32(at + 1), shift, counters[1])
        place = place_of(at, numbers, edges)
        if total != 0 and place >= 0:
            accumulate(out, as_index(place), cast_like(one, total))
        at = int32(at + threads)


def private_kernel(what: Counting) -> Callable[..., Any]:
    """Return the kernel that counts in shared memory.

    Called by: any flat grid of such blocks, with 4 bytes of dynamic shared memory for every copy of a counter, and of
    two more, which count what is in no bin; a block sees fewer than 2^31 items.
    Args: x: the items.  count: see `Reading.number`.  inverses: 1 / extents of `x` behind the first one.  numbers,
    edges: as `find` takes them.  counters: (how many, how many copies of each).  store: scratch of `SLOTS` int64.
    out: the counts of the bins.
    """
    find, settle, place_of, shift = what.finder.find, what.finder.settle, what.place, what.copies_shift
    reading, nothing, one, threads = what.reading, what.result(0), what.result(1), what.threads
    number_of, before, fetch, fetch_item = reading.number, reading.before, reading.fetch, reading.fetch_item
    length, length_shift, item_shift = reading.length, reading.length_shift, reading.item_shift
    loads, held, item = reading.loads, reading.loads * reading.length, reading.item
    ahead = length <= 4  # more items take more registers, each its own, when a loop hands them on

    def read(items, x, first, head, vectors, inverses):
        for k in range(loads):  # where nothing is left, the last vector again: no read waits for a condition
            fetch(items, k * length, x, head + min(first + k * threads, vectors - 1) * length, inverses)

    def count_in_shared_memory(x, count, inverses, numbers, edges, counters, store, out):
        items, again = local_array(held, item), local_array(1, item)
        n = number_of(count, x)
        head = before(x, n, item_shift)
        vectors = (n - head) >> length_shift
        tail = n - head - (vectors << length_shift)
        begin = block_x() * (loads * threads) + thread_x()
        if ahead and begin < vectors:
            read(items, x, begin, head, vectors, inverses)  # on its way while everything is cleared
        words = int32((((counters[0] + 2) << shift) + 3) & ~3)
        own = int32((thread_x() & 31) & ((1 << shift) - 1))
        mine, lane = dynamic_shared(words, np.int32, 0), dynamic_shared(words - own, np.int32, 4 * own)
        clear_counters(mine, threads)
        clear(out, store, nothing)
        # the items before and behind the vectors
        if block_x() == 0 and thread_x() < head + tail:
            edge = thread_x() + 0 * n
            fetch_item(again, 0, x, edge if edge < head else n - tail + (edge - head), inverses)
            count_own(lane, bin_of(again[0], numbers, edges, find, settle), shift, 1)
        while begin < vectors:
            if not ahead:
                read(items, x, begin, head, vectors, inverses)
            for k in range(loads):
                at = begin + k * threads
                if at < vectors:
                    left = int32(0)  # one bit for each item whose bin is not certain
                    for j in range(length):
                        number, certain = find(items[k * length + j], numbers, edges)
                        count_own(lane, number, shift, 1)
                        left = int32(left if certain else left | (1 << j))
                    while left != 0:  # seldom, so read again: no register is held for it
                        fetch_item(again, 0, x, head + at * length + lowest_bit(left), inverses)
                        number, _ = find(again[0], numbers, edges)
                        right = settle(again[0], numbers, edges)
                        if right != number:
                            count_own(lane, number, shift, -1)
                            count_own(lane, right, shift, 1)
                        left = int32(left & (left - 1))
            begin += grid_x() * (loads * threads)
            if ahead and begin < vectors:
                read(items, x, begin, head, vectors, inverses)
        # what the block has counted
        barrier()
        await_clear(out, store)
        write_counts(mine, counters, shift, threads, place_of, numbers, edges, out, one)
        leave(store)

    return count_in_shared_memory
