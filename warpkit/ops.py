"""The built-in operators: pass them as `op`, or call them in a kernel.

Each acts per component on vectors and flat tuples. Aliases that mean the same as operators: operator.add/mul/and_/or_/xor,
the NumPy ufuncs of these names, and min and max (which, unlike minimum and maximum, ignore a NaN beside a number).
"""

from .simt.ops import add, bit_and, bit_or, bit_xor, logical_and, logical_or, maximum, minimum, mul

__all__ = ["add", "bit_and", "bit_or", "bit_xor", "logical_and", "logical_or", "maximum", "minimum", "mul"]
