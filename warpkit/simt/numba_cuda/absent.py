"""A GPU that is not there: host code compiles for it and launches nothing, so that one sees what it would launch.

For a process of its own: caches that know a device keep what they learn.
"""

import contextlib
import dataclasses
import os

import numpy as np

from .. import machine
from ..specs import Properties
from .compiler import compile_image
from .listing import listed

H200 = Properties(
    name="H200", compute_capability=(9, 0), multiprocessors=132, max_threads_per_block=1024,
    threads_per_multiprocessor=2048, shared_per_block=227 << 10, shared_per_multiprocessor=228 << 10, l2_bytes=50 << 20,
    max_grid=(2**31 - 1, 65535, 65535), max_block=(1024, 1024, 64), memory_pools=True,
)  # fmt: skip
# Of smaller ones: multiprocessors, threads and KB of shared memory of each, KB a block.
SMALLER = {
    (7, 0): (80, 2048, 96, 96),
    (7, 5): (40, 1024, 64, 64),
    (8, 0): (108, 2048, 164, 163),
    (8, 6): (84, 1536, 100, 99),
    (8, 9): (128, 1536, 100, 99),
    (12, 0): (170, 1536, 100, 99),
}
REGISTERS, MOST_BLOCKS = 1 << 16, 32  # of a multiprocessor
FIRST, STEP = 0x7F0000000000, 1 << 36  # addresses of arrays: none is ever read


def properties_of(capability):
    """Return the properties of a usual GPU of this compute capability; from 9.0 on, of an H200."""
    gpu = dataclasses.replace(H200, name=f"a GPU of {capability[0]}.{capability[1]}", compute_capability=capability)
    if capability not in SMALLER:
        return gpu
    multiprocessors, threads, shared, block = SMALLER[capability]
    return dataclasses.replace(
        gpu, multiprocessors=multiprocessors, threads_per_multiprocessor=threads, shared_per_block=block << 10,
        shared_per_multiprocessor=shared << 10,
    )  # fmt: skip


class Array:
    """Says that it lives on a device, at an address that no other such array has."""

    made = 0

    def __init__(self, shape, dtype):
        dtype = np.dtype(dtype)
        Array.made += 1
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape if isinstance(shape, tuple) else (shape,), "typestr": dtype.str,
            "descr": dtype.descr, "strides": None, "data": (FIRST + STEP * Array.made, False), "stream": None,
        }  # fmt: skip


class Kernel:
    """A compiled kernel that is never loaded; `listing` says what it is made of."""

    plain = True

    def __init__(self, image, texts):
        self.image, self.listing = image, listed(image, texts)
        self.registers, self.local_bytes, self.shared_bytes = image.registers, image.local, image.shared
        room = REGISTERS // max(image.registers, 1) // 32 * 32
        self.max_threads = min(1024, room, *(image.options.launch_bounds or ())[:1])

    def launch(self, grid, block, shared, stream, payloads):
        """Launch nothing."""

    def bind(self, grid, block, shared, payloads):
        """Return a function of the stream that launches nothing."""
        return lambda stream: None

    def grant(self, shared):
        """Need no permission."""

    def occupancy(self, gpu, threads, shared):
        """Return how many blocks a multiprocessor holds by its threads, registers and shared memory."""
        limits = [MOST_BLOCKS, gpu.threads_per_multiprocessor // threads]
        limits.append(REGISTERS // max(-(-self.registers // 8) * 8 * threads, 1))
        limits.append(gpu.shared_per_multiprocessor // (self.shared_bytes + shared + 1024))
        return max(min(limits), 1)


@contextlib.contextmanager
def absent_gpu(capability):
    """Let host code find a GPU of this compute capability, within the block; gives its properties."""
    gpu, texts, made, pinned = properties_of(capability), {}, [], []

    def compiled(function, specs, options):
        made.append([])
        image = compile_image(function, specs, options, capability, made[-1])
        texts[image.code] = made[-1]
        return image

    def pin(nbytes):
        pinned.append(np.zeros(max(nbytes, 1), np.uint8))
        return pinned[-1].ctypes.data

    answers = {
        "properties": lambda device=None: gpu,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "device_of": lambda pointer: 0,
        "context_key": lambda: 0,
        "capture_id": lambda stream: None,
        "is_capturing": lambda stream: False,
        "occupancy": lambda kernel, threads, shared=0: kernel.occupancy(gpu, threads, shared),
        "allocate": lambda nbytes, stream, zeroed=False: Array(nbytes, np.uint8).__cuda_array_interface__["data"][0],
        "device_array": lambda shape, dtype, stream: Array(shape, dtype),
        "pinned": pin,
        "copy_from_host": lambda target, source, nbytes, stream: None,
        "stream_synchronize": lambda stream: None,
        "release": lambda pointer, stream: None,
        "compile_image": compiled,
        "load": lambda image: Kernel(image, texts[image.code]),
        "record_payload": lambda value: (bytes(8), None),
        "returned_dtype": _returned("returned_dtype", capability),
        "returned_by": _returned("returned_by", capability),
    }
    before = {name: getattr(machine, name) for name in answers}
    caching = os.environ.get("WARPKIT_CACHE")
    os.environ["WARPKIT_CACHE"] = "0"  # what comes from disk has no PTX
    try:
        vars(machine).update(answers)
        yield gpu
    finally:
        vars(machine).update(before)
        os.environ.pop("WARPKIT_CACHE")
        if caching is not None:
            os.environ["WARPKIT_CACHE"] = caching


def _returned(name, capability):
    def answer(function, arguments, payloads=None):
        from . import returned

        return getattr(returned, name)(function, arguments, capability)

    return answer
