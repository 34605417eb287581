"""A pass over an array of a user's own: what it does with a tile, and the ring of block/ring.py around it."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused, shown
from ..simt.debug import check_pass
from ..simt.kinds import Kind
from ..simt.machine import as_device, device_function
from ..simt.memory import dynamic_shared, local_array
from ..simt.refusals import refuse
from ..simt.states import state_value
from ..simt.types import as_int64, cast_like, combine, hold
from .ring import Ring, ring_pass
from .shape import int32
from .staging import block_copy_async
from .states import HEAD, packed_dtype
from .tiles import TileShape, whole_pieces

MOST_SHARED = 227 << 10  # bytes that a block can have on any GPU so far
MOST_STAGES = 8
TAKES = {
    "gather": ("slot", "tile", "valid", "context"),
    "finish": ("slot", "tile", "valid", "kept", "aggregate", "before", "last", "context"),
    "op": ("earlier", "later"),
}


class LookbackPass(NamedTuple):
    """What `lookback_pass` returns; see there."""

    run: Callable[..., Any]
    threads: int
    tile_items: int
    shared_bytes: int


def lookback_pass(
    gather: Callable[..., Any],
    finish: Callable[..., Any],
    op: Callable[..., Any],
    *,
    threads: int,
    items: int,
    dtype: Any,
    aggregate: Any,
    kept: Any = np.int32,
    init: Any = None,
    stages: int = 4,
    ahead: int = 2,
) -> LookbackPass:
    """Make a pass over an array in which every tile learns what all before it add up to: the loop of our own scans.

    Host code, once for each kernel, at module level; the kernel then calls `run(states, source, num_items, context)` of
    what this returns. Its blocks stay, with tiles in flight, and publish tiles ahead of the one that they finish; one
    block of the grid adds up for all the others.
    Called by: `run`: all threads of every block of a grid of any size, once in a launch, with the same arguments. A
    block must have `threads` threads.
    Args: gather: (slot, tile, valid, context) -> a pair: what this thread keeps, of the type `kept`; what the tile adds
    up to, of which thread 0's counts: the only thing that tiles learn of each other, so that it decides what is kept.
    slot: the items of a tile, in shared memory, which it may change; `valid` of them, beyond lies anything.
    finish: (slot, tile, valid, kept, aggregate, before, last, context), when it is known what lies before the tile.
    slot: as the whole block's gather left it.  before: `init` and all earlier tiles combined.  last: whether no tile
    follows. A second look-back in it has its own states and draws: `lookback_next_tile(others, num_tiles)` once in each
    finish and once more after `run`, whatever it returns.  op: associative (earlier, later) -> combined.  threads: of a
    block, a multiple of 32.  items: of each in a tile; an odd number where threads read neighbouring ones, or they wait
    for one another's banks.  dtype: of the items.  aggregate: of what tiles add up to, as `tile_states` takes it.
    kept: of what a thread keeps, a dtype or a tuple of them.  init: what tile 0 gets as `before`, a number or tuple;
    None: zeros, combined with nothing, which is wrong for a maximum of negative items.
    stages: tiles in a block's shared memory, 2 to 8.  ahead: how many of them are published, 1 to stages − 1.
    Of `run`: states: from `tile_states(num_tiles, aggregate)`, a tile for every `tile_items` items.  source: a
    contiguous array of one dimension.  num_items: how many of it; 0, or negative: nothing is called.  context: a tuple
    of the arrays and numbers that gather and finish need.
    Returns: run, threads, tile_items, and shared_bytes: dynamic shared memory that a launch gives each block. Numba's
    own launch gives up to 48 KB, `launch` and `prepare` what the GPU has. `run` returns how many tiles its block wrote.
    Storage: shared_bytes, less than 200 bytes more, and what gather and finish take.
    Order: tile order; `op` need not be commutative. Floats: the same bits in every launch in which other blocks begin
    while the first one waits for them, whatever the grid; a block that is alone, the only one too, combines otherwise.
    Cost: per tile 3 barriers, 1 atomic, 1 store and 1 load of a state, and what gather and finish do.
    Errors: Refused for numbers out of range, functions of other parameters and more shared memory than a block can
    have; where the kernel is compiled, for states of another aggregate, a source of another dtype or with a step, and
    what gather returns. In the simulator, and on a GPU with WARPKIT_DEBUG=1, a launch with other threads, too little
    shared memory, too few states or more items than source has ends with a sentence.
    Source: after Merrill & Garland 2016.     Example: see the page on look-back.
    """
    for function, what in ((gather, "gather"), (finish, "finish"), (op, "op")):
        _check_function(what, function, TAKES[what])
    shape, item, total = _checked(threads, items, dtype, aggregate, stages, ahead)
    step, tile_items = whole_pieces(shape.tile_items * item.itemsize), shape.tile_items
    shared_bytes = stages * step
    kept_type, op = _parts(packed_dtype("lookback_pass", kept)), as_device(op)
    gather_user, finish_user, earlier = as_device(gather), as_device(finish), as_device(_after(op, init))

    def start(pipe, number, source, other, tile, valid):
        slot = dynamic_shared(tile_items, item, number * step)
        block_copy_async(pipe, slot, source, as_int64(tile) * tile_items, valid)

    def gather_tile(first_byte, tile, valid, like, context):
        mould = local_array(1, kept_type)
        result = gather_user(dynamic_shared(tile_items, item, first_byte), tile, valid, context)
        own = hold(mould[0])
        agree_gathered(result, own, like)
        return cast_like(own, result[0]), cast_like(like, result[1])

    def finish_tile(first_byte, tile, valid, own, total, before, has_before, is_last, context):
        slot = dynamic_shared(tile_items, item, first_byte)
        finish_user(slot, tile, valid, own, total, earlier(before, has_before), is_last, context)

    start, gather_tile, finish_tile = as_device(start), as_device(gather_tile), as_device(finish_tile)
    ring = Ring(shape, step, start, gather_tile, finish_tile, in_order, op, kept_type, total)
    pass_over = as_device(ring_pass(ring, as_device))

    def run(states, source, num_items, context):
        agree(states, state_value(states), local_array(1, total), source, local_array(1, item), num_items)
        count, written = as_int64(num_items), int32(0)
        check_pass(threads, shared_bytes, tile_items, states.size - HEAD, count, source)
        if num_items > 0:
            written = pass_over(states, count, source, source, state_value(states), context)
        return written

    return LookbackPass(as_device(run), threads, tile_items, shared_bytes)


@device_function()
def in_order(tile, num_tiles):
    """Return which tile of memory a tile is: itself."""
    return tile


def _after(op: Callable[..., Any], init: Any) -> Callable[..., Any]:
    """Return the function (before, whether anything is) -> `init` and what lies before a tile combined."""
    if init is None:
        return lambda before, has_before: before

    def earlier(before, has_before):
        start = cast_like(before, init)
        if has_before:
            start = combine(op, start, before)
        return start

    return earlier


def _check_function(what: str, function: Any, parameters: tuple[str, ...]) -> None:
    """Refuse what is no function of these parameters, as far as it says what it takes."""
    listed = ", ".join(parameters)
    if not callable(function):
        raise Refused(f"lookback_pass: {what} must be a function ({listed}), not {shown(function)}.")
    try:
        takes = inspect.signature(getattr(function, "py_func", getattr(function, "fn", function)))
    except (TypeError, ValueError):  # a built-in function
        return
    try:
        takes.bind(*parameters)
    except TypeError:
        raise Refused(f"lookback_pass: {what} must take ({listed}), not {takes}.") from None


def _checked(
    threads: int, items: int, dtype: Any, aggregate: Any, stages: int, ahead: int
) -> tuple[TileShape, np.dtype[Any], Any]:
    """Return the shape of tiles, the dtype of items and the type of aggregates, or refuse what does not go."""
    if threads not in range(32, 1025, 32):
        raise Refused(f"lookback_pass: threads must be a multiple of 32 up to 1024, not {threads!r}.")
    for what, given, least, most in (
        ("items", items, 1, 256), ("stages", stages, 2, MOST_STAGES), ("ahead", ahead, 1, stages - 1)
    ):  # fmt: skip
        if given not in range(least, most + 1):
            raise Refused(f"lookback_pass: {what} must be {least} to {most}, not {given!r}.")
    item = np.dtype(dtype)
    total = _parts(packed_dtype("lookback_pass", aggregate))
    shape = TileShape(threads, items, stages, ahead)
    nbytes = stages * whole_pieces(shape.tile_items * item.itemsize)
    if item.hasobject or not item.itemsize or item.subdtype:
        raise Refused(f"lookback_pass: dtype must be a number or a record, not {item}.")
    if nbytes > MOST_SHARED:
        raise Refused(
            f"lookback_pass: {stages} tiles of {shape.tile_items} {item} take {nbytes} bytes of shared memory, and a "
            f"block has at most {MOST_SHARED}: take fewer items, threads or stages."
        )
    return shape, item, total


def _parts(dtype: np.dtype[Any]) -> Any:
    """Return a dtype as `local_array` takes it: the tuple of its fields' where it has any."""
    if dtype.names:
        return tuple(_parts(dtype[name]) for name in dtype.names)
    return dtype.type


