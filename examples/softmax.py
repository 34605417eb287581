"""Softmax of a row over several blocks: maximum and sum in one reduction of pairs."""

import math

import numpy as np
from numba import config, cuda

import warpkit as wk

LOWEST = np.float32(-3e38)  # not −inf: the difference of two infinities is no number


@cuda.jit(device=True)
def merge(a, b):
    """Combine two (maximum, sum of exp(x − maximum)), each sum scaled to the common maximum."""
    top = max(a[0], b[0])
    return top, a[1] * math.exp(a[0] - top) + b[1] * math.exp(b[0] - top)


@cuda.jit
def largest_and_sum(x, scratch, pair):
    """Reduce over the grid; the block that finishes last knows the result."""
    i = cuda.grid(1)
    mine = (x[i], np.float32(1)) if i < x.size else (LOWEST, np.float32(0))
    is_last, total = wk.grid_reduce(mine, merge, scratch)
    if is_last and cuda.threadIdx.x == 0:
        pair[0], pair[1] = total[0], total[1]


@cuda.jit
def shares(x, pair, share):
    """Give each item its share of the sum."""
    i = cuda.grid(1)
    if i < x.size:
        share[i] = math.exp(x[i] - pair[0]) / pair[1]


def row(size, p):
    """Return `size` values that rise and fall, all of them different."""
    i = np.arange(size)
    return 1.75 * np.sin(0.017 * i + p) + 0.65 * np.cos(0.031 * i - p / 2) + (i % 19 - 9) * 0.0275


scratch = wk.grid_scratch(4, (np.float32, np.float32))
pair = cuda.device_array(2, np.float32)
for size, threads, p in [(257, 128, -0.8)] if config.ENABLE_CUDASIM else [(3073, 1024, 0.35), (257, 512, -0.8)]:
    for offset in (1e4, 0):  # exp(1e4) is infinite: without the maximum nothing would be left
        x = (row(size, p) + offset).astype(np.float32)
        device_x, share = cuda.to_device(x), cuda.device_array(size, np.float32)
        blocks = -(-size // threads)
        largest_and_sum[blocks, threads](device_x, scratch, pair)
        shares[blocks, threads](device_x, pair, share)
        share = share.copy_to_host()

        grown = np.exp(x.astype(float) - x.max())
        assert np.allclose(share, grown / grown.sum(), rtol=2e-4, atol=5e-6)
    print(f"{size} items, blocks of {threads}: the greatest share is {share.max():.10f}, of item {share.argmax()}")
