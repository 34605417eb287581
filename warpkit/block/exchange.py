"""Items change threads: between striped and blocked arrangement, and to given ranks.

Blocked: thread t holds items t·N … t·N + N − 1. Striped: thread t holds items t, t + threads, t + 2·threads, ….
"""

import numpy as np

from ..simt.kinds import Kind
from ..simt.lanes import block_size, thread_index
from ..simt.machine import device_function
from ..simt.memory import local_like
from ..simt.memory import scratch as shared_words
from ..simt.refusals import refuse
from ..simt.sync import barrier
from ..warp.participants import check_movable
from .items import item_kind
from .mixing import MIXED, mixed
from .pool import POOL_WORDS, capacity, check_scratch, put_slot, take_slot
from .shape import int32


@device_function()
def blocked(ranks, i, size):
    """Return the place of the thread's item `i` of `size` in blocked arrangement, int32."""
    return int32(int32(thread_index() * size) + i)


@device_function()
def striped(ranks, i, size):
    """Return the place of the thread's item `i` in striped arrangement, int32."""
    return int32(thread_index() + int32(i * block_size()))


@device_function()
def ranked(ranks, i, size):
    """Return the place that `ranks` gives the thread's item `i`, int32."""
    return int32(ranks[i])


@device_function()
def exchange(pool, scratch, outgoing, incoming, ranks, sent, received, limit):
    """Send `outgoing[i]` to place `sent(ranks, i, N)`, fill `incoming[i]` from place `received(ranks, i, N)`.

    Called by: all threads of the block. Places outside 0…threads · N − 1 are not stored, those from `limit` on not
    received; None: all are.
    Cost: 2 barriers for every window of slots.
    """
    slots = int32(block_size() * outgoing.size)
    if slots <= capacity(scratch, outgoing[0]):  # the usual case: every place is in the one window
        send_all(pool, scratch, outgoing, ranks, sent, slots)
        barrier()
        receive_all(pool, scratch, outgoing, incoming, ranks, received, limit)
        barrier()
    else:
        exchange_in_windows(pool, scratch, outgoing, incoming, ranks, sent, received, limit)


@device_function()
def exchange_in_windows(pool, scratch, outgoing, incoming, ranks, sent, received, limit):
    """Do what `exchange` says where there are more places than slots."""
    size = outgoing.size
    slots = int32(block_size() * size)
    window = capacity(scratch, outgoing[0])
    mix = window >= MIXED
    if mix:
        window = int32(window & ~(MIXED - 1))
    start = int32(0)
    while start < slots:
        room = min(window, int32(slots - start))
        for i in range(size):
            slot = int32(sent(ranks, i, size) - start)
            if 0 <= slot and slot < room:
                slot = int32(mixed(slot, size, scratch, outgoing.itemsize)) if mix else slot
                put_slot(pool, scratch, slot, outgoing[i])
        barrier()
        for i in range(size):
            place = received(ranks, i, size)
            slot = int32(place - start)
            if 0 <= slot and slot < room and (limit is None or place < limit):
                slot = int32(mixed(slot, size, scratch, outgoing.itemsize)) if mix else slot
                incoming[i] = take_slot(pool, scratch, slot, outgoing[i])
        barrier()
        start = int32(start + window)


@device_function()
def send_all(pool, scratch, outgoing, ranks, sent, slots):
    """Put every item in its slot, all of which there are; only `ranks` can name others."""
    for i in range(outgoing.size):
        place = sent(ranks, i, outgoing.size)
        if ranks is None:
            put_slot(pool, scratch, int32(mixed(place, outgoing.size, scratch, outgoing.itemsize)), outgoing[i])
        elif 0 <= place and place < slots:
            put_slot(pool, scratch, int32(mixed(place, outgoing.size, scratch, outgoing.itemsize)), outgoing[i])


