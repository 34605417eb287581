"""What an index names in an array of a kernel: NumPy's basic indices, bounds checked, negative ones from the end."""

import sys
from operator import index as position

import numpy as np

from warpkit.errors import BoundsFault

from .held import Held
from .paths import describe, site_of
from .scalars import INDEXES


class Indexed(Held):
    """The part of a KernelArray that reads indices."""

    __slots__ = ()

    def _key(self, index):
        """Return (NumPy basic index with wrapped integers, whether it names one element)."""
        if type(index) in INDEXES and self._data.ndim == 1:
            at = position(index)
            return (at if 0 <= at < self._length else self._wrapped(at, 0, index),), True
        parts = index if type(index) is tuple else (index,)
        data, axis, key, integers = self._data, 0, [], 0
        spare = data.ndim - sum(part is not None and part is not Ellipsis for part in parts)
        if spare < 0:
            raise self._fault(index, f"{len(parts)} indices for {data.ndim} dimensions")
        for part in parts:
            if part is Ellipsis:
                axis += spare
                key.append(part)
            elif part is None or isinstance(part, slice):
                key.append(part)
                axis += part is not None
            elif isinstance(part, (int, np.integer)):
                at = int(part)
                key.append(at if 0 <= at < data.shape[axis] else self._wrapped(at, axis, index))
                axis, integers = axis + 1, integers + 1
            elif isinstance(part, tuple) and len(parts) == 1:
                return self._key(part)
            else:
                raise TypeError(f"an array index is an integer, a slice or a tuple of these, not {type(part).__name__}")
        return tuple(key), integers == data.ndim and integers == len(key)

    def _wrapped(self, at, axis, index):
        """Return a negative index counted from the end; fault beyond either end."""
        length = self._data.shape[axis]
        if -length <= at < 0:
            return at + length
        raise self._fault(index, f"axis {axis} has {length}" if self._data.ndim > 1 else f"it has {length}")

    def _fault(self, index, why):
        frame, running = sys._getframe(2), self._launch.running
        shown = tuple(map(_shown, index)) if type(index) is tuple else _shown(index)
        where = f"an array of shape {self._data.shape} ({why}); {running} at {describe(site_of(frame))}"
        return BoundsFault(f"index {shown} is outside {where}")

    def _offset(self, key):
        if len(key) == 1:
            return self._base + key[0] * self._step
        return self._base + sum(at * stride for at, stride in zip(key, self._data.strides, strict=True))


def _shown(part):
    return int(part) if isinstance(part, np.integer) else part
