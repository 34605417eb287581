"""A user's kernel with `lookback_pass`: map, scan and select in one pass over the array.

It keeps the items at which the number of odd ones so far is odd: about half of random ones. Which ones a tile keeps
depends on the parity before it, and if that is odd they are those that it drops if it is even. So one look-back is
enough: `gather` sorts a tile into both parts, `finish` writes one of them.

What a run of items does is one number, twice (kept − dropped if the count before is even), plus 1 if it has an odd
number of odd ones: what follows such a run counts the other way round.
"""

import numpy as np
from numba import config, cuda

import warpkit as wk

THREADS, ITEMS, STAGES, AHEAD, BLOCKS = 224, 31, 4, 2, 2  # BLOCKS: a multiprocessor
TILE = THREADS * ITEMS
MOST = 1 << 29  # items that are counted in 32 bits
BOUNDS = {} if config.ENABLE_CUDASIM else {"launch_bounds": (THREADS, BLOCKS)}


@cuda.jit(device=True)
def then(run, later):
    """Combine what two runs of items do, one behind the other: associative."""
    return run + later * (1 - 2 * (run & 1))


def gather(slot, tile, valid, context):
    """Sort a tile: in front what it keeps if the count before it is even, behind that the rest."""
    values = wk.local_array(ITEMS, np.int32)
    begin = np.uint32(cuda.threadIdx.x * ITEMS)  # unsigned: an index that cannot count from the end
    own = np.int32(min(max(valid - begin, 0), ITEMS))
    inside = np.uint32((1 << own) - 1)
    odd = np.uint32(0)
    for j in range(ITEMS):  # map
        values[j] = slot[np.uint32(begin + j)]
        odd |= np.uint32(values[j] & 1) << j
    odd = np.uint32(odd & inside)
    keep = odd
    for k in range(5):  # scan: bit j becomes the parity of all bits up to j
        keep = np.uint32(keep ^ (keep << (1 << k)))
    mine = 2 * (2 * cuda.popc(keep & inside) - own) + (cuda.popc(odd) & 1)
    before, total = wk.block_exclusive_scan_total(np.int32(mine), then, 0)
    keep = np.uint32((keep ^ -(before & 1)) & inside)
    front = np.int32((valid + (total >> 1)) >> 1)  # kept: half of (items + kept − dropped)
    place = np.uint32((min(np.int32(begin), valid) + (before >> 1)) >> 1)
    places = np.uint32(place | (front + begin - place) << 16)  # in 16 bits each: of the next kept item, the next other
    for j in range(ITEMS):  # select
        if (keep >> j) & 1:
            to = np.uint32(places & 0xFFFF)
            places = np.uint32(places + 1)
        else:
            to = np.uint32(places >> 16)
            places = np.uint32(places + (1 << 16))
        slot[to] = values[j]
    return front, total


def finish(slot, tile, valid, front, total, before, last, context):
    """Write the part of a tile that is kept."""
    out, count_out = context
    first = (np.int64(tile) * TILE + (before >> 1)) >> 1
    begin = front if before & 1 else np.int32(0)
    found = np.int32(valid - front if before & 1 else front)
    i = cuda.threadIdx.x
    mine = np.int32(found - i)
    for k in range(0, TILE, THREADS):
        if k < mine:
            out[np.uint64(first + i + k)] = slot[np.uint64(begin + i + k)]
    if last and cuda.threadIdx.x == 0:
        count_out[0] = first + found


shape = {"threads": THREADS, "items": ITEMS, "stages": STAGES, "ahead": AHEAD}
odd_counts = wk.lookback_pass(gather, finish, then, dtype=np.int32, aggregate=np.int32, init=0, **shape)


@cuda.jit(**BOUNDS)
def map_scan_select(x, states, out, count_out):
    """Write the items of `x` at which the number of odd items so far is odd."""
    odd_counts.run(states, x, x.size, (out, count_out))


def fused(x, out, count):
    """Return (the prepared call, what it keeps of the first items)."""
    if x.size > MOST:
        raise ValueError(f"{x.size} items are more than {MOST}: take aggregate=np.int64.")
    states = wk.tile_states(-(-x.size // TILE), np.int32)
    launch = BLOCKS * cuda.get_current_device().MULTIPROCESSOR_COUNT, THREADS, x, states, out, count
    call = wk.prepare(map_scan_select, *launch, shared=odd_counts.shared_bytes)
    piece = x[: min(x.size, 1 << 20)].copy_to_host()
    return call, piece[np.cumsum(piece & 1) & 1 == 1]
