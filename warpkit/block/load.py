"""Loading a tile of items: N a thread, from `source[base]` on."""

import numpy as np

from ..simt.debug import check_index
from ..simt.kinds import Kind
from ..simt.lanes import block_size
from ..simt.machine import device_function
from ..simt.memory import is_aligned, load_items, local_like, vector_bytes
from ..simt.memory import scratch as shared_words
from ..simt.refusals import refuse
from ..simt.types import as_index, as_int64, cast_like, hold
from ..warp.participants import check_goes_into, check_movable
from .exchange import blocked, exchange, striped
from .items import item_kind
from .pool import POOL_WORDS, check_scratch
from .shape import check_count, int32
from .transpose import blocked_slot, goes_by_warps, striped_slot, transpose, warp_striped


@device_function()
def fill_item(items, i, fill):
    """Give item `i` the value `fill`; None leaves it."""
    if fill is not None:
        items[i] = cast_like(hold(items[i]), fill)


@device_function()
def load_each(items, source, base, num_valid, fill, arranged):
    """Load item by item, item `i` from place `arranged(None, i, N)`; those from `num_valid` on become `fill`."""
    for i in range(items.size):
        if num_valid is None:
            items[i] = source[index_of(source, base, arranged, i, items.size)]
        elif arranged(None, i, items.size) < as_int64(num_valid):
            items[i] = source[index_of(source, base, arranged, i, items.size)]
        else:
            fill_item(items, i, fill)


@device_function()
def index_of(array, base, arranged, i, size):
    """Return the index in `array` of item `i`: the first item's and as many steps, which cost one addition each."""
    first = arranged(None, 0, size)
    step = int32(arranged(None, 1, size) - first)
    index = as_index(as_int64(base) + first + as_int64(step) * i)
    check_index(array, index)
    return index


@device_function()
def load_run(items, source, base):
    """Load the thread's items of a tile in blocked arrangement at once."""
    first = as_int64(base) + blocked(None, 0, items.size)
    check_index(source, first)
    check_index(source, first + items.size - 1)
    load_items(items, source, first)


def check_tile(name: str, items: Kind, memory: Kind, base: Kind, num_valid: Kind, scratch: Kind) -> Kind:
    """Refuse what no tile can be loaded from or stored to; return the kind of an item."""
    item = item_kind(name, items)
    check_movable(name, item)
    if memory.ndim != 1:
        refuse(f"{name}: items are loaded and stored from and to a one-dimensional array, not {memory.name}.")
    if not base.is_integer:
        refuse(f"{name}: base must be an integer, the index of the tile's first item, not {base.name}.")
    check_count(name, num_valid)
    check_scratch(name, scratch, item)
    return item


def _check(name):
    def check(items: Kind, source: Kind, base: Kind, num_valid: Kind, fill: Kind, scratch: Kind) -> None:
        item = check_tile(name, items, source, base, num_valid, scratch)
        if source.parts:
            check_goes_into(name, "source", source.parts[0], item)
        if fill.family != "none":
            check_goes_into(name, "fill", fill, item)

    return check


@device_function(_check("block_load_striped"))
def block_load_striped(items, source, base, num_valid=None, fill=None, scratch=None):
    """Load a tile in striped arrangement: item i of thread t is source[base + t + i·threads].

    Called by: all threads of the block, each with as many items (or some of them: it does not wait).
    Args: items: the thread's local array of N items.  source: a one-dimensional array, of a type that goes into
    `items`.
    base: index of the tile's first item.  num_valid: how many items the tile has, at most threads · N; None: all.
    fill: what the items from `num_valid` on become; None: they keep their values.  scratch: not used.
    Returns: nothing.
    Storage: none.  Cost: no barrier; neighbouring threads read neighbouring items.
    Example: 2 threads, N = 2, base 10 -> items 10, 12 and 11, 13.
    """
    load_each(items, source, base, num_valid, fill, striped)


@device_function(_check("block_load_blocked"))
def block_load_blocked(items, source, base, num_valid=None, fill=None, scratch=None):
    """Load a tile in blocked arrangement: item i of thread t is source[base + t·N + i]. See `block_load_striped`.

    Returns: nothing; the items are filled.
    Cost: no barrier; a thread reads its N items one by one, so prefer `block_load_vectorized` or
    `block_load_transposed`.
    Example: 2 threads, N = 2, base 10 -> items 10, 11 and 12, 13.
    """
    load_each(items, source, base, num_valid, fill, blocked)


@device_function(_check("block_load_vectorized"))
def block_load_vectorized(items, source, base, num_valid=None, fill=None, scratch=None):
    """Load a tile in blocked arrangement, in accesses of up to 16 bytes. See `block_load_blocked`.

    A thread loads its N items at once where they are whole accesses of 16, 8 or 4 bytes, `source` is contiguous and of
    the items' type, the address is aligned and all of them are below `num_valid`; otherwise one by one.
    Returns: nothing; the items are filled.
    Cost: no barrier; N · item bytes / 16 loads a thread.
    """
    if num_valid is None:
        load_run(items, source, base)
    elif blocked(None, items.size, items.size) <= as_int64(num_valid):
        load_run(items, source, base)
    else:
        load_each(items, source, base, num_valid, fill, blocked)


@device_function()
def is_vector_a_thread(items, array, base, num_valid):
    """Return whether the items of every thread are one aligned vector of the array, all below `num_valid`."""
    nbytes = vector_bytes(items, array)
    if nbytes == 0 or not is_aligned(array, as_index(base), nbytes):
        return False
    return num_valid is None or block_size() * items.size <= as_int64(num_valid)


@device_function(_check("block_load_transposed"))
def block_load_transposed(items, source, base, num_valid=None, fill=None, scratch=None):
    """Load a tile so that neighbouring threads read neighbouring items, into blocked arrangement.

    Called by, args, returns: as `block_load_blocked`, but all threads of the block call.
    Args: scratch: a shared_array of the items' type, see `block_striped_to_blocked`; None: a fixed pool.
    Storage: as `block_striped_to_blocked`.
    Cost: where the N items of a thread have 4, 8 or 16 bytes and `block_load_vectorized` would load them at once in
    every thread, that and no barrier. Else neighbouring lanes load, a store and a load of shared memory a 32-bit word
    follow: in blocks of whole warps with 1 barrier for as many warps as there is room for, in others with 2 a round.
    """
    if is_vector_a_thread(items, source, base, num_valid):
        load_run(items, source, base)
    else:
        load_exchanged(items, source, base, num_valid, scratch)
    if num_valid is not None:
        for i in range(items.size):
            if blocked(None, i, items.size) >= as_int64(num_valid):
                fill_item(items, i, fill)


@device_function()
def load_exchanged(items, source, base, num_valid, scratch):
    """Load a tile by neighbouring threads and hand each its items, those below `num_valid`."""
    outgoing = local_like(items)
    pool = shared_words(POOL_WORDS, np.uint32(0))
    if goes_by_warps(items, scratch):
        load_each(outgoing, source, base, num_valid, None, warp_striped)
        transpose(pool, scratch, outgoing, items, striped_slot, blocked_slot, num_valid)
    else:
        load_each(outgoing, source, base, num_valid, None, striped)
        exchange(pool, scratch, outgoing, items, None, striped, blocked, num_valid)
