"""Operators for the tests, as device functions, beside their meaning in plain Python (py_…).

All are associative, none is commutative, so that a swapped or skipped lane shows.
"""

import numpy as np
from numba import cuda


@cuda.jit(device=True)
def last_nonzero(earlier, later):
    """Return the later value unless it is 0."""
    return later if later != 0 else earlier


@cuda.jit(device=True)
def append_bits(earlier, later):
    """Join two bit strings held as (bits << 6 | length) in an int64: the order of 32 lanes is in the result."""
    length = later & 63
    return ((((earlier >> 6) << length) | (later >> 6)) << 6) | ((earlier & 63) + length)


@cuda.jit(device=True)
def affine(earlier, later):
    """Compose x -> a·x + b, given as pairs (a, b): first `earlier`, then `later`."""
    return (earlier[0] * later[0], later[0] * earlier[1] + later[1])


@cuda.jit(device=True)
def matmul2(p, q):
    """Multiply 2×2 matrices held as four-tuples in row order."""
    return (
        p[0] * q[0] + p[1] * q[2],
        p[0] * q[1] + p[1] * q[3],
        p[2] * q[0] + p[3] * q[2],
        p[2] * q[1] + p[3] * q[3],
    )


@cuda.jit(device=True)
def nested_last(earlier, later):
    """Keep the later of nested pairs ((tag, value), count) unless its tag is 0; the counts add up."""
    kept = later[0] if later[0][0] != 0 else earlier[0]
    return (kept, earlier[1] + later[1])


# ------------------------------------------------------------------ the same in plain Python


def py_last_nonzero(earlier, later):
    """Return the later value unless it is 0."""
    return later if later != 0 else earlier


def py_last_of_each(earlier, later):
    """Return, part by part, the later value unless it is 0: what `last_nonzero` means for vectors."""
    return tuple(map(py_last_nonzero, earlier, later))


def py_append_bits(earlier, later):
    """Join two bit strings held as (bits << 6 | length)."""
    length = int(later) & 63
    bits = (int(earlier) >> 6) << length | int(later) >> 6
    return bits << 6 | (int(earlier) & 63) + length


def wrapped(dtype):
    """Return a function that wraps a Python integer, or a tuple of them, to a dtype's range."""
    size = 8 * np.dtype(dtype).itemsize

    def wrap(value):
        if isinstance(value, tuple):
            return tuple(map(wrap, value))
        value &= (1 << size) - 1
        return value - (1 << size) if np.dtype(dtype).kind == "i" and value >> (size - 1) else value

    return wrap


def py_affine(dtype):
    """Return the composition of affine maps, wrapped to `dtype`."""
    wrap = wrapped(dtype)
    return lambda p, q: wrap((p[0] * q[0], q[0] * p[1] + q[1]))


def py_matmul2(dtype):
    """Return the product of 2×2 matrices, wrapped to `dtype`."""
    wrap = wrapped(dtype)
    return lambda p, q: wrap(
        (
            p[0] * q[0] + p[1] * q[2],
            p[0] * q[1] + p[1] * q[3],
            p[2] * q[0] + p[3] * q[2],
            p[2] * q[1] + p[3] * q[3],
        )
    )


def py_nested_last(earlier, later):
    """Keep the later of nested pairs unless its tag is 0; the counts add up as int16."""
    kept = later[0] if later[0][0] != 0 else earlier[0]
    return (kept, wrapped(np.int16)(earlier[1] + later[1]))
