"""Map, scan and filter in one kernel and one pass: on which days was the account overdrawn, in order?"""

import numpy as np
from numba import cuda

import warpkit as wk

THREADS = 64


@cuda.jit
def overdrawn(payments, rate, sums, counts, num_tiles, days, num_days):
    """Append to `days` the indices at which the running sum of `rate * payments` is negative."""
    tile = wk.lookback_next_tile(sums, num_tiles, also=counts)
    while tile >= 0:
        day = tile * THREADS + cuda.threadIdx.x
        amount = rate * payments[day] if day < payments.size else 0  # map
        before, total = wk.block_prefix_sum_total(amount)
        earlier = wk.lookback_exclusive_prefix(sums, tile, total, wk.add, 0)  # scan
        keep = day < payments.size and earlier + before + amount < 0
        rank, kept = wk.block_prefix_sum_total(1 if keep else 0)
        first = wk.lookback_exclusive_prefix(counts, tile, kept, wk.add, 0)  # filter
        if keep:
            days[first + rank] = day
        if tile == num_tiles - 1 and cuda.threadIdx.x == 0:
            num_days[0] = first + kept
        tile = wk.lookback_next_tile(sums, num_tiles, also=counts)


payments = np.random.default_rng(3).integers(-100, 101, 700)
num_tiles = -(-payments.size // THREADS)
sums, counts = wk.tile_states(num_tiles, np.int64), wk.tile_states(num_tiles, np.int64)
for rate in (3, -2):  # launch after launch, without a reset
    days, num_days = np.zeros(payments.size, np.int64), np.zeros(1, np.int64)
    overdrawn[8, THREADS](payments, rate, sums, counts, num_tiles, days, num_days)
    assert (days[: num_days[0]] == np.flatnonzero(np.cumsum(rate * payments) < 0)).all()
    print(f"rate {rate}: overdrawn on {num_days[0]} of {payments.size} days")