@device_function()
def receive_all(pool, scratch, outgoing, incoming, ranks, received, limit):
    """Take every item from its slot, those below `limit`."""
    for i in range(outgoing.size):
        place = received(ranks, i, outgoing.size)
        slot = int32(mixed(place, outgoing.size, scratch, outgoing.itemsize))
        if limit is None:
            incoming[i] = take_slot(pool, scratch, slot, outgoing[i])
        elif place < limit:
            incoming[i] = take_slot(pool, scratch, slot, outgoing[i])


@device_function()
def rearrange(items, ranks, sent, received, scratch):
    """Exchange `items` in place."""
    incoming = local_like(items)
    pool = shared_words(POOL_WORDS, np.uint32(0))
    for i in range(items.size):
        incoming[i] = items[i]
    exchange(pool, scratch, items, incoming, ranks, sent, received, None)
    for i in range(items.size):
        items[i] = incoming[i]


def _check(name):
    def check(items: Kind, scratch: Kind) -> None:
        item = item_kind(name, items)
        check_movable(name, item)
        check_scratch(name, scratch, item)

    return check


def _check_scatter(name):
    def check(items: Kind, ranks: Kind, scratch: Kind) -> None:
        _check(name)(items, scratch)
        if not item_kind(name, ranks).is_integer:
            refuse(f"{name}: ranks must be a local_array of integers, not {ranks.name}.")

    return check


@device_function(_check("block_striped_to_blocked"))
def block_striped_to_blocked(items, scratch=None):
    """Rearrange the block's items from striped to blocked arrangement, in place.

    Called by: all threads of the block, each with as many items.
    Args: items: the thread's local array of N items, striped: item i of thread t is number t + i·threads of the block;
    anything that moves, records too.  scratch: a shared_array of the items' type, of any length: with threads · N or
    more items one round is enough; all threads must be done with it before (`sync_block`). None: a fixed pool.
    Returns: nothing; afterwards item i of thread t is number t·N + i.
    Storage: the pool is 8192 bytes of shared memory, one memory for all functions with `scratch=`; free on return. It
    holds 2048 items of up to 4 bytes, 1024 of up to 8, 512 of up to 16.
    Cost: 2 barriers a round; a store and a load a 32-bit word. In blocks of whole warps there are no bank conflicts (in
    an own scratch of 1- or 2-byte items, which share banks, up to 3 lanes meet).
    Example: 2 threads with items (0, 2) and (1, 3) -> (0, 1) and (2, 3).
    """
    rearrange(items, None, striped, blocked, scratch)


@device_function(_check("block_blocked_to_striped"))
def block_blocked_to_striped(items, scratch=None):
    """Rearrange the block's items from blocked to striped arrangement, in place. See `block_striped_to_blocked`.

    Returns: nothing; afterwards item i of thread t is number t + i·threads.
    Example: 2 threads with items (0, 1) and (2, 3) -> (0, 2) and (1, 3).
    """
    rearrange(items, None, blocked, striped, scratch)


@device_function(_check_scatter("block_scatter_to_blocked"))
def block_scatter_to_blocked(items, ranks, scratch=None):
    """Move every item to the place `ranks` gives it, in blocked arrangement, in place. See `block_striped_to_blocked`.

    Args: ranks: the thread's local array of N integers: item i becomes number ranks[i] of the block. Different ones;
    an item with a rank outside 0…threads · N − 1 is dropped, a place that nobody names holds something.
    Returns: nothing; the items are rearranged in place.
    Cost: as `block_striped_to_blocked`; bank conflicts as the ranks have them.
    """
    rearrange(items, ranks, ranked, blocked, scratch)


@device_function(_check_scatter("block_scatter_to_striped"))
def block_scatter_to_striped(items, ranks, scratch=None):
    """Move every item to the place `ranks` gives it, in striped arrangement. See `block_scatter_to_blocked`.

    Returns: nothing; the items are rearranged in place.
    """
    rearrange(items, ranks, ranked, striped, scratch)
