"""Kernels that misuse the block floor, each in one way, and one that does not.

The simulator's tests call them. `python -m tests.block.misuse NAME` runs one on a GPU and waits for it, for a process
with another WARPKIT_DEBUG than its parent's.
"""

import operator
import sys

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.block.states import HEAD

from .passes import carried

THREADS, SIZE = 64, 2
SHORT = THREADS - 1
device = cuda.jit(device=True)


def skipped(function):
    """Return (kernel, arrays): the second of two warps returns and lets the first call `function(x, out)`."""

    @cuda.jit
    def run(x, out):
        if cuda.threadIdx.x < 32:
            function(x, out)

    return run, (np.arange(1, 2 * THREADS + 1, dtype=np.int32), np.zeros(2 * THREADS, np.int32))


def parted(function, other):
    """Return (kernel, arrays): the first warp calls `function(x, out)`, the second one `other(x, out)`."""

    @cuda.jit
    def run(x, out):
        if cuda.threadIdx.x < 32:
            function(x, out)
        else:
            other(x, out)

    return run, (np.arange(1, 2 * THREADS + 1, dtype=np.int32), np.zeros(2 * THREADS, np.int32))


def together(function):
    """Return (kernel, arrays): all threads call `function(x, out)`."""

    @cuda.jit
    def run(x, out):
        function(x, out)

    return run, (np.arange(1, 2 * THREADS + 1, dtype=np.int32), np.zeros(2 * THREADS, np.int32))


def beyond_tiles():
    """Return (kernel, arrays): look-back over more tiles than the states have room for."""

    @cuda.jit
    def run(states, out):
        tile = wk.lookback_next_tile(states, 40)
        while tile >= 0:
            out[0] = wk.lookback_exclusive_prefix(states, tile, 1, wk.add, 0)
            tile = wk.lookback_next_tile(states, 40)

    return run, (wk.tile_states(4, np.int32), np.zeros(1, np.int32))


def undrawn(also):
    """Return (kernel, arrays): look-back on states that nobody draws from; with `also` it draws from others."""

    @cuda.jit
    def run(states, out, others):
        tile = wk.lookback_next_tile(others, 1) if also else 0
        if tile == 0:
            out[0] = wk.lookback_exclusive_prefix(states, tile, 1, wk.add, 0)

    return run, (wk.tile_states(1, np.int32), np.zeros(1, np.int32), wk.tile_states(1, np.int32))


def of_a_pass(threads, tiles, items):
    """Return (kernel, arrays): a pass for `threads` threads and `tiles` tiles, of `items` items; no shared memory."""

    @device
    def gather(slot, tile, valid, context):
        return 0, slot[0]

    @device
    def finish(slot, tile, valid, kept, aggregate, before, last, context):
        context[0][0] = before

    made = wk.lookback_pass(gather, finish, wk.add, threads=threads, items=1, dtype=np.int32, aggregate=np.int32)
    run_pass = made.run

    @cuda.jit
    def run(states, out, x):
        run_pass(states, x, items, (out,))

    states = np.zeros(tiles + HEAD, carried(np.int32))  # of the host: no GPU is needed to compile
    return run, (states, np.zeros(1, np.int32), np.zeros(2 * THREADS, np.int32))


def of_value(function, *args):
    """Return the device function (x, out): one value a thread in, one out."""

    @device
    def run(x, out):
        i = cuda.threadIdx.x
        out[i] = function(x[i], *args)

    return run


def of_items(function, *args):
    """Return the device function (x, out): a blocked tile in, `function(items, *args)`, and back."""

    @device
    def run(x, out):
        items = wk.local_array(SIZE, np.int32)
        wk.block_load_vectorized(items, x, 0)
        function(items, *args)
        wk.block_store_vectorized(items, out, 0)

    return run


def loading(function, base):
    """Return the device function (x, out): load a tile from `base` on."""

    @device
    def run(x, out):
        items = wk.local_array(SIZE, np.int32)
        function(items, x, base)
        wk.block_store_vectorized(items, out, 0)

    return run


def storing(function, base):
    """Return the device function (x, out): store a tile from `base` on."""

    @device
    def run(x, out):
        items = wk.local_array(SIZE, np.int32)
        wk.block_load_vectorized(items, x, 0)
        function(items, out, base)

    return run


@device
def pushes(x, out):
    """Push one item a thread; `out` is the buffer and its last element the counter."""
    wk.block_queue_push(out, out[out.size - 1 :], x[cuda.threadIdx.x])


@device
def pushes_items(x, out):
    """Push two items a thread."""
    items, flags = wk.local_array(SIZE, np.int32), wk.local_array(SIZE, np.bool_)
    for k in range(SIZE):
        items[k] = x[k]
        flags[k] = True
    wk.block_queue_push_items(out, out[out.size - 1 :], items, flags)


@device
def counts(x, out):
    """Count in bins of global memory."""
    wk.block_histogram(out, x[cuda.threadIdx.x])


@device
def copies(x, out):
    """Copy asynchronously and wait."""
    tile = wk.shared_array(THREADS, np.int32)
    pipe = wk.block_copy_pipeline(1)
    wk.block_copy_async(pipe, tile, x, 0, THREADS)
    wk.block_copy_wait(pipe, 0)


@device
def copies_too_much(x, out):
    """Copy more items than the tile has room for."""
    tile = wk.shared_array(SHORT, np.int32)
    pipe = wk.block_copy_pipeline(1)
    wk.block_copy_async(pipe, tile, x, 0, THREADS)
    wk.block_copy_wait(pipe, 0)


