"""What the tests of selections are run over: policies with small tiles, sizes around them, densities, NumPy's answers.

With POLICY a tile is 160 items of 4 bytes; more than one tile is worked on by the kernel of blocks that stay, with FEW
by the one with a block for each tile. With ALONE one block works on up to 384 items; up to 400 tiles
are smaller, from 700 on larger. With REGISTERS one block works on up to 128, from registers; up to 5000
several look back, and where these are of no use one works on up to 600.
"""

import numpy as np

from tests.warp.matrix import SIMULATOR
from warpkit import device
from warpkit.device.select_policy import items_of_thread

NO_REGISTERS = {"one_until": 0, "look_until": 0, "wide_until": 0}
NOT_ALONE = {"alone_threads": 32, "small_until": 0, "large_from": 1 << 40, **NO_REGISTERS}
POLICY = device.SelectPolicy(
    threads=32, nbytes=20, stages=3, blocks=2, few_threads=32, few_nbytes=20, most_tiles=0, **NOT_ALONE
)
FEW = device.SelectPolicy(threads=32, nbytes=20, few_threads=32, few_nbytes=20, most_tiles=1 << 20, **NOT_ALONE)
ALONE = device.SelectPolicy(
    few_threads=64, few_nbytes=12, most_tiles=1 << 20, alone_threads=128, small_threads=32, small_until=400,
    large_from=700, large_nbytes=20, **NO_REGISTERS,
)  # fmt: skip
REGISTERS = device.SelectPolicy(
    32, 20, 3, 2, few_threads=32, few_nbytes=20, one_threads=64, one_items=2, one_until=128, wide_items=16,
    wide_until=600, look_threads=64, look_items=2, look_tiles=8, look_until=5000, whole_tiles=1 << 20,
)  # fmt: skip
POLICIES = [POLICY, FEW, ALONE, REGISTERS] if SIMULATOR else [POLICY, FEW, ALONE, REGISTERS, None]
POLICY_NAMES = ["stay", "few", "alone", "registers", "measured"][: len(POLICIES)]
SIZES = (
    [0, 1, 128, 129, 160, 390, 401, 701]
    if SIMULATOR
    else [
        0,
        1,
        31,
        32,
        33,
        127,
        128,
        129,
        159,
        160,
        161,
        255,
        257,
        384,
        385,
        400,
        401,
        600,
        601,
        699,
        701,
        1793,
        4095,
        4096,
        4097,
        5000,
        5001,
        1 << 14,
        (1 << 14) + 1,
        (1 << 16) + 5,
        3_000_001,
    ]
)
SOME = 400 if SIMULATOR else 100_003
DENSITIES = [0, 0.001, 0.5, 1]
RECORD = np.dtype([("a", np.int32), ("b", np.float32)])
LARGE = np.dtype([("key", np.int64), ("name", np.uint8, 13), ("more", np.float64)], align=True)
ODD = np.dtype([("a", np.uint8), ("b", np.uint8, 2)])


def some(dtype):
    """Return a number of items that fill a few tiles, the last one not quite."""
    size = np.dtype(dtype).itemsize
    return 32 * items_of_thread(20, size) * 9 // 4 if SIMULATOR else SOME


def values(dtype, count, seed=1):
    """Return values of few kinds, many of them 0, of floats some NaN and zeros of both signs."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.names:
        return rng.integers(0, 256, count * dtype.itemsize).astype(np.uint8).view(dtype)
    if dtype == np.bool_:
        return rng.random(count) < 0.5
    x = rng.integers(0 if dtype.kind == "u" else -2, 3, count)
    if dtype.kind in "iu":
        return np.where(rng.random(count) < 0.1, np.iinfo(dtype).max, x).astype(dtype)
    x = np.where(rng.random(count) < 0.1, rng.choice([np.nan, np.inf, -0.0, 0.0], count), x / 2)
    return (x + 1j * rng.integers(0, 2, count) if dtype.kind == "c" else x).astype(dtype)


def flags(count, density, seed=2):
    """Return as many flags, of which so many are true."""
    return np.random.default_rng(seed).random(count) < density


def runs(dtype, count, mean, seed=3):
    """Return values in runs of equal ones, of such a mean length."""
    rng = np.random.default_rng(seed)
    return values(dtype, count + 1, seed)[np.cumsum(rng.random(count) < 1 / mean)]


def changes(x):
    """Return which items differ from the one before them."""
    flat = x.reshape(-1)
    first = np.ones(flat.size, np.bool_)
    first[1:] = flat[1:] != flat[:-1]
    return first


def parted(x, keep):
    """Return what is kept, then the rest."""
    return np.concatenate([x.reshape(-1)[keep.reshape(-1)], x.reshape(-1)[~keep.reshape(-1)]])


def encoded(x):
    """Return (values, lengths) of the runs."""
    flat = x.reshape(-1)
    begins = np.flatnonzero(changes(flat))
    return flat[begins], np.diff(np.append(begins, flat.size))


def same(got, expected):
    """Assert that a device array holds these items, bit for bit."""
    got = got.copy_to_host()
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    for field in expected.dtype.names or [...]:  # there may be holes between fields
        assert got[field].tobytes() == expected[field].tobytes()
