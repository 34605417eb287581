"""Histogram equalisation: spread the grey levels of a pale image evenly."""

import sys

import numpy as np
from _image import likeness
from numba import config, cuda

import warpkit as wk


@cuda.jit
def count(pixels, counts):
    """Count the grey levels, each block in shared memory; then add the block's 256 numbers to everyone's."""
    bins = wk.shared_array(256, np.int32)
    tid = cuda.threadIdx.x
    bins[tid] = 0
    wk.sync_block()
    for start in range(256 * cuda.blockIdx.x, pixels.size, 256 * cuda.gridDim.x):
        here = start + tid < pixels.size
        wk.block_histogram(bins, pixels[start + tid] if here else 0, here)
    cuda.atomic.add(counts, tid, bins[tid])


@cuda.jit
def rank(counts, table, num_pixels):
    """Give each grey level the share of pixels that are darker, of 255; one block, a thread a level."""
    mine = counts[cuda.threadIdx.x]
    darker = wk.block_prefix_sum(mine)
    table[cuda.threadIdx.x] = (2 * darker + mine) * 255 // (2 * num_pixels)


@cuda.jit
def translate(pixels, table):
    """Replace every pixel."""
    i = cuda.grid(1)
    if i < pixels.size:
        pixels[i] = table[pixels[i]]


image = likeness(*(120, 160) if config.ENABLE_CUDASIM else (900, 1200))
pixels, counts = cuda.to_device(image.ravel()), cuda.to_device(np.zeros(256, np.int64))
table = cuda.device_array(256, np.uint8)
count[2 if config.ENABLE_CUDASIM else 500, 256](pixels, counts)
rank[1, 256](counts, table, image.size)
translate[-(-image.size // 256), 256](pixels, table)
equalised = pixels.copy_to_host().reshape(image.shape)

frequency = np.bincount(image.ravel(), minlength=256)
darker = np.cumsum(frequency) - frequency
assert (counts.copy_to_host() == frequency).all()
assert (equalised == ((2 * darker + frequency) * 255 // (2 * image.size))[image]).all()
middle = [np.percentile(picture, (25, 75)).astype(int).tolist() for picture in (image, equalised)]
print(f"{image.size:,} pixels: half of them had a grey level in {middle[0]}, now in {middle[1]}")

if len(sys.argv) > 1:  # a file for the picture
    import matplotlib.image

    matplotlib.image.imsave(sys.argv[1], np.hstack([image, equalised]), cmap="gray", vmin=0, vmax=255)
