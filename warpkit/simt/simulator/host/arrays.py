"""Numba's simulated device arrays as plain tuples, and payloads of arrays that differ in their address alone."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import stream_order
from .kernels import array_payload


def array_packer(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: np.dtype[Any]
) -> Callable[[int, Any], Any]:
    """Return a function of (address, owner) that gives the payload of an array like this."""
    return lambda pointer, owner: array_payload(pointer, shape, strides, dtype, owner)


def read_device_array(
    array: Any,
) -> tuple[int, tuple[int, ...], tuple[int, ...], np.dtype[Any], int | None, int, Any, bool]:
    """Return (address, shape, strides, dtype, stream, device, memory, foreign) of a simulated device array.

    stream: a handle bound to the array; None without, and for numba's simulated streams, which have no handle.
    memory: what `array_packer` takes as the owner.  foreign: False, Python counts the references.
    """
    held = array._ary
    stream_order.met(stream_order.root_of(held))
    stream = array.stream if type(array.stream) is int else 0
    return held.ctypes.data, held.shape, held.strides, held.dtype, stream or None, 0, array, False
