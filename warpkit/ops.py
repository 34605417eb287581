"""The built-in operators: pass them as `op`, or call them in a kernel.

Each acts per component on vectors and flat tuples. Operators that mean the same: operator.add/mul/and_/or_/xor and the
NumPy ufuncs of these names; min and max, unlike minimum and maximum, ignore a NaN beside a number.
"""

from .simt.ops import add, bit_and, bit_or, bit_xor, logical_and, logical_or, maximum, minimum, mul

__all__ = ["add", "bit_and", "bit_or", "bit_xor", "logical_and", "logical_or", "maximum", "minimum", "mul"]
