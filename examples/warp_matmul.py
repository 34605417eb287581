"""Matrix product with a warp an output: its lanes share the row, and need no shared memory."""

import numpy as np
from numba import config, cuda

import warpkit as wk

ALL_LANES = 0xFFFFFFFF
WARPS = 4  # a block


@cuda.jit
def multiply(left, right, product):
    """Set product[row, column] to the dot product of row `row` of `left` and row `column` of `right`."""
    column = cuda.blockIdx.x * WARPS + wk.warp_id()
    row = cuda.blockIdx.y
    if column < product.shape[1]:  # the same for all lanes of a warp
        lane = wk.warp_lane_id()
        mine = np.float32(0)
        for k in range(lane, left.shape[1], 32):  # neighbouring lanes read neighbouring items
            mine += left[row, k] * right[column, k]
        # Lanes leave that loop at different times where 32 does not divide its length: the mask has them wait here.
        total = wk.warp_active_sum(mine, mask=ALL_LANES)
        if lane == 0:
            product[row, column] = total


rng = np.random.default_rng(21)
shapes = [(5, 9, 64), (5, 9, 70)] if config.ENABLE_CUDASIM else [(256, 256, 256), (256, 250, 70), (1000, 3000, 999)]
for rows, columns, inner in shapes:
    left = rng.uniform(0.5, 1.5, (rows, inner)).astype(np.float32)
    right = rng.uniform(0.5, 1.5, (columns, inner)).astype(np.float32)
    product = cuda.device_array((rows, columns), np.float32)
    grid = (-(-columns // WARPS), rows)
    multiply[grid, 32 * WARPS](cuda.to_device(left), cuda.to_device(right), product)

    difference = np.abs(product.copy_to_host() - left @ right.T).max()
    assert difference < 1e-2
    print(f"({rows} × {inner}) by ({inner} × {columns}): largest difference from NumPy {difference:.1e}")