def _check_run(states: Kind, carried: Kind, total: Kind, source: Kind, item: Kind, num_items: Kind) -> None:
    if source.family != "array" or source.ndim != 1:
        refuse(f"lookback_pass: source must be a one-dimensional array, not {source.name}.")
    if not num_items.is_integer:
        refuse(f"lookback_pass: num_items must be an integer, not {num_items.name}.")
    if total.parts and carried != total.parts[0]:
        refuse(f"lookback_pass: the states carry {carried.name}, but tiles add up to {total.parts[0].name}.")
    if source.parts and item.parts and source.parts != item.parts:
        refuse(f"lookback_pass: source holds {source.parts[0].name}, but the pass is made for {item.parts[0].name}.")


@device_function(_check_run)
def agree(states, carried, total, source, item, num_items):
    """Refuse what `run` is given where it does not go with what the pass was made for."""


def _goes_into(given: Kind, wanted: Kind) -> bool:
    """Return whether a value becomes one of the kind `wanted` as `cast_like` makes it: no float an integer."""
    if given.family == "record":
        return True  # which says by itself what is wrong
    if given.parts or wanted.parts:
        return len(given.parts) == len(wanted.parts) and all(map(_goes_into, given.parts, wanted.parts))
    real = ("bool", "signed", "unsigned")
    return given.is_numeric and (given.family in real or wanted.family == "complex" or given.family == wanted.family)


def _check_gathered(result: Kind, own: Kind, like: Kind) -> None:
    if result.family != "tuple" or len(result.parts) != 2:
        refuse(
            "lookback_pass: gather must return a pair (what this thread keeps, what the tile adds up to), "
            f"not {result.name}."
        )
    kept, total = result.parts
    if not _goes_into(kept, own):
        refuse(f"lookback_pass: gather keeps {kept.name}, which does not go into {own.name}: say its type as kept=.")
    if not _goes_into(total, like):
        refuse(
            f"lookback_pass: gather says that a tile adds up to {total.name}, which does not go into {like.name}: "
            "say its type as aggregate=, to tile_states too."
        )


@device_function(_check_gathered)
def agree_gathered(result, own, like):
    """Refuse what gather returns where it is no pair, or does not go with `kept` and `aggregate`."""
