"""Numba's promotion rules, as one function: (operation, left dtype, right dtype) -> dtype of the result.

Numba widens every integer operation to 64 bits and keeps a float's width only beside narrow integers; NumPy does
neither. The table that this follows is what numba-cuda's typing answers, and a test compares the two cell by cell.
"""

import numpy as np

INT64, UINT64 = np.dtype(np.int64), np.dtype(np.uint64)
HALF, SINGLE, DOUBLE = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
BITWISE = ("and_", "or_", "xor", "lshift", "rshift")
COMPARISONS = ("lt", "le", "eq", "ne", "ge", "gt")


def result_dtype(operation, left, right):
    """Return the dtype of `left operation right`, None when Numba refuses the pair."""
    if operation in COMPARISONS:
        return np.dtype(np.bool_)
    if left.kind in "biu" and right.kind in "biu":
        return _of_integers(operation, left, right)
    if operation in BITWISE:
        return None
    if "c" in (left.kind, right.kind):
        return None if operation in ("floordiv", "mod") else _joined(left, right)
    if operation == "pow" and right.kind in "biu":
        return _at_least_single(left)
    joined = _joined(left, right)
    return _at_least_single(joined) if operation in ("floordiv", "mod", "pow") else joined


def unary_dtype(operation, operand):
    """Return the dtype of `-x`, `+x`, `~x` (64 bits for integers) or `abs(x)` (unchanged)."""
    if operation == "abs":
        return np.dtype(operand.type(0).real.dtype)
    if operand.kind in "bi":
        return INT64
    return UINT64 if operand.kind == "u" else operand


def _of_integers(operation, left, right):
    if operation == "truediv":
        return DOUBLE
    if operation in ("lshift", "rshift"):
        return UINT64 if left.kind == "u" else INT64
    if operation in ("and_", "or_", "xor") and left.kind == right.kind == "b":
        return np.dtype(np.bool_)
    return UINT64 if left.kind == right.kind == "u" else INT64


def _at_least_single(dtype):
    return SINGLE if dtype == HALF else dtype


def _joined(left, right):
    """Join where at least one side is a float or complex: a 16-bit unsigned integer already needs a double."""
    widest = max((_as_float(left), _as_float(right)), key=lambda dtype: dtype.itemsize)
    if "c" in (left.kind, right.kind):
        return np.dtype(np.complex64) if widest.itemsize <= 4 else np.dtype(np.complex128)
    return widest


def _as_float(dtype):
    """Return the float dtype that an operand brings to a mixed operation."""
    if dtype.kind == "c":
        return np.dtype(f"f{dtype.itemsize // 2}")
    if dtype.kind == "f":
        return dtype
    if dtype.itemsize == 1:
        return SINGLE if dtype.kind == "u" else HALF
    return SINGLE if dtype == np.int16 else DOUBLE
