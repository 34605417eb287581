"""Acceptance case 14: staging through shared memory, and a mipmap; 11, 12 and 16 are with their functions."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.matrix import SIMULATOR

from .kernels import launch, place


@cuda.jit
def staged(x, out):
    """Stage a block's items in shared memory, then read them from it."""
    index, _, i = place()
    tile = wk.shared_array(32, np.uint32)
    tile[index] = x[i]
    wk.sync_block()
    out[i] = tile[i & 31]


def test_a14_staging():
    x, out = np.arange(1024, dtype=np.uint32) % 32, np.zeros(1024, np.uint32)
    launch(staged, (32,), x, out, blocks=32)
    assert (out == np.arange(1024) % 32).all()


LEVELS, EDGE = 5, 16


@cuda.jit
def mipmap(image, levels):
    """Five levels of 2 × 2 means of a tile of 16 × 16, each from the one before it, in one shared array."""
    tile = wk.shared_array((16, 16), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 16 + y, cuda.blockIdx.x * 16 + x
    inside = row < image.shape[0] and column < image.shape[1]
    tile[y, x] = image[row, column] if inside else np.float32(0)
    height, width, edge = image.shape[0], image.shape[1], 16
    for level in range(5):
        wk.sync_block()
        mine = x < edge and y < edge and inside_level(height, width, edge, x, y)
        if mine:
            levels[level, cuda.blockIdx.y * edge + y, cuda.blockIdx.x * edge + x] = tile[y, x]
        edge = edge // 2
        mean = np.float32(0)
        rows, columns = height - cuda.blockIdx.y * 2 * edge, width - cuda.blockIdx.x * 2 * edge
        if x < edge and y < edge and 2 * y < rows and 2 * x < columns:
            below, right = min(2 * y + 1, rows - 1), min(2 * x + 1, columns - 1)
            mean = (tile[2 * y, 2 * x] + tile[below, 2 * x] + tile[2 * y, right] + tile[below, right]) / np.float32(4)
        wk.sync_block()
        if x < edge and y < edge:
            tile[y, x] = mean
        height, width = (height + 1) // 2, (width + 1) // 2


@cuda.jit(device=True)
def inside_level(height, width, edge, x, y):
    """Say whether this thread has a pixel of the current level."""
    return cuda.blockIdx.y * edge + y < height and cuda.blockIdx.x * edge + x < width


def halved(image):
    """Return the 2 × 2 means of an image, the last row and column repeated where they have no partner."""
    padded = np.pad(image, [(0, n % 2) for n in image.shape], mode="edge")
    return (padded[::2, ::2] + padded[1::2, ::2] + padded[::2, 1::2] + padded[1::2, 1::2]) / np.float32(4)


@pytest.mark.parametrize("shape", [(16, 16), (13, 7)] + ([] if SIMULATOR else [(64, 64), (50, 33), (100, 31)]))
def test_a14_a_mipmap_of_five_levels(shape):
    image = np.random.default_rng(1).integers(0, 256, shape).astype(np.float32)
    grid = (-(-shape[1] // 16), -(-shape[0] // 16))
    levels = np.zeros((5, grid[1] * 16, grid[0] * 16), np.float32)
    mipmap[grid, (16, 16)](image, levels)
    for level in range(5):
        assert (levels[level, : image.shape[0], : image.shape[1]] == image).all(), level
        image = halved(image)
