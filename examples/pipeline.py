"""A pipeline: frames of a ripple, written to files by callbacks while the GPU computes the next ones."""

import tempfile
import threading
from functools import partial
from pathlib import Path

import numpy as np
from numba import config

import warpkit as wk
from warpkit.simt import machine

UNDER_WAY = 3  # frames that the host may be ahead of the GPU


def ripple(i, j, frame, image):
    """Colour pixel (i, j): rings around the centre, which grow from frame to frame."""
    y, x = i - image.shape[0] // 2, j - image.shape[1] // 2
    image[i, j] = (y * y + x * x - 25 * frame) // 64 % 256


def write(path, image, free):
    """Write a frame, and let the next one use the memory."""
    try:
        path.write_bytes(b"P5 %d %d 255\n" % image.shape[::-1] + image.tobytes())
        written.append(path)
    finally:  # else an error would keep the loop waiting, and nobody would hear of it
        free.release()


shape, frames = ((12, 16), 5) if config.ENABLE_CUDASIM else ((1080, 1920), 60)
image = machine.empty(shape, np.uint8)
arrived = [wk.pinned_array(shape, np.uint8) for _ in range(UNDER_WAY)]
stream, free, written = wk.Stream(), threading.Semaphore(UNDER_WAY), []

with tempfile.TemporaryDirectory() as folder:
    for frame in range(frames):
        free.acquire()  # until the callback of three frames ago is done with its memory
        commands, target = wk.CommandList(), arrived[frame % UNDER_WAY]
        commands.parallel_for(shape, ripple, frame, image)
        commands.download(target, image)
        commands.add_callback(partial(write, Path(folder, f"{frame:03}.pgm"), target, free))
        stream << commands.commit()  # returns at once
    stream.synchronize()  # for the GPU and for the callbacks

    assert [path.name for path in written] == [f"{frame:03}.pgm" for frame in range(frames)]
    y, x = np.arange(shape[0])[:, None] - shape[0] // 2, np.arange(shape[1]) - shape[1] // 2
    for frame, path in enumerate(written):
        pixels = np.frombuffer(path.read_bytes()[-image.size :], np.uint8).reshape(shape)
        assert (pixels == ((y * y + x * x - 25 * frame) // 64 % 256)).all()
    size = sum(path.stat().st_size for path in written)
print(f"{frames} frames of {shape[0]} × {shape[1]} pixels in {size:,} bytes, in order")
