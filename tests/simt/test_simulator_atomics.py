"""Atomics in global and shared memory: the arithmetic, the old value, wrapping, many threads at once."""

import numpy as np
import pytest
from numba import cuda

from warpkit.simt.simulator.scalars import SCALARS

ATOMIC_CASES = [
    ("add", "i4", 2**31 - 1, 1, -(2**31)),
    ("add", "u8", 2**64 - 1, 2, 1),
    ("add", "f4", 16777216.0, 1, 16777216.0),
    ("sub", "u4", 0, 1, 2**32 - 1),
    ("and_", "i4", -1, 12, 12),
    ("or_", "u4", 1, 2**31, 2**31 + 1),
    ("xor", "i8", 5, 1, 4),
    ("max", "i4", -5, 3, 3),
    ("max", "f4", np.nan, 3, np.nan),
    ("max", "f8", 3, np.nan, 3),
    ("min", "u4", 7, 3, 3),
    ("nanmax", "f4", np.nan, 3, 3),
    ("nanmin", "f8", 2, np.nan, 2),
    ("nanmin", "f8", np.nan, 2, 2),
    ("inc", "u4", 4, 5, 5),
    ("inc", "u4", 5, 5, 0),
    ("inc", "u8", 9, 5, 0),
    ("dec", "u4", 0, 5, 5),
    ("dec", "u4", 9, 5, 5),
    ("dec", "u4", 3, 5, 2),
    ("exch", "i4", 1, 2**32 + 7, 7),
]


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(("name", "dtype", "old", "value", "new"), ATOMIC_CASES)
def test_atomics(name, dtype, old, value, new, space):
    def kernel(x):
        place = cuda.shared.array((2, 3), x.dtype) if space == "shared" else x
        place[1, 2] = old
        assert np.isclose(getattr(cuda.atomic, name)(place, (1, -1), value), old, equal_nan=True)
        assert type(place[1, 2]) is SCALARS[np.dtype(dtype).type]
        x[0, 0] = place[1, 2]

    x = np.zeros((2, 3), dtype)
    cuda.jit(kernel)[1, 1](x)
    assert np.isclose(x[0, 0], np.dtype(dtype).type(new), equal_nan=True, rtol=0)


def test_compare_and_swap_and_many_threads_at_once():
    @cuda.jit
    def kernel(x, winners, counts):
        assert cuda.atomic.compare_and_swap(x[1:], 50, 60) in (50, 60)
        if cuda.atomic.cas(x, 0, 0, cuda.grid(1) + 1) == 0:
            cuda.atomic.add(winners, 0, 1)
        cuda.atomic.add(counts, (cuda.threadIdx.x % 2, 0), 1)

    x, winners, counts = np.array([0, 50]), np.zeros(1, np.int32), np.zeros((2, 1), np.int32)
    kernel[4, 64](x, winners, counts)
    assert (x[1], winners[0], counts.tolist()) == (60, 1, [[128], [128]])
