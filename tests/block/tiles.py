"""Kernels over tiles for the look-back tests: tile t has the aggregate x[t], out[t] one place for every thread."""

import functools

import numpy as np
from numba import cuda

import warpkit as wk
from tests.warp.matrix import random_bits

from .kernels import place


@functools.cache
def prefixes(op):
    """Kernel: out[t] = op(init[0], x[0], …, x[t − 1]); the prefix is asked for at once, without publishing."""

    @cuda.jit
    def run(states, num_tiles, x, init, out):
        index = place()[0]
        tile = wk.lookback_next_tile(states, num_tiles)
        while tile >= 0:
            out[tile, index] = wk.lookback_exclusive_prefix(states, tile, x[tile], op, init[0])
            tile = wk.lookback_next_tile(states, num_tiles)

    return run


@functools.cache
def published_ahead(op):
    """Kernel: as `prefixes`, each block one tile ahead: it publishes the next before it asks for the one at hand."""

    @cuda.jit
    def run(states, num_tiles, x, init, out):
        index = place()[0]
        tile = wk.lookback_next_tile(states, num_tiles)
        if tile >= 0:
            wk.lookback_publish(states, tile, x[tile])
        while tile >= 0:
            following = wk.lookback_next_tile(states, num_tiles)
            if following >= 0:
                wk.lookback_publish(states, following, x[following])
            out[tile, index] = wk.lookback_exclusive_prefix(states, tile, x[tile], op, init[0])
            tile = following

    return run


@functools.cache
def of_parts(op, build, store, early):
    """Kernel for values of several parts, made by `build(a, b, c, d, t)` and kept by `store(value, a, b, c, d, t)`."""

    @cuda.jit
    def run(states, num_tiles, start, a, b, c, d, oa, ob, oc, od):
        tile = wk.lookback_next_tile(states, num_tiles)
        while tile >= 0:
            value = build(a, b, c, d, tile)
            if early:
                wk.lookback_publish(states, tile, value)
            prefix = wk.lookback_exclusive_prefix(states, tile, value, op, build(a, b, c, d, start))
            store(prefix, oa, ob, oc, od, tile)
            tile = wk.lookback_next_tile(states, num_tiles)

    return run


def run(kernel, states, x, grid, block, init=0, num_tiles=None):
    """Launch a kernel of one array and return what thread 0 found for each tile; all threads must agree."""
    num_tiles = len(x) if num_tiles is None else num_tiles
    threads = int(np.prod(block))
    out = np.full((max(num_tiles, 1), threads), -99 if x.dtype.kind != "u" else 99).astype(x.dtype)
    kernel[grid, block](states, num_tiles, x, np.array([init], x.dtype), out)
    assert (out == out[:, :1]).all()
    return out[:num_tiles, 0]


def sums(x, init=0):
    """Return the exclusive sums of `x`, integers wrapped."""
    total = np.cumsum(x[:-1], dtype=x.dtype)
    with np.errstate(over="ignore"):
        return (np.concatenate([np.zeros(1, x.dtype), total])[: len(x)].astype(x.dtype) + x.dtype.type(init)).astype(
            x.dtype
        )


def values(dtype, count, seed=3):
    """Return values whose sums are exact in any order."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return random_bits(dtype, count, rng)
    small = rng.integers(-8, 8, count) * 0.5
    return (small + 1j * rng.integers(-8, 8, count) if np.dtype(dtype).kind == "c" else small).astype(dtype)
