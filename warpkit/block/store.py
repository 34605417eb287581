"""Storing a tile of items: N a thread, from `target[base]` on."""

import numpy as np

from ..simt.debug import check_index
from ..simt.kinds import Kind
from ..simt.machine import device_function
from ..simt.memory import local_like, store_items
from ..simt.memory import scratch as shared_words
from ..simt.types import as_int64
from ..warp.participants import check_goes_into
from .exchange import blocked, exchange, striped
from .load import check_tile, index_of, is_vector_a_thread
from .pool import POOL_WORDS
from .transpose import blocked_slot, goes_by_warps, striped_slot, transpose, warp_striped


@device_function()
def store_each(items, target, base, num_valid, arranged):
    """Store item by item, item `i` to place `arranged(None, i, N)`, those below `num_valid`."""
    for i in range(items.size):
        if num_valid is None:
            target[index_of(target, base, arranged, i, items.size)] = items[i]
        elif arranged(None, i, items.size) < as_int64(num_valid):
            target[index_of(target, base, arranged, i, items.size)] = items[i]


@device_function()
def store_run(items, target, base):
    """Store the thread's items of a tile in blocked arrangement at once."""
    first = as_int64(base) + blocked(None, 0, items.size)
    check_index(target, first)
    check_index(target, first + items.size - 1)
    store_items(items, target, first)


def _check(name):
    def check(items: Kind, target: Kind, base: Kind, num_valid: Kind, scratch: Kind) -> None:
        item = check_tile(name, items, target, base, num_valid, scratch)
        if target.parts:
            check_goes_into(name, "an item", item, target.parts[0])

    return check


@device_function(_check("block_store_striped"))
def block_store_striped(items, target, base, num_valid=None, scratch=None):
    """Store a tile in striped arrangement: item i of thread t goes to target[base + t + i·threads].

    Called by: all threads of the block, each with as many items (or some of them: it does not wait).
    Args: items: the thread's local array of N items, not changed.  target: a one-dimensional array of a type that takes
    them.  base: index of the tile's first item.  num_valid: how many items the tile has, at most threads · N; the
    others are not stored; None: all.  scratch: not used.
    Returns: nothing.
    Storage: none.  Cost: no barrier; neighbouring threads write neighbouring items.
    """
    store_each(items, target, base, num_valid, striped)


@device_function(_check("block_store_blocked"))
def block_store_blocked(items, target, base, num_valid=None, scratch=None):
    """Store a tile in blocked arrangement: item i of thread t to target[base + t·N + i]. See `block_store_striped`.

    Returns: nothing.
    Cost: no barrier; a thread writes its items one by one, so prefer `block_store_vectorized` or
    `block_store_transposed`.
    """
    store_each(items, target, base, num_valid, blocked)


@device_function(_check("block_store_vectorized"))
def block_store_vectorized(items, target, base, num_valid=None, scratch=None):
    """Store a tile in blocked arrangement, in accesses of up to 16 bytes. See `block_store_blocked`.

    A thread stores its N items at once where they are whole accesses of 16, 8 or 4 bytes, `target` is contiguous and of
    the items' type, the address is aligned and all of them are below `num_valid`; otherwise one by one.
    Returns: nothing.
    Cost: no barrier; N · item bytes / 16 stores a thread.
    """
    if num_valid is None:
        store_run(items, target, base)
    elif blocked(None, items.size, items.size) <= as_int64(num_valid):
        store_run(items, target, base)
    else:
        store_each(items, target, base, num_valid, blocked)


@device_function(_check("block_store_transposed"))
def block_store_transposed(items, target, base, num_valid=None, scratch=None):
    """Store a tile in blocked arrangement so that neighbouring threads write neighbouring items.

    Called by, args, returns: as `block_store_blocked`, but all threads of the block call; `items` is not changed.
    Args: scratch: a shared_array of the items' type, see `block_striped_to_blocked`; None: a fixed pool.
    Storage, cost: as `block_load_transposed`, in the opposite direction.
    """
    if is_vector_a_thread(items, target, base, num_valid):
        store_run(items, target, base)
    else:
        store_exchanged(items, target, base, num_valid, scratch)


@device_function()
def store_exchanged(items, target, base, num_valid, scratch):
    """Hand neighbouring threads neighbouring items and let them store those below `num_valid`."""
    incoming = local_like(items)
    pool = shared_words(POOL_WORDS, np.uint32(0))
    if goes_by_warps(items, scratch):
        transpose(pool, scratch, items, incoming, blocked_slot, striped_slot, None)
        store_each(incoming, target, base, num_valid, warp_striped)
    else:
        exchange(pool, scratch, items, incoming, None, blocked, striped, num_valid)
        store_each(incoming, target, base, num_valid, striped)
