"""A user's kernel with the public look-back: map, scan and select in one pass over the array.

It keeps the items at which the number of odd ones so far is odd: about half of random ones. Two look-backs a tile, the
second of which depends on the first.
"""

import numpy as np
from numba import config, cuda

import warpkit as wk

THREADS, ITEMS = 256, 15
TILE = THREADS * ITEMS
BLOCKS = 4  # a multiprocessor
BOUNDS = {} if config.ENABLE_CUDASIM else {"launch_bounds": (THREADS, BLOCKS)}


@cuda.jit(**BOUNDS)
def map_scan_select(x, odd, kept, num_tiles, out, count_out):
    """Write the items of `x` at which the number of odd items so far is odd."""
    items, counts = wk.local_array(ITEMS, np.int32), wk.local_array(ITEMS, np.int32)
    words = wk.shared_array(TILE, np.int32)
    tile = wk.lookback_next_tile(odd, num_tiles, also=kept)
    while tile >= 0:
        base = tile * TILE
        valid = min(TILE, x.size - base)
        wk.block_load_transposed(items, x, base, valid, 0, words)
        for j in range(ITEMS):  # map
            counts[j] = items[j] & 1
        total = wk.block_inclusive_scan_items(counts, wk.add)  # scan
        wk.lookback_publish(odd, tile, total)
        earlier = wk.lookback_exclusive_prefix(odd, tile, total, wk.add, 0)
        begin, mine = cuda.threadIdx.x * ITEMS, 0
        for j in range(ITEMS):
            counts[j] = (earlier + counts[j]) & (1 if begin + j < valid else 0)
            mine += counts[j]
        place, here = wk.block_prefix_sum_total(np.int32(mine))  # select
        wk.lookback_publish(kept, tile, here)
        for j in range(ITEMS):
            if counts[j] != 0:
                words[place] = items[j]
                place += 1
        first = wk.lookback_exclusive_prefix(kept, tile, here, wk.add, 0)
        i = cuda.threadIdx.x
        while i < here:
            out[first + i] = words[i]
            i += THREADS
        if tile == num_tiles - 1 and cuda.threadIdx.x == 0:
            count_out[0] = first + here
        tile = wk.lookback_next_tile(odd, num_tiles, also=kept)


def fused(x, out, count):
    """Return (the prepared call, what it keeps of the first items)."""
    num_tiles = -(-x.size // TILE)
    odd, kept = wk.tile_states(num_tiles, np.int32), wk.tile_states(num_tiles, np.int32)
    blocks = min(num_tiles, BLOCKS * cuda.get_current_device().MULTIPROCESSOR_COUNT)
    call = wk.prepare(map_scan_select, blocks, THREADS, x, odd, kept, num_tiles, out, count)
    piece = x[: min(x.size, 1 << 20)].copy_to_host()
    return call, piece[np.cumsum(piece & 1) & 1 == 1]
