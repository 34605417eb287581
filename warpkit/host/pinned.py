"""Page-locked memory for users, which copies to and from a GPU read and write while the host goes on."""

import math
import operator
import weakref
from typing import Any

import numpy as np

from ..errors import Refused
from ..simt import machine


class _Pinned:
    """Page-locked bytes, freed with the last array on them."""

    def __init__(self, nbytes: int) -> None:
        self.pointer = machine.pinned(nbytes)
        weakref.finalize(self, machine.unpin, self.pointer).atexit = False


def pinned_array(shape: int | tuple[int, ...], dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    """Return a NumPy array in page-locked memory, not initialised, that copies to and from a GPU read asynchronously.

    Views and slices keep the memory; it is freed after the last of them, and must then be in use by no copy.
    """
    dtype = np.dtype(dtype)
    if dtype.hasobject:
        raise Refused(f"pinned_array: {dtype} holds Python objects, which no GPU reads: pass a number type.")
    try:
        extents = tuple([operator.index(extent) for extent in (shape if isinstance(shape, tuple) else (shape,))])
    except TypeError:
        raise Refused(f"pinned_array: a shape is an int or a tuple of ints, not {shape!r}.") from None
    if any(extent < 0 for extent in extents):
        raise ValueError(f"pinned_array: {shape} is no shape: extents are not negative.")
    nbytes = math.prod(extents) * dtype.itemsize
    if not nbytes:
        return np.empty(extents, dtype)
    memory = _Pinned(nbytes)
    return machine.host_bytes(memory.pointer, nbytes, memory).view(dtype).reshape(extents)
