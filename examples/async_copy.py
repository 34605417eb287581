"""Asynchronous copies into shared memory, in two stages: work on a tile while the next one comes."""

import numpy as np
from numba import config, cuda

import warpkit as wk

TILE = 1024


@cuda.jit
def differences(x, out):
    """Set out[i] to x[i] − x[i − 1], inside a tile; its first item has no item before it."""
    tiles = wk.shared_array((2, TILE), np.float32)
    pipe = wk.block_copy_pipeline(2)
    base, stage = TILE * cuda.blockIdx.x, 0
    wk.block_copy_async(pipe, tiles[stage], x, base, min(TILE, x.size - base))
    while base < x.size:
        following = base + TILE * cuda.gridDim.x
        wk.block_copy_async(pipe, tiles[1 - stage], x, following, min(TILE, x.size - following))  # none left: no bytes
        wk.block_copy_wait(pipe, 1)  # this tile has landed, the next one may still be on its way
        for k in range(cuda.threadIdx.x, min(TILE, x.size - base), cuda.blockDim.x):
            out[base + k] = tiles[stage, k] - (tiles[stage, k - 1] if k else np.float32(0))
        wk.sync_block()  # nobody reads this tile any more: the next copy may overwrite it
        base, stage = following, 1 - stage
    wk.block_copy_wait(pipe, 0)


for size in (1024, 2048, 3001) if config.ENABLE_CUDASIM else (1024, 2048, 10_000_001):
    x = np.random.default_rng(14).random(size, np.float32)
    out = cuda.device_array(size, np.float32)
    blocks = 1 if config.ENABLE_CUDASIM else 264
    differences[blocks, 128](cuda.to_device(x), out)

    before = np.append(np.float32(0), x[:-1])
    before[::TILE] = 0
    assert (out.copy_to_host() == x - before).all()
    print(f"{size:,} items: {-(-size // TILE):,} tiles through {2 * blocks} buffers")
