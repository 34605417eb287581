"""Values of several parts: how a kernel builds them from up to four columns and writes their parts back."""

from dataclasses import dataclass

import numpy as np
from numba import cuda

device = cuda.jit(device=True)


@dataclass(frozen=True)
class Kind:
    """A kind of value: the dtypes of its parts, `build(a, b, c, d, i)` and `store(value, oa, ob, oc, od, i)`."""

    name: str
    dtypes: tuple
    build: object
    store: object

    @property
    def words(self):
        """Return how many 32-bit words the value takes: the number of shuffles that move it."""
        return -(-sum(np.dtype(d).itemsize for d in self.dtypes) // 4)

    def __str__(self):
        return self.name


@device
def build_pair(a, b, c, d, i):
    """Tuple of two."""
    return (a[i], b[i])


@device
def store_pair(v, a, b, c, d, i):
    """Tuple of two."""
    a[i] = v[0]
    b[i] = v[1]


@device
def build_nested(a, b, c, d, i):
    """Tuple in a tuple."""
    return ((a[i], b[i]), c[i])


@device
def store_nested(v, a, b, c, d, i):
    """Tuple in a tuple."""
    a[i] = v[0][0]
    b[i] = v[0][1]
    c[i] = v[1]


@device
def build_four(a, b, c, d, i):
    """Tuple of four."""
    return (a[i], b[i], c[i], d[i])


@device
def store_four(v, a, b, c, d, i):
    """Tuple of four."""
    a[i] = v[0]
    b[i] = v[1]
    c[i] = v[2]
    d[i] = v[3]


@device
def store_2(v, a, b, c, d, i):
    """Vector of two."""
    a[i] = v.x
    b[i] = v.y


@device
def store_3(v, a, b, c, d, i):
    """Vector of three."""
    a[i] = v.x
    b[i] = v.y
    c[i] = v.z


@device
def store_4(v, a, b, c, d, i):
    """Vector of four."""
    a[i] = v.x
    b[i] = v.y
    c[i] = v.z
    d[i] = v.w


@device
def build_float32x2(a, b, c, d, i):
    """CUDA vector."""
    return cuda.float32x2(a[i], b[i])


@device
def build_float32x3(a, b, c, d, i):
    """CUDA vector."""
    return cuda.float32x3(a[i], b[i], c[i])


@device
def build_float32x4(a, b, c, d, i):
    """CUDA vector."""
    return cuda.float32x4(a[i], b[i], c[i], d[i])


@device
def build_int32x2(a, b, c, d, i):
    """CUDA vector."""
    return cuda.int32x2(a[i], b[i])


@device
def build_int32x3(a, b, c, d, i):
    """CUDA vector."""
    return cuda.int32x3(a[i], b[i], c[i])


@device
def build_uint8x4(a, b, c, d, i):
    """CUDA vector."""
    return cuda.uint8x4(a[i], b[i], c[i], d[i])


@device
def build_float64x2(a, b, c, d, i):
    """CUDA vector."""
    return cuda.float64x2(a[i], b[i])


f2, f4, f8 = np.float16, np.float32, np.float64
i1, i2, i4, i8, u1 = np.int8, np.int16, np.int32, np.int64, np.uint8

PAIR = Kind("pair", (i4, f4), build_pair, store_pair)
INT_PAIR = Kind("int_pair", (i4, i4), build_pair, store_pair)
LONG_PAIR = Kind("long_pair", (i8, i8), build_pair, store_pair)
NESTED = Kind("nested", (i1, f8, i2), build_nested, store_nested)
NESTED_INTS = Kind("nested_ints", (i1, i8, i2), build_nested, store_nested)
MATRIX = Kind("matrix", (i4, i4, i4, i4), build_four, store_four)
HALVES = Kind("halves", (f2, f2, f2, f2), build_four, store_four)
VECTORS = (
    Kind("float32x2", (f4, f4), build_float32x2, store_2),
    Kind("float32x3", (f4, f4, f4), build_float32x3, store_3),
    Kind("float32x4", (f4, f4, f4, f4), build_float32x4, store_4),
    Kind("int32x2", (i4, i4), build_int32x2, store_2),
    Kind("int32x3", (i4, i4, i4), build_int32x3, store_3),
    Kind("uint8x4", (u1, u1, u1, u1), build_uint8x4, store_4),
    Kind("float64x2", (f8, f8), build_float64x2, store_2),
)
INT32X2 = VECTORS[3]
COMPOUND = (PAIR, NESTED, HALVES, MATRIX, *VECTORS)  # what a shuffle moves
FLAT = (PAIR, HALVES, *VECTORS)  # what a built-in operation combines part by part

# Records only move. Packed and aligned, of 3, 6, 12 and 24 bytes, and one with a hole.
RECORDS = {
    "rec3": np.dtype([("a", "u1"), ("b", "u1"), ("c", "i1")]),
    "rec6": np.dtype([("a", "i4"), ("b", "i2")]),
    "rec12": np.dtype([("a", "i4"), ("b", "f4"), ("c", "u4")]),
    "rec12_aligned": np.dtype([("a", "i2"), ("b", "f4"), ("c", "u1")], align=True),
    "rec24": np.dtype([("a", "f8"), ("b", "i4"), ("c", "f4"), ("d", "u1"), ("e", "S7")]),
    "rec24_aligned": np.dtype([("a", "f8"), ("b", "i1"), ("c", "f8")], align=True),
}


def dummies(arrays):
    """Return four columns: these arrays, the rest stand-ins that no kernel touches."""
    return [*arrays, *(np.zeros(1, np.int32) for _ in range(4 - len(arrays)))]
