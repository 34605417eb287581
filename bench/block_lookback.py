"""Look-back alone: 2^20 tiles of one value each, beside CUB's TilePrefixCallbackOp (cuda/lookback.cu).

Goal: the fastest of ours takes at most 1.0 × the fastest of CUB's, whose launch that initialises the states is in its
time; ours has none. Both are given several block sizes. Every thread of a block gets the prefix, on both sides.
"""

import itertools
import sys

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.block.lookback import COUNTER, LONG, drawn
from warpkit.simt.memory import atomic_add
from warpkit.simt.states import block_notes, viewed
from warpkit.simt.sync import barrier

from .harness import Row
from .mode import MODE
from .peers import Peer
from .timing import queued_time

TILES = 1 << 20
SIZES = (32, 64, 128, 256)
SHARES = (1, 2, 4)
THREADS_OF_AN_SM, BLOCKS_OF_AN_SM = 2048, 32
FORMS = ("one tile a block", "all resident blocks", "half as many blocks", "a quarter as many blocks")


@cuda.jit
def prefixes(states, values, out):
    """Store for every tile what all tiles before it add up to, publishing nothing ahead."""
    tile = wk.lookback_next_tile(states, values.size)
    while tile >= 0:
        before = wk.lookback_exclusive_prefix(states, tile, values[tile], wk.add, np.float32(0))
        if cuda.threadIdx.x == 0:
            out[tile] = before
        tile = wk.lookback_next_tile(states, values.size)


@cuda.jit(device=True)
def begin_draw(states):
    """Begin to draw a number, of which thread 0 hears; nobody waits for it."""
    counter = np.int64(0)
    if cuda.threadIdx.x == 0:
        counter = atomic_add(viewed(states, LONG), COUNTER, 1)
    return counter


@cuda.jit(device=True)
def end_draw(states, counter, num_tiles):
    """Return the tile of a draw that was begun, −1 when none is left."""
    notes = block_notes()
    if cuda.threadIdx.x == 0:
        notes[1] = drawn(states, counter, num_tiles)
    barrier()
    number = (notes[1] - 1) & 0xFFFFFFFF
    barrier()
    return np.int32(number if number < num_tiles else -1)


@cuda.jit
def prefixes_drawn_early(states, values, out):
    """Do what `prefixes` does, but draw the next tile while this one's prefix is looked for.

    Its aggregate is there before: whoever has drawn a tile has published the one before it.
    """
    tile = wk.lookback_next_tile(states, values.size)
    while tile >= 0:
        wk.lookback_publish(states, tile, values[tile])
        counter = begin_draw(states)
        before = wk.lookback_exclusive_prefix(states, tile, values[tile], wk.add, np.float32(0))
        if cuda.threadIdx.x == 0:
            out[tile] = before
        tile = end_draw(states, counter, values.size)


KERNELS = {"drawn when needed": prefixes, "drawn early": prefixes_drawn_early}


def _measure(kernel, blocks, threads, states, values, right):
    """Return the time of one launch; ValueError when a prefix is wrong."""
    source, out = cuda.to_device(values), cuda.to_device(np.full(values.size, np.nan, np.float32))
    taken = queued_time(lambda stream: kernel[blocks, threads, stream](states, source, out))
    found = out.copy_to_host()
    if not np.array_equal(found, right):
        wrong = int(np.argmax(found != right))
        raise ValueError(f"wrong values, the first at tile {wrong}: {found[wrong]} instead of {right[wrong]}")
    return taken


def _ours(threads, processors, states, values, right):
    """Return (time, blocks an SM, kernel) of the best: as many blocks as an SM holds, or a half, or a quarter."""
    resident = min(BLOCKS_OF_AN_SM, THREADS_OF_AN_SM // threads)
    found = []
    for (name, kernel), share in itertools.product(KERNELS.items(), SHARES[: MODE.fewer(len(SHARES), 3)]):
        grid = resident // share
        taken = _measure(kernel, processors * grid, threads, states, values, right)
        found.append((taken, f"{grid} blocks an SM, {name}"))
        print(f"    {found[-1][1]}: {taken:.0f} µs", file=sys.stderr, flush=True)
    return min(found)


def _peer_rows(found):
    """Return {threads: (time, form)} of CUB's fastest form for each block size, empty without a peer."""
    named = {threads: [(found.get(f"{form} {threads}"), form) for form in FORMS] for threads in SIZES}
    return {threads: min(pairs) for threads, pairs in named.items() if all(taken for taken, _ in pairs)}


def run(report):
    """Measure every block size; one that fails is an error of the report and costs the others nothing."""
    gpu = cuda.get_current_device()
    processors = 1 if MODE.simulated else gpu.MULTIPROCESSOR_COUNT
    peer = Peer("lookback", gpu.compute_capability)
    # Small integers, whose sums are exact in any order.
    tiles = MODE.fewer(TILES, TILES, 64)
    values = np.random.default_rng(20).integers(0, 4, tiles).astype(np.float32)
    right = np.cumsum(values, dtype=np.float64) - values
    states, ours = wk.tile_states(tiles, np.float32), {}
    for threads in report.cases(SIZES, "{} threads".format):
        with report.attempt(f"{threads} threads"):
            ours[threads] = _ours(threads, processors, states, values, right)
    beside = _peer_rows(peer.beside(report))
    for threads, (taken, grid) in sorted(ours.items()):
        theirs, form = beside.get(threads, (None, "no peer"))
        note = f"ours: {grid}; CUB: {form}"
        report.rows.append(Row(f"{threads} threads a block", taken, theirs, note=note))
        report.notes.append(f"{threads} threads: {note}")
    if ours:
        best = min(beside.values())[0] if beside else None
        report.rows.append(Row("the fastest of each", min(ours.values())[0], best, goal=1.0))
    report.notes.append(
        f"each row: the best of {len(SHARES)} grids and {len(KERNELS)} kernels of ours and of {len(FORMS)} forms of "
        "CUB's, each a median; the last row: the best of all"
    )
    report.notes.append(f"{tiles:,} tiles of one float32; CUB's time includes the launch that initialises its states")
    report.notes.append("each time is of one run that waits on the stream behind another, so no launch is in it")
    if not peer.built:
        report.notes.append(peer.missing)
