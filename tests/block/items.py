"""Kernels on several items a thread, and how tiles are checked."""

import functools

import numpy as np
from numba import cuda

import warpkit as wk

from .kernels import item

SIZES = (1, 2, 3, 4, 7, 8)


@functools.cache
def moved(function, size, dtype, own=0):
    """Kernel: `function(items, scratch)` on each block's blocked tile, in place; `own`: length of an own scratch."""
    if own:

        @cuda.jit
        def run(x, out):
            i = item()
            items, scratch = wk.local_array(size, dtype), wk.shared_array(own, dtype)
            for k in range(size):
                items[k] = x[i * size + k]
            function(items, scratch)
            for k in range(size):
                out[i * size + k] = items[k]
    else:

        @cuda.jit
        def run(x, out):
            i = item()
            items = wk.local_array(size, dtype)
            for k in range(size):
                items[k] = x[i * size + k]
            function(items)
            for k in range(size):
                out[i * size + k] = items[k]

    return run


@functools.cache
def scattered(function, size, dtype, own=0):
    """Kernel: `function(items, ranks, scratch)` on the blocked tile of each block, in place."""
    if own:

        @cuda.jit
        def run(x, r, out):
            i = item()
            items, scratch = wk.local_array(size, dtype), wk.shared_array(own, dtype)
            ranks = wk.local_array(size, np.int32)
            for k in range(size):
                items[k] = x[i * size + k]
                ranks[k] = r[i * size + k]
            function(items, ranks, scratch)
            for k in range(size):
                out[i * size + k] = items[k]
    else:

        @cuda.jit
        def run(x, r, out):
            i = item()
            items, ranks = wk.local_array(size, dtype), wk.local_array(size, np.int32)
            for k in range(size):
                items[k] = x[i * size + k]
                ranks[k] = r[i * size + k]
            function(items, ranks)
            for k in range(size):
                out[i * size + k] = items[k]

    return run


@functools.cache
def folded(function, op, size, dtype, counted=False):
    """Kernel: total[i] = function(items, op, num_valid), with the items of the blocked tile written back."""
    if counted:

        @cuda.jit
        def run(x, n, out, total):
            i = item()
            items = wk.local_array(size, dtype)
            for k in range(size):
                items[k] = x[i * size + k]
            total[i] = function(items, op, n[0])
            for k in range(size):
                out[i * size + k] = items[k]
    else:

        @cuda.jit
        def run(x, out, total):
            i = item()
            items = wk.local_array(size, dtype)
            for k in range(size):
                items[k] = x[i * size + k]
            total[i] = function(items, op)
            for k in range(size):
                out[i * size + k] = items[k]

    return run


@functools.cache
def folded_from(function, op, size, dtype, counted=False):
    """Kernel: total[i] = function(items, op, start[0], num_valid), with the items of the blocked tile written back."""
    if counted:

        @cuda.jit
        def run(x, start, n, out, total):
            i = item()
            items = wk.local_array(size, dtype)
            for k in range(size):
                items[k] = x[i * size + k]
            total[i] = function(items, op, start[0], n[0])
            for k in range(size):
                out[i * size + k] = items[k]
    else:

        @cuda.jit
        def run(x, start, out, total):
            i = item()
            items = wk.local_array(size, dtype)
            for k in range(size):
                items[k] = x[i * size + k]
            total[i] = function(items, op, start[0])
            for k in range(size):
                out[i * size + k] = items[k]

    return run


def tiles(x, blocks=2):
    """Return the tile of each block."""
    return np.split(x, blocks)


def as_striped(tile, size):
    """Return a tile's items thread after thread, as threads hold them in striped arrangement."""
    return tile.reshape(size, -1).T.ravel()


def as_blocked(tile, size):
    """Return a tile in its own order, of items thread after thread in striped arrangement."""
    return tile.reshape(-1, size).T.ravel()
