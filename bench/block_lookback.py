"""Look-back alone: 2^20 tiles of one value each, beside CUB's TilePrefixCallbackOp (cuda/lookback.cu).

Goal: the fastest of ours takes at most 1.0 × the fastest of CUB's, whose launch that initialises the states is in its
time; ours has none. Both are given several block sizes. Every thread of a block gets the prefix, on both sides.
"""

import numpy as np
from numba import cuda

import warpkit as wk

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


def _measure(blocks, threads, states, values, right):
    """Return the time of one launch; ValueError when a prefix is wrong."""
    source, out = cuda.to_device(values), cuda.to_device(np.full(values.size, np.nan, np.float32))
    taken = queued_time(lambda stream: prefixes[blocks, threads, stream](states, source, out))
    found = out.copy_to_host()
    if not np.array_equal(found, right):
        wrong = int(np.argmax(found != right))
        raise ValueError(f"wrong values, the first at tile {wrong}: {found[wrong]} instead of {right[wrong]}")
    return taken


def _ours(threads, processors, states, values, right):
    """Return (time, blocks an SM) of the best grid: as many blocks as an SM holds, or a half, or a quarter."""
    resident = min(BLOCKS_OF_AN_SM, THREADS_OF_AN_SM // threads)
    grids = [resident // share for share in SHARES]
    return min((_measure(processors * grid, threads, states, values, right), grid) for grid in grids)


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
        try:
            ours[threads] = _ours(threads, processors, states, values, right)
        except Exception as error:
            report.errors.append(f"{threads} threads: {type(error).__name__}: {error}")
    try:
        beside = _peer_rows(peer.results())
    except RuntimeError as error:
        report.errors.append(str(error))
        beside = {}
    for threads, (taken, grid) in sorted(ours.items()):
        theirs, form = beside.get(threads, (None, "no peer"))
        note = f"ours: {grid} blocks an SM; CUB: {form}"
        report.rows.append(Row(f"{threads} threads a block", taken, theirs, note=note))
        report.notes.append(f"{threads} threads: {note}")
    if ours:
        best = min(beside.values())[0] if beside else None
        report.rows.append(Row("the fastest of each", min(ours.values())[0], best, goal=1.0))
    report.notes.append(
        f"each row: the best of {len(SHARES)} grids of ours and of {len(FORMS)} forms of CUB's, each a median; "
        "the last row: the best of all"
    )
    report.notes.append(f"{tiles:,} tiles of one float32; CUB's time includes the launch that initialises its states")
    report.notes.append("each time is of one run that waits on the stream behind another, so no launch is in it")
    if not peer.built:
        report.notes.append(peer.missing)
