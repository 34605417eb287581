"""Mipmap: an image at a half to a 32nd of its size, five levels in one pass over its pixels."""

import sys

import numpy as np
from _image import likeness
from numba import config, cuda

import warpkit as wk

LEVELS = 5


@cuda.jit
def pyramid(image, atlas):
    """Average 2 × 2 pixels five times, each block those of a tile; where the image ends, those that there are."""
    tile = wk.shared_array((32, 32), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = 32 * cuda.blockIdx.y, 32 * cuda.blockIdx.x  # the tile's corner in the level
    height, width = image.shape  # of the level
    if row + y < height and column + x < width:
        tile[y, x] = image[row + y, column + x]
    top = 0  # of the level in the atlas
    for level in range(LEVELS):
        wk.sync_block()  # the whole tile is there
        mean, pixels = np.float32(0), 0
        if max(x, y) < 16 >> level:
            for j in range(2 * y, min(2 * y + 2, height - row)):
                for i in range(2 * x, min(2 * x + 2, width - column)):
                    mean += tile[j, i]
                    pixels += 1
        wk.sync_block()  # everyone has read what is now overwritten
        row, column, height, width = row >> 1, column >> 1, (height + 1) >> 1, (width + 1) >> 1
        if pixels > 0:
            mean /= np.float32(pixels)
            tile[y, x] = mean
            atlas[top + row + y, column + x] = mean
        top += height


def halved(image):
    """Return the means of 2 × 2 pixels by NumPy: pixels that are missing at the edge are no numbers and not counted."""
    padded = np.pad(image.astype(np.float32), [(0, n % 2) for n in image.shape], constant_values=np.nan)
    return np.nanmean(padded.reshape(padded.shape[0] // 2, 2, -1, 2), axis=(1, 3))


image = likeness(*(97, 145) if config.ENABLE_CUDASIM else (1001, 1503))
height, width = image.shape
atlas = cuda.to_device(np.zeros((height + LEVELS, (width + 1) // 2), np.float32))
pyramid[(-(-width // 32), -(-height // 32)), (32, 32)](cuda.to_device(image), atlas)
atlas = atlas.copy_to_host()

top, level = 0, image
for _ in range(LEVELS):
    level = halved(level)
    assert np.allclose(atlas[top : top + len(level), : level.shape[1]], level, rtol=1e-5)
    top += len(level)
print(f"{height} × {width} pixels down to {level.shape[0]} × {level.shape[1]}: {LEVELS} levels in {top} lines")

if len(sys.argv) > 1:  # a file for the picture
    import matplotlib.image

    picture = np.hstack([np.pad(image, ((0, LEVELS), (0, 0))), atlas])
    matplotlib.image.imsave(sys.argv[1], picture, cmap="gray", vmin=image.min(), vmax=255)
