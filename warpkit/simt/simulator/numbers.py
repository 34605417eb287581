"""The numbers that a scalar type has: what it keeps of a value, and the scalars that were made before."""

import math
from functools import cached_property

import numpy as np

_INTEGERS = [np.dtype(code).type for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")]
RANGES = {
    kind: (int(np.iinfo(kind).min), int(np.iinfo(kind).max), 1 << np.iinfo(kind).bits)
    for kind in (*_INTEGERS, np.longlong, np.ulonglong)  # which may be types of their own
}
MOST_NUMBERS = 1 << 15  # remembered of one type: kernels go through tables of this size, again and again


def wrapped(value, kind):
    """Return the Python int that an integer type keeps of `value`: its low bits; floats are cut towards zero."""
    low, high, span = RANGES[kind]
    try:
        whole = int(value)
    except (ValueError, OverflowError):  # NaN and infinities: a GPU saturates
        return 0 if value != value else (high if value > 0 else low)
    if low <= whole <= high:
        return whole
    if isinstance(value, (float, np.floating)):
        return high if whole > high else low
    return (whole - low) % span + low


class Numbers(dict):
    """The scalars of one type by value: to find one that was made before costs a tenth of making it.

    Integers beyond the type find what it keeps of them.
    """

    def __init__(self, kind):
        self.kind, self.make = kind, kind

    def __missing__(self, value):
        if len(self) >= MOST_NUMBERS:
            self.clear()
        low, high, span = RANGES[self.kind]
        if low <= value <= high:
            found = self[value] = self.make(value)
        else:
            found = self[value] = self[(value - low) % span + low]
        return found


class Floats(Numbers):
    """The same for floats, by a Python float: two zeros are one key, and a NaN is none."""

    def __missing__(self, value):
        if not value:
            return self.zeros[math.copysign(1, value) < 0]
        found = self.make(value)
        if value == value:
            if len(self) >= MOST_NUMBERS:
                self.clear()
            self[value] = found
        return found

    @cached_property
    def zeros(self):
        """Both zeros, the positive one first."""
        return self.make(0.0), self.make(-0.0)
