"""Softmax of rows of eight, four to a warp: by a butterfly of your own, and by `width=8`."""

import math

import numpy as np
from numba import cuda

import warpkit as wk


@cuda.jit
def row_sums(x, sums):
    """Sum rows of 16, two items a lane."""
    i = cuda.grid(1)
    row, lane = i >> 3, i & 7
    total = wk.warp_active_sum(x[row, lane] + x[row, lane + 8], width=8)
    if lane == 0:
        sums[row] = total


@cuda.jit
def softmax_by_butterfly(x, share):
    """Exchange with the lanes at distance 4, 2 and 1: nobody leaves its group of eight."""
    i = cuda.grid(1)
    lane = wk.warp_lane_id()
    largest = x[i]
    for distance in (4, 2, 1):
        largest = max(largest, wk.warp_read_lane(largest, lane ^ distance))
    grown = np.float32(math.exp(x[i] - largest))
    total = grown
    for distance in (4, 2, 1):
        total += wk.warp_read_lane(total, lane ^ distance)
    share[i] = grown / total


@cuda.jit
def softmax_by_group(x, share):
    """The same in the library's words."""
    i = cuda.grid(1)
    grown = np.float32(math.exp(x[i] - wk.warp_active_max(x[i], width=8)))
    share[i] = grown / wk.warp_active_sum(grown, width=8)


x = (0.5 * np.sin(0.17 * np.arange(1024) + 0.25) + 0.75).astype(np.float32).reshape(64, 16)
sums = cuda.device_array(64, np.float32)
row_sums[8, 64](cuda.to_device(x), sums)
sums = sums.copy_to_host()
assert np.allclose(sums, x.sum(axis=1), atol=1e-4)
assert np.allclose([sums[0], sums[63]], [17.75304, 11.43993], atol=1e-4)
print(f"64 sums of 16: the first is {sums[0]:.5f}, the last {sums[63]:.5f}")

logits = np.cos(0.11 * np.arange(256) + 1.5).astype(np.float32)
shares = []
for kernel in (softmax_by_butterfly, softmax_by_group):
    share = cuda.device_array(256, np.float32)
    kernel[4, 64](cuda.to_device(logits), share)
    shares.append(share.copy_to_host())
grown = np.exp(logits.astype(float)).reshape(32, 8)
assert np.allclose(shares, (grown / grown.sum(axis=1, keepdims=True)).ravel(), atol=1e-4)
print(f"32 rows of 8: the greatest share is {shares[1].max():.4f}, in row {shares[1].argmax() // 8}")
