"""What the warp tests are run over: masks, dtypes, widths, and data that cannot hide a fault.

The simulator runs a stated part of the matrix: 12 masks, every dtype at widths 32 and 8, and int32 at every width.
A GPU runs all: 256 masks, every dtype at every width.
"""

import numpy as np
from numba import config

SIMULATOR = bool(config.ENABLE_CUDASIM)
FULL = 0xFFFFFFFF
WIDTHS = (1, 2, 4, 8, 16, 32)

SIGNED = (np.int8, np.int16, np.int32, np.int64)
UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)
INTEGERS = SIGNED + UNSIGNED
FLOATS = (np.float16, np.float32, np.float64)
COMPLEX = (np.complex64, np.complex128)
REALS = INTEGERS + FLOATS
NUMBERS = REALS + COMPLEX


def some_masks(number, seed=0):
    """Return that many masks: the telling ones first, then random ones of every density."""
    telling = [0b1000011, FULL, 1 << 31, 0x000FFFFF, 0x55555555, 0x80000001, 0xFFFF0000, 1, 0x49249249, 0x7FFFFFFF]
    low = [(1 << k) - 1 for k in range(1, 33)]
    rng = np.random.default_rng(seed)
    masks = telling + (low if number > 100 else [])
    while len(masks) < number:
        lanes = rng.random(32) < rng.choice([0.1, 0.3, 0.5, 0.7, 0.9])
        lanes[rng.integers(32)] = True  # an empty mask would test nothing
        masks.append(sum(1 << k for k in range(32) if lanes[k]))
    return np.array(masks[:number], np.uint32)


MASKS = some_masks(12 if SIMULATOR else 256)


def cells(dtypes):
    """Return the (dtype, width) pairs of the matrix."""
    full = [(dtype, width) for dtype in dtypes for width in WIDTHS]
    return [c for c in full if not SIMULATOR or c[1] in (8, 32) or c[0] is np.int32]


def label(value):
    """Name a parameter in a test's id."""
    return getattr(value, "__name__", str(value))


# ------------------------------------------------------------------ data


def random_bits(dtype, count, rng):
    """Return integers over their whole range, never 0."""
    raw = np.frombuffer(rng.bytes(count * np.dtype(dtype).itemsize), dtype).copy()
    raw[raw == 0] = 1
    return raw


def per_warp(pool, count, rng):
    """Return `count` values: every warp holds the same 32 in an order of its own, so that no fold over it overflows."""
    warps = -(-count // 32)
    return np.concatenate([rng.permutation(pool) for _ in range(warps)])[:count]


def for_sum(dtype, count, rng):
    """Return values whose sums are exact in any order; integers wrap."""
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return random_bits(dtype, count, rng)
    quarters = rng.integers(1, 32, count) * rng.choice([-1, 1, 1], count) * 0.25
    if kind == "c":
        quarters = quarters + 1j * rng.integers(1, 32, count)
    return quarters.astype(dtype)


def for_product(dtype, count, rng):
    """Return values whose products are exact in any order and never 0; integers wrap."""
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return random_bits(dtype, count, rng) | np.dtype(dtype).type(1)
    if kind == "c":
        return per_warp(np.array([1 + 1j] * 6 + [0.5] * 4 + [-1] * 7 + [1j] * 8 + [-1j] * 7), count, rng).astype(dtype)
    return per_warp(np.array([2.0] * 10 + [0.5] * 9 + [-1.0] * 7 + [1.0] * 6), count, rng).astype(dtype)


def away_from_zero(dtype, count, rng, sign):
    """Return values on one side of 0, so that a 0 read from an absent lane wins a min or max and shows."""
    kind = np.dtype(dtype).kind
    if kind == "f":
        return (sign * rng.integers(1, 2000, count) / 8).astype(dtype)
    values = random_bits(dtype, count, rng)
    if kind == "u":
        return values
    values[values == np.iinfo(dtype).min] = 1
    return (sign * np.abs(values)).astype(dtype)


def data(name, dtype, count, seed=1):
    """Return `count` values of `dtype` for an operation called sum, product, min, max or bit_…."""
    rng = np.random.default_rng(seed)
    if name == "sum":
        return for_sum(dtype, count, rng)
    if name == "product":
        return for_product(dtype, count, rng)
    if name in ("min", "max"):
        return away_from_zero(dtype, count, rng, 1 if name == "min" else -1)
    return random_bits(dtype, count, rng)


def bit_patterns(dtype, count, seed=2):
    """Return arbitrary bit patterns of any fixed-size dtype (NaNs, subnormals and all); bools are 0 or 1.

    No NaN is a signalling one: a CPU, which the reference runs on, makes it quiet on a mere copy.
    """
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    if dtype == np.bool_:
        return rng.random(count) < 0.5
    raw = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).copy()
    if dtype.kind in "fc":
        parts = raw.view(f"f{dtype.itemsize // (2 if dtype.kind == 'c' else 1)}")
        bits = parts.view(f"u{parts.itemsize}")
        bits[np.isnan(parts)] |= {2: 1 << 9, 4: 1 << 22, 8: 1 << 51}[parts.itemsize]
    return raw


def sentinel(dtype, count):
    """Return an array whose every item is a value that no test computes: lanes that do not take part must keep it."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return np.ones(count, dtype)
    if dtype.kind in "fc":
        return np.full(count, -12345.0 if dtype != np.float16 else -12344.0, dtype)
    return np.frombuffer(b"\x5a" * (count * dtype.itemsize), dtype).copy()
