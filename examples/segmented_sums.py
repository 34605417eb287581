"""Sums of rows of unequal length: a warp adds up its part of each row, with one atomic."""

import numpy as np
from numba import config, cuda

import warpkit as wk

ALL_LANES = 0xFFFFFFFF


@cuda.jit
def row_sums(x, row, parts, sums):
    """Give every item the sum of its row within the warp, and add it to the row's sum once."""
    i = cuda.grid(1)
    here = i < x.size
    value = x[i] if here else 0
    ends = not here or i == x.size - 1 or row[i] != row[i + 1]
    part = wk.warp_tail_segmented_reduce(value, ends, wk.add, mask=ALL_LANES)
    if here:
        parts[i] = part
        if ends or wk.warp_lane_id() == 31:
            cuda.atomic.add(sums, row[i], part)


rng = np.random.default_rng(7)
tens = np.full(52, 10)
tens[-1] = 2  # 512 items, of which every tenth is the last of its row
for lengths in (tens, rng.integers(1, 90, 12 if config.ENABLE_CUDASIM else 100_000)):
    row = np.repeat(np.arange(lengths.size), lengths)
    x = np.arange(row.size)
    parts, sums = cuda.device_array(row.size, np.int64), cuda.to_device(np.zeros(lengths.size, np.int64))
    row_sums[-(-x.size // 256), 256](cuda.to_device(x), cuda.to_device(row), parts, sums)
    sums = sums.copy_to_host()

    new_row = np.diff(row, prepend=-1) != 0
    new_part = new_row | (np.arange(x.size) % 32 == 0)  # a row's items in one warp
    assert (sums == np.add.reduceat(x, np.flatnonzero(new_row))).all()
    expected = np.add.reduceat(x, np.flatnonzero(new_part))[np.cumsum(new_part) - 1]
    assert (parts.copy_to_host() == expected).all()
    print(f"{lengths.size:,} rows, {x.size:,} items, {new_part.sum():,} atomics; the last sum is {sums[-1]:,}")
