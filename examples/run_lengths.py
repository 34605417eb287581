"""Run-length encoding: a row of a black and white image, then all of it, and back again by a scan."""

import sys

import numpy as np
from _image import likeness
from numba import config, cuda

import warpkit as wk

grey = likeness(*(60, 90) if config.ENABLE_CUDASIM else (900, 1200))
image = (grey > np.median(grey)).astype(np.uint8)
pixels = cuda.to_device(image)

middle = image[len(image) // 2]
values, lengths, number = wk.device.run_length_encode(pixels[len(image) // 2])
starts = np.flatnonzero(np.diff(middle, prepend=255))
assert (values.copy_to_host() == middle[starts]).all()
assert (lengths.copy_to_host() == np.diff(starts, append=middle.size)).all()
print(f"the middle row: {number} runs in {middle.size} pixels, the longest of {wk.device.max(lengths)}")

values, lengths, number = wk.device.run_length_encode(pixels)  # of any shape: row by row
begins = wk.device.exclusive_scan(lengths, wk.add)
heads = cuda.to_device(np.zeros(image.size, np.int32))


def mark(k, begins, heads):
    """Mark the first pixel of run k."""
    heads[begins[k]] = 1


wk.parallel_for(number, mark, begins, heads)
run = wk.device.cumsum(heads)  # how many runs have begun up to a pixel: its own is the last of them
unpacked = wk.device.transform(lambda k: values[k - 1], run).copy_to_host().reshape(image.shape)

assert (unpacked == image).all()
assert number == 1 + np.count_nonzero(np.diff(image.ravel()))
print(f"{image.shape[0]} × {image.shape[1]} pixels in {number:,} runs, and back")

if len(sys.argv) > 1:  # a file for the picture: the image, and how long each pixel's run is
    import matplotlib.image

    brightness = np.log2(np.repeat(lengths.copy_to_host(), lengths.copy_to_host())).reshape(image.shape)
    matplotlib.image.imsave(sys.argv[1], np.hstack([image, brightness / brightness.max()]), cmap="gray")
