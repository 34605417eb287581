"""The parameter block: every value a kernel takes, as 8-byte slots in the order of Numba's calling convention.

An array is the words meminfo, parent, items, item size, pointer, then extents and strides in bytes. A number smaller
than a slot stands at its beginning, where the driver reads as many bytes as the kernel declares.
"""

import functools
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...specs import ScalarSpec, c_strides

SLOT = 8


@functools.cache
def _packer(ndim: int) -> Any:
    return struct.Struct(f"=QQqqQ{2 * ndim}q").pack


_pack_vector = _packer(1)


def array_payload(
    pointer: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: np.dtype[Any], owner: object = None
) -> bytes:
    """Return the slots of an array; `strides` in bytes, None for C order."""
    itemsize = dtype.itemsize
    if len(shape) == 1:
        items = shape[0]
        return _pack_vector(0, 0, items, itemsize, pointer, items, itemsize if strides is None else strides[0])
    items = 1
    for extent in shape:
        items *= extent
    if strides is None:
        strides = c_strides(shape, itemsize)
    return _packer(len(shape))(0, 0, items, itemsize, pointer, *shape, *strides)


_number = {  # of NumPy's number types, in the letters of `struct`, which here are the same
    np.dtype(code): struct.Struct(f"={code}{SLOT - np.dtype(code).itemsize}x").pack for code in "?bhiqBHIQefd"
}


def scalar_payload(spec: ScalarSpec, value: Any) -> bytes:
    """Return the slots of a number; a complex one takes two."""
    dtype = spec.dtype
    try:
        return _number[dtype](value)
    except (KeyError, OverflowError, TypeError, struct.error):
        pass  # not so simple, or NumPy converts what `struct` does not
    if dtype.kind == "c":
        number = dtype.type(value)
        return b"".join(part.tobytes().ljust(SLOT, b"\0") for part in (number.real, number.imag))
    return np.asarray(value, dtype).tobytes().ljust(SLOT, b"\0")


def tuple_payload(payloads: Sequence[bytes]) -> bytes:
    """Return the slots of a tuple: those of its parts."""
    return b"".join(payloads)
