"""Bodies and helpers of the parallel_for and parallel_reduce tests."""

import itertools

import numpy as np
from numba import cuda

from warpkit.simt import machine

INT64 = 1 << 63


def device(values, dtype=None):
    """Return a device array with these values."""
    return machine.to_device(np.asarray(values, dtype))


def device_function(function):
    """Return a function as a user's device function."""
    return cuda.jit(device=True)(function)


def hit_1(i, hits, row):
    """Count a visit; indices from −16 on."""
    cuda.atomic.add(hits, (row, i + 16), 1)


def hit_2(i, j, hits, row):
    """Count a visit."""
    cuda.atomic.add(hits, (row, i, j), 1)


def hit_3(i, j, k, hits, row):
    """Count a visit."""
    cuda.atomic.add(hits, (row, i, j, k), 1)


def hit_4(i, j, k, m, hits, row):
    """Count a visit; the row is not asked for, since arrays have at most four axes here."""
    cuda.atomic.add(hits, (i, j, k, m), row)


HITS = {1: hit_1, 2: hit_2, 3: hit_3, 4: hit_4}


def expected(*ranges):
    """Return the index tuples of a range per dimension, in order."""
    return list(itertools.product(*ranges))


def seed_ranges():
    """Return the seed's 60 ranges: begin 0, 1, 4 × step 1, 2, 3, 5 × uneven extents in one to three dimensions."""
    found = []
    for begin, step in itertools.product((0, 1, 4), (1, 2, 3, 5)):
        for extents in ((37,), (7, 13), (5, 31), (3, 5, 7), (2, 9, 4)):
            steps = [step, step % 3 + 1, step % 2 + 1][: len(extents)]
            found.append(tuple(range(begin, begin + extent * s, s) for extent, s in zip(extents, steps)))
    return found
