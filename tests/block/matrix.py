"""What the block tests are run over: block shapes, dtypes, and data that cannot hide a fault.

The simulator runs a stated part: every dtype on one shape, int32 on the others; shapes of at most 320 threads.
A GPU runs every dtype on every shape.
"""

import numpy as np

from tests.warp.matrix import SIMULATOR, away_from_zero, random_bits
from tests.warp.operators import py_append_bits

# Threads: one; a partial warp; whole warps; whole and partial; more than eight warps, whole and partial (other paths).
SMALL = [(1,), (31,), (33,), (64,), (8, 5), (3, 5, 7)]
MANY = [(288,), (300,)]
SHAPES = (
    SMALL + MANY
    if SIMULATOR
    else [*SMALL, *MANY, (2,), (32,), (48,), (100,), (256,), (257,), (16, 16, 2), (1000,), (1024,)]
)
TYPICAL = [(33,)]
FEW = [(33,), (64,)] if SIMULATOR else [(33,), (64,), (256,), (300,), (1000,), (1024,)]


def threads(shape):
    """Return how many threads a block of this shape has."""
    return int(np.prod(shape))


def cells(dtypes):
    """Return the (dtype, shape) pairs of the matrix."""
    if not SIMULATOR:
        return [(dtype, shape) for dtype in dtypes for shape in SHAPES]
    return [(dtype, shape) for dtype in dtypes for shape in (*SMALL, (300,)) if shape in TYPICAL or dtype is np.int32]


def counts(shape):
    """Return the telling values of num_valid for a block: none, one, the edges of a warp, all, more than all."""
    size = threads(shape)
    return sorted({-3, 0, 1, min(31, size), min(32, size), min(33, size), size // 2, size - 1, size, 2 * size})


def for_sum(dtype, count, rng):
    """Return values whose sums over a block are exact in any order; integers wrap."""
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return random_bits(dtype, count, rng)
    small = rng.integers(1, 4, count) * rng.choice([-1, 1], count) * 0.5
    return (small + 1j * rng.integers(1, 4, count) if kind == "c" else small).astype(dtype)


def for_product(dtype, count, rng):
    """Return values whose products over a block are exact in any order and neither 0 nor infinite; integers wrap."""
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return random_bits(dtype, count, rng) | np.dtype(dtype).type(1)
    values = rng.choice([-1.0, 1.0], count) * np.where(np.arange(count) % 2, 2.0, 0.5)
    return (values * rng.choice([1, 1j], count) if kind == "c" else values).astype(dtype)


def data(name, dtype, count, seed=1):
    """Return `count` values of `dtype` for an operation called sum, product, min or max."""
    rng = np.random.default_rng(seed)
    if name == "sum":
        return for_sum(dtype, count, rng)
    if name == "product":
        return for_product(dtype, count, rng)
    return away_from_zero(dtype, count, rng, 1 if name == "min" else -1)


def bit_strings(count, seed=3):
    """Return bit strings for `append_bits`: 57 of one bit, the others empty; their order is in a fold."""
    rng = np.random.default_rng(seed)
    out = np.zeros(count, np.int64)
    some = rng.permutation(count)[: min(count, 57)]
    out[some] = rng.integers(0, 2, len(some)) << 6 | 1
    return out


def each_block(rule, x, blocks=2):
    """Apply `rule(items of one block) -> results` to every block and return all results in one list."""
    with np.errstate(all="ignore"):
        return [result for part in np.split(np.asarray(x), blocks) for result in rule(list(part))]


__all__ = [
    "FEW",
    "SHAPES",
    "SIMULATOR",
    "TYPICAL",
    "bit_strings",
    "cells",
    "counts",
    "data",
    "each_block",
    "py_append_bits",
    "threads",
]
