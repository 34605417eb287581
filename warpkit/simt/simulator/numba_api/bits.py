"""Bits and small arithmetic: popc, clz, ffs, brev, fma, cbrt, selp. A Python int is int64, as Numba types it."""

from fractions import Fraction

import numpy as np

from warpkit.simt.simulator.scalars import UInt32, dtype_of, scalar


def _integer(value, name):
    dtype = dtype_of(value)
    if dtype is None or dtype.kind not in "iub":
        raise TypeError(f"cuda.{name} takes an integer, not {dtype or type(value).__name__}")
    width = dtype.itemsize * 8
    return int(value) & ((1 << width) - 1), width, np.dtype(np.int8) if dtype.kind == "b" else dtype


def popc(value):
    """Return the number of bits set, in the type of `value`."""
    bits, _, dtype = _integer(value, "popc")
    return scalar(bits.bit_count(), dtype)


def clz(value):
    """Return the number of leading zeros in the width of `value`, in its type."""
    bits, width, dtype = _integer(value, "clz")
    return scalar(width - bits.bit_length(), dtype)


def ffs(value):
    """Return one more than the number of trailing zeros, 0 for 0, as uint32."""
    bits, _, _ = _integer(value, "ffs")
    return UInt32((bits & -bits).bit_length())


def brev(value):
    """Return the bits in reverse order: uint64 for 64-bit unsigned values, uint32 for all others, as Numba types it."""
    _, _, dtype = _integer(value, "brev")
    width = 64 if dtype == np.uint64 else 32
    bits = int(value) & ((1 << width) - 1)
    return scalar(int(f"{bits:0{width}b}"[::-1], 2), np.uint64 if width == 64 else np.uint32)


def fma(a, b, c):
    """Return a * b + c, rounded once; float32 when nothing wider comes in, else float64."""
    dtypes = [dtype_of(item) for item in (a, b, c)]
    kind = np.float32 if all(dtype in (np.float16, np.float32) for dtype in dtypes) else np.float64
    a, b, c = (kind(item).item() for item in (a, b, c))
    if not all(np.isfinite(item) for item in (a, b, c)) or a == 0 or b == 0:
        return scalar(a * b + c, kind)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    return scalar(_rounded(exact, kind) if exact else a * b + c, kind)


def _rounded(exact, kind):
    """Round a fraction to the nearest float, ties to even, in one step."""
    precision, least = (53, -1074) if kind is np.float64 else (24, -149)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if abs(exact) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - precision + 1, least)
    scaled = round(exact / unit) * unit
    try:
        return float(scaled)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def cbrt(value):
    """Return the cube root: float32 of float32, else float64."""
    dtype = dtype_of(value)
    kind = np.float32 if dtype is not None and dtype in (np.float16, np.float32) else np.float64
    return scalar(np.cbrt(kind(value)), kind)


def selp(condition, a, b):
    """Return `a` where the condition is true, else `b`."""
    return a if condition else b
