"""Whether two arrays share memory: inputs and outputs may be one array, but no array may overlap the other."""

from typing import Any

import numpy as np

from ..host.arrays_layout import Argument, Layout
from .reduce_plan import lined_up

MOST_WORK: Any = 10_000  # steps in looking for a common byte of two strided arrays


def extent_of(layout: Layout) -> tuple[int, int]:
    """Return (lowest, highest + 1) byte of an array's elements, counted from its address; (0, 0) without elements."""
    itemsize = layout.dtype.itemsize
    if not layout.size or layout.strides is None:
        return 0, layout.size * itemsize
    reaches = [(extent - 1) * stride for extent, stride in zip(layout.shape, layout.strides)]
    return sum(reach for reach in reaches if reach < 0), sum(reach for reach in reaches if reach > 0) + itemsize


def check_apart(name: str, source: Argument, target: Argument) -> None:
    """Refuse arrays that share memory, unless they are one: item by item in the same place."""
    low, high = extent_of(source.layout)
    out_low, out_high = extent_of(target.layout)
    begin, to = source.pointer, target.pointer
    if begin + low >= to + out_high or to + out_low >= begin + high:
        return
    if begin == to and in_one_place(source, target):
        return
    if _share(source, target):
        raise ValueError(
            f"{name}: out shares memory with x without being x, so that items would be overwritten before they are "
            "read; pass x itself, or memory of its own."
        )


def check_beside(name: str, out: Argument, **read: Argument | None) -> None:
    """Refuse an `out` that shares memory with any of the arrays which are read, by name, while it is written."""
    for what, array in read.items():
        if array is not None and share(out, array) and _share(out, array):
            raise ValueError(f"{name}: out shares memory with {what}; pass an array of its own.")


def share(a: Argument, b: Argument) -> bool:
    """Return whether the memory between the first and the last byte of two arrays is shared."""
    if not a.layout.size or not b.layout.size:
        return False
    (low, high), (other_low, other_high) = extent_of(a.layout), extent_of(b.layout)
    return a.pointer + low < b.pointer + other_high and b.pointer + other_low < a.pointer + high


def in_one_place(source: Argument, target: Argument) -> bool:
    """Return whether two arrays, if they begin at one address, have each item in the same place."""
    return source.dtype.itemsize == target.dtype.itemsize and _walk(source) == _walk(target)


def _walk(argument: Argument) -> Any:
    """Return how an array's items are walked in C order."""
    layout = argument.layout
    if layout.strides is None:
        return [(layout.size, layout.dtype.itemsize)]
    return lined_up(layout.shape, layout.strides)


def _share(source: Argument, target: Argument) -> bool:
    """Return whether some byte is in both; True where that is not soon known."""
    try:
        return np.shares_memory(_twin(source), _twin(target), max_work=MOST_WORK)
    except np.exceptions.TooHardError:
        return True


class _Twin:
    """What NumPy takes for an array at an address, which nobody reads."""

    def __init__(self, argument: Argument) -> None:
        layout = argument.layout
        self.__array_interface__ = {
            "shape": layout.shape,
            "strides": layout.strides,
            "typestr": f"|V{layout.dtype.itemsize}",
            "data": (argument.pointer, False),
            "version": 3,
        }


def _twin(argument: Argument) -> np.ndarray[Any, Any]:
    return np.asarray(_Twin(argument))
