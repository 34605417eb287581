"""Stream compaction: what passes, in any order by a queue, in its own order by look-back."""

import numpy as np
from numba import config, cuda

import warpkit as wk

THREADS = 128


@cuda.jit
def by_queue(x, limit, kept, count):
    """Append what passes: a warp counts by a vote, a block claims its slots by one atomic."""
    i = cuda.grid(1)
    value = x[i] if i < x.size else limit
    wk.block_queue_push_if(kept, count, value, value > limit)


@cuda.jit
def by_scan(x, limit, kept, count, states, num_tiles):
    """Move each item that passes behind all earlier ones; blocks tell each other how many they have."""
    tile = wk.lookback_next_tile(states, num_tiles)
    while tile >= 0:
        i = tile * THREADS + cuda.threadIdx.x
        value = x[i] if i < x.size else limit
        rank, found = wk.block_prefix_sum_total(1 if value > limit else 0)
        first = wk.lookback_exclusive_prefix(states, tile, found, wk.add, 0)
        if value > limit:
            kept[first + rank] = value
        if tile == num_tiles - 1 and cuda.threadIdx.x == 0:
            count[0] = first + found
        tile = wk.lookback_next_tile(states, num_tiles)


x = np.random.default_rng(43).random(1000 if config.ENABLE_CUDASIM else 5_000_001, np.float32)
limit = np.float32(0.75)
expected = x[x > limit]
num_tiles = -(-x.size // THREADS)
device_x, kept = cuda.to_device(x), cuda.device_array(x.size, np.float32)

count = cuda.to_device(np.zeros(1, np.int64))
by_queue[num_tiles, THREADS](device_x, limit, kept, count)
queued = kept.copy_to_host()[: count.copy_to_host()[0]]
assert (np.sort(queued) == np.sort(expected)).all()

states = wk.tile_states(num_tiles, np.int64)
by_scan[3 if config.ENABLE_CUDASIM else 2000, THREADS](device_x, limit, kept, count, states, num_tiles)
scanned = kept.copy_to_host()[: count.copy_to_host()[0]]
assert np.array_equal(scanned, expected)

order = "their own" if np.array_equal(queued, expected) else "another"
print(f"{expected.size:,} of {x.size:,} items pass; the scan has them in their own order, the queue in {order}")
