"""The kernel that counts in the output itself, for bins that are too many for a block.

Sums in one place of the output come one after the other, however many GPU cores there are, and what is counted is often
the same. So a block has a small table of bins and their counts: a bin that finds its place taken is counted in the
output, and every so often the table is emptied there, so that it holds what is frequent now.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..block.shape import int32
from ..simt.bits import lowest_bit, shift_right
from ..simt.lanes import block_x, grid_x, thread_x
from ..simt.machine import device_function
from ..simt.memory import (
    accumulate,
    atomic_add,
    atomic_compare_exchange,
    dynamic_shared,
    load_shared_relaxed,
    local_array,
)
from ..simt.sync import barrier
from ..simt.types import as_index, cast_like
from .clearing import await_clear, clear, leave
from .histogram_kernel import Counting, bin_of

SPREAD = np.uint32(2654435769)  # the golden ratio of 2^32: neighbours, and multiples of anything, come apart


@device_function()
def claimed(bins, slot, number):
    """Return whether a place of the table is that of a bin, from now on if it has been free."""
    held = load_shared_relaxed(bins, as_index(slot))
    if held == -1:
        held = atomic_compare_exchange(bins, as_index(slot), int32(-1), number)
        held = int32(number if held == -1 else held)
    return held == number


@device_function()
def count_seen(table, places, number, shift, out, one):
    """Count a bin in one of its two places in the table, else in the output; −1, or beyond the output: nowhere."""
    if 0 <= number and number < out.size:
        slot = int32(shift_right(cast_like(SPREAD, cast_like(SPREAD, number) * SPREAD), 32 - shift))
        if not claimed(table, slot, number):
            slot = int32(slot ^ 1)
            if not claimed(table, slot, number):
                slot = int32(-1)
        if slot >= 0:
            atomic_add(table, as_index(slot + places), 1)
        else:
            accumulate(out, as_index(number), one)


@device_function()
def empty_table(table, places, threads, out, one):
    """Add what the table has counted to the output; the places are free then."""
    barrier()
    at = thread_x()
    while at < places:
        number = table[as_index(at)]
        if number >= 0:
            accumulate(out, as_index(number), cast_like(one, table[as_index(at + places)]))
            table[as_index(at)] = -1
            table[as_index(at + places)] = 0
        at = int32(at + threads)
    barrier()


def common_kernel(what: Counting) -> Callable[..., Any]:
    """Return the kernel that counts in the output itself.

    Called by, args: as `private_kernel`, with 8 bytes of dynamic shared memory for every place of the table; `counters`
    is not used.
    """
    find, settle, reading = what.finder.find, what.finder.settle, what.reading
    nothing, one, threads = what.result(0), what.result(1), what.threads
    number_of, before, fetch, fetch_item = reading.number, reading.before, reading.fetch, reading.fetch_item
    length, length_shift, item_shift = reading.length, reading.length_shift, reading.item_shift
    loads, held, item = reading.loads, reading.loads * reading.length, reading.item
    shift, rounds = what.table_shift, max(what.emptied // (loads * threads * length), 1)

    def count_in_the_output(x, count, inverses, numbers, edges, counters, store, out):
        items, again = local_array(held, item), local_array(1, item)
        table, places = dynamic_shared(2 << shift, np.int32, 0), int32(1 << shift)
        at = thread_x()
        while at < places:
            table[as_index(at)] = -1
            table[as_index(at + places)] = 0
            at = int32(at + threads)
        clear(out, store, nothing)
        await_clear(out, store)
        n = number_of(count, x)
        head = before(x, n, item_shift)
        vectors = (n - head) >> length_shift
        tail = n - head - (vectors << length_shift)
        if block_x() == 0:
            number = int32(-1)
            if thread_x() < head + tail:
                edge = thread_x() + 0 * n
                fetch_item(items, 0, x, edge if edge < head else n - tail + (edge - head), inverses)
                number = bin_of(items[0], numbers, edges, find, settle)
            count_seen(table, places, number, shift, out, one)
        begin, round = block_x() * (loads * threads), int32(0)
        while begin < vectors:
            for k in range(loads):
                at = begin + thread_x() + k * threads
                fetch(items, k * length, x, head + min(at, vectors - 1) * length, inverses)
            for k in range(loads):
                at = begin + thread_x() + k * threads
                left = int32(0)
                for j in range(length):
                    number, certain = find(items[k * length + j], numbers, edges)
                    count_seen(table, places, int32(number if certain and at < vectors else -1), shift, out, one)
                    left = int32(left if certain else left | (1 << j))
                while left != 0 and at < vectors:
                    fetch_item(again, 0, x, head + at * length + lowest_bit(left), inverses)
                    count_seen(table, places, settle(again[0], numbers, edges), shift, out, one)
                    left = int32(left & (left - 1))
            begin += grid_x() * (loads * threads)
            round = int32(round + 1)
            if round == rounds:
                empty_table(table, places, threads, out, one)
                round = int32(0)
        empty_table(table, places, threads, out, one)
        leave(store)

    return count_in_the_output
