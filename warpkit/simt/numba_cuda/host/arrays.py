"""Numba's device arrays as plain tuples, and payloads of arrays that differ in their address alone."""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.cuda.cudadrv.driver import MemoryPointer, OwnedPointer

from .arguments import SLOT, array_payload

BEFORE = 4 * SLOT  # meminfo, parent, items, item size; then the address


def array_packer(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: np.dtype[Any]
) -> Callable[[int, Any], bytes]:
    """Return a function of (address, owner) that gives the payload of an array like this, in half the time."""
    slots = array_payload(0, shape, strides, dtype)
    before, after = slots[:BEFORE], slots[BEFORE + SLOT :]
    pack = struct.Struct(f"={len(before)}sQ{len(after)}s").pack
    return lambda pointer, owner: pack(before, pointer, after)


def read_device_array(
    array: Any,
) -> tuple[int, tuple[int, ...], tuple[int, ...], np.dtype[Any], int | None, int, Any, bool]:
    """Return (address, shape, strides, dtype, stream, device, memory, foreign) of a numba device array.

    stream: the one bound to the array, or in whose order our pool gave and takes its memory; None without.
    memory: an object that holds the memory but not the array, so that an array can carry what was read of it.
    foreign: numba does not own the memory, so dropping it may not wait for work in flight, as numba's own release does.
    """
    memory = array.gpu_data
    owner = getattr(memory, "_owner", None)
    of_pool = getattr(memory if owner is None else owner, "pool_stream", None)
    return (
        array.device_ctypes_pointer.value or 0,
        tuple(array.shape),
        tuple(array.strides),
        array.dtype,
        int(array.stream) if array.stream else of_pool,
        int(memory.context.device.id),
        memory,
        owner is not None and not isinstance(owner, MemoryPointer | OwnedPointer),
    )