@device
def copies_from_behind(x, out):
    """Copy items that the source does not have."""
    tile = wk.shared_array(THREADS, np.int32)
    pipe = wk.block_copy_pipeline(1)
    wk.block_copy_async(pipe, tile, x, x.size - THREADS + 1, THREADS)
    wk.block_copy_wait(pipe, 0)


@device
def uses_scratch_at_once(x, out):
    """Hand an array over as scratch that other threads may still be reading."""
    items, own = wk.local_array(SIZE, np.int32), wk.shared_array(SIZE * THREADS, np.int32)
    i = cuda.threadIdx.x
    own[i] = x[i]
    wk.sync_block()
    items[0] = items[1] = own[THREADS - 1 - i]
    wk.block_striped_to_blocked(items, own)
    out[i] = items[0]


@device
def fills_scratch_at_once(x, out):
    """Write to bins while other threads may still be counting in them."""
    bins = wk.shared_array(THREADS, np.int32)
    i = cuda.threadIdx.x
    bins[i] = 0
    wk.block_histogram(bins, THREADS - 1 - i)
    out[i] = bins[i]


@device
def all_is_well(x, out):
    """Use much of the floor, rightly."""
    i = cuda.threadIdx.x
    items = wk.local_array(SIZE, np.int32)
    wk.block_load_transposed(items, x, 0, 100, 0)
    wk.block_exclusive_scan_items(items, wk.add, 0)
    wk.block_store_vectorized(items, out, 0, 100)
    wk.sync_block()
    even = wk.block_count(i % 2 == 0)
    if wk.block_any(i == 5) and not wk.block_all(i == 5):
        out[i] += wk.block_broadcast(wk.block_sum(x[i]), 7) + even


MISSING = "have returned without this collective"
ELSEWHERE = "wait in another collective"
OUTSIDE = "the index is outside the array"
PASS = "lookback_pass: "

SKIPPED = {
    "sum": of_value(wk.block_sum),
    "scan": of_value(wk.block_prefix_sum),
    "tree": of_value(wk.block_tree_sum),
    "broadcast": of_value(wk.block_broadcast, 3),
    "shuffle": of_value(wk.block_shuffle_up, 1),
    "count": of_value(device(lambda value: wk.block_count(value > 3))),
    "all": of_value(device(lambda value: wk.block_all(value > 3))),
    "any": of_value(device(lambda value: wk.block_any(value > 3))),
    "sync": of_value(device(lambda value: wk.sync_block() or value)),
    "exchange": of_items(wk.block_striped_to_blocked),
    "scan of items": of_items(wk.block_inclusive_scan_items, wk.add),
    "heads": of_items(wk.block_discontinuity_heads, operator.ne),
    "difference": of_items(wk.block_adjacent_difference, operator.sub),
    "transposed load": loading(wk.block_load_transposed, 1),  # aligned it would need no barrier
    "queue": pushes,
    "queue of items": pushes_items,
    "histogram": counts,
    "copy": copies,
}
APART = {
    "sum and scan": (SKIPPED["sum"], SKIPPED["scan"]),
    "broadcast and shuffle": (SKIPPED["broadcast"], SKIPPED["shuffle"]),
    "exchange and count": (SKIPPED["exchange"], SKIPPED["count"]),
}
BEYOND = {
    "load striped": loading(wk.block_load_striped, 1),
    "load blocked": loading(wk.block_load_blocked, 1),
    "load vectorized": loading(wk.block_load_vectorized, 4),
    "load vectorized before": loading(wk.block_load_vectorized, -4),
    "load transposed": loading(wk.block_load_transposed, 1),
    "store striped": storing(wk.block_store_striped, 1),
    "store blocked": storing(wk.block_store_blocked, 1),
    "store vectorized": storing(wk.block_store_vectorized, 4),
    "store transposed": storing(wk.block_store_transposed, -1000),
    "copy target": copies_too_much,
    "copy source": copies_from_behind,
}
# (threads, tiles of the states, items), what a GPU says with the switch on
PASSES = {
    "of other threads": ((THREADS // 2, 2, 10), PASS + "the block has another number of threads"),
    "without its memory": ((THREADS, 2, 2 * THREADS), PASS + "less dynamic shared memory"),
}
RACING = {"scratch": uses_scratch_at_once, "bins": fills_scratch_at_once}


# name: (function that makes kernel and arrays, its arguments, what a GPU says with the switch on or None for nothing)
CASES = {
    **{f"skipped {name}": (skipped, (function,), MISSING) for name, function in SKIPPED.items()},
    **{f"apart {name}": (parted, pair, ELSEWHERE) for name, pair in APART.items()},
    **{f"beyond {name}": (together, (function,), OUTSIDE) for name, function in BEYOND.items()},
    **{f"pass {name}": (of_a_pass, arguments, sentence) for name, (arguments, sentence) in PASSES.items()},
    "beyond tiles": (beyond_tiles, (), OUTSIDE),
    "well": (together, (all_is_well,), None),
}


def made(name):
    """Return (kernel, arrays) of a case."""
    make, arguments, _ = CASES[name]
    return make(*arguments)


def run(name):
    """Run one case in one block and return what it wrote."""
    kernel, arrays = made(name)
    kernel[1, THREADS](*arrays)
    cuda.synchronize()
    return arrays[1]


if __name__ == "__main__":
    print(run(sys.argv[1]).tolist())
