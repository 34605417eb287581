"""Where results arrive that the caller waits for: page-locked memory, which kernels write to themselves."""

import threading
import weakref
from typing import Any

import numpy as np

from ..simt import machine


class Landing(threading.local):
    """Page-locked memory of this thread, one place for every dtype and number of elements."""

    def __init__(self) -> None:
        self._places: dict[Any, tuple[Any, np.ndarray[Any, Any]]] = {}

    def place(self, dtype: np.dtype[Any], parts: int = 1) -> tuple[Any, np.ndarray[Any, Any]]:
        """Return (payload, NumPy view) of the place: for one kernel at a time, until `stream_synchronize`."""
        found = self._places.get((dtype, parts))
        if found is None:
            nbytes = dtype.itemsize * parts
            pointer = machine.pinned(nbytes)
            view = machine.host_bytes(pointer, nbytes).view(dtype)
            weakref.finalize(view, machine.unpin, pointer).atexit = False
            found = self._places[dtype, parts] = machine.array_payload(pointer, (parts,), None, dtype), view
        return found

    def leave(self, dtype: np.dtype[Any], parts: int = 1) -> None:
        """Never use a place again: a kernel that was not waited for may still write there."""
        self._places.pop((dtype, parts), None)


landing = Landing()
