"""DLPack, read by cuda.core; the same on both machines."""

from typing import Any, NamedTuple

import numpy as np

LEGACY_STREAM = 1


class Tensor(NamedTuple):
    """What a DLPack capsule says; `view` holds the capsule, and so the memory. `strides` are in bytes."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    readonly: bool
    view: Any


def read_dlpack(array: Any) -> Tensor:
    """Return what an object with `__dlpack__` exports; its pending work is made to come before the legacy stream's.

    Errors: BufferError, NotImplementedError or what the producer raises, for what it cannot export.
    """
    from cuda.core.utils import StridedMemoryView

    view = StridedMemoryView.from_dlpack(array, LEGACY_STREAM)
    dtype, counts = view.dtype, view.strides
    strides = None if counts is None else tuple(count * dtype.itemsize for count in counts)
    return Tensor(view.ptr, tuple(view.shape), strides, dtype, view.readonly, view)
