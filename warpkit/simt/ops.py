"""The built-in operators: one table of name, meaning, identity.

Each is a device function of two values of one type and acts per component on vectors and flat tuples. The bodies here
are the meaning (run by the simulator); numba_cuda/operators.py lowers them, halves natively included.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .machine import SIMULATOR, operation

if SIMULATOR:
    from .simulated import bits_of, check_operands, componentwise, is_nan


@operation
def add(a, b):
    """Return a + b, wrapping on integers."""
    return _each(add, lambda a, b: a + b, a, b)


@operation
def mul(a, b):
    """Return a * b, wrapping on integers."""
    return _each(mul, lambda a, b: a * b, a, b)


@operation
def minimum(a, b):
    """Return the smaller; NaN wins, −0.0 is below +0.0."""
    return _each(minimum, lambda a, b: a if is_nan(a) or (not is_nan(b) and _orders(a, b)) else b, a, b)


@operation
def maximum(a, b):
    """Return the larger; NaN wins, −0.0 is below +0.0."""
    return _each(maximum, lambda a, b: a if is_nan(a) or (not is_nan(b) and _orders(b, a)) else b, a, b)


@operation
def fmin(a, b):
    """Return the smaller, of a NaN and a number the number: builtin `min` and `numpy.fmin` as operators."""
    return _each(fmin, lambda a, b: a if is_nan(b) or (not is_nan(a) and _orders(a, b)) else b, a, b)


@operation
def fmax(a, b):
    """Return the larger, of a NaN and a number the number: builtin `max` and `numpy.fmax` as operators."""
    return _each(fmax, lambda a, b: a if is_nan(b) or (not is_nan(a) and _orders(b, a)) else b, a, b)


@operation
def bit_and(a, b):
    """Return a & b, integers and bool."""
    return _each(bit_and, lambda a, b: a & b, a, b)


@operation
def bit_or(a, b):
    """Return a | b, integers and bool."""
    return _each(bit_or, lambda a, b: a | b, a, b)


@operation
def bit_xor(a, b):
    """Return a ^ b, integers and bool."""
    return _each(bit_xor, lambda a, b: a ^ b, a, b)


@operation
def logical_and(a, b):
    """Return whether both are true, in the type of `a`."""
    return _each(logical_and, lambda a, b: bool(a) and bool(b), a, b)


@operation
def logical_or(a, b):
    """Return whether one is true, in the type of `a`."""
    return _each(logical_or, lambda a, b: bool(a) or bool(b), a, b)


def _each(op, meaning, a, b):
    check_operands(op, a, b)
    return componentwise(meaning, a, b)


def _orders(a, b):
    """Return True when a comes before b, or is equal and comes no later in its bits (−0.0 before +0.0)."""
    return a < b or (a == b and (bits_of(a) >= bits_of(b)))


# What Python and NumPy call them; any other function (math.hypot, a user's own) is called as it is.
ALIASES: dict[Any, Callable[..., Any]] = {
    operator.add: add,
    operator.mul: mul,
    operator.and_: bit_and,
    operator.or_: bit_or,
    operator.xor: bit_xor,
    min: fmin,
    max: fmax,
    np.add: add,
    np.multiply: mul,
    np.minimum: minimum,
    np.maximum: maximum,
    np.fmin: fmin,
    np.fmax: fmax,
    np.bitwise_and: bit_and,
    np.bitwise_or: bit_or,
    np.bitwise_xor: bit_xor,
    np.logical_and: logical_and,
    np.logical_or: logical_or,
}

# Identities of the built-in operators: 0, 1, or the extreme that the type has.
LOWEST, HIGHEST, ALL_ONES = "lowest", "highest", "all ones"
IDENTITIES: dict[Callable[..., Any], Any] = {
    add: 0,
    mul: 1,
    minimum: HIGHEST,
    maximum: LOWEST,
    fmin: HIGHEST,
    fmax: LOWEST,
    bit_and: ALL_ONES,
    bit_or: 0,
    bit_xor: 0,
    logical_and: 1,
    logical_or: 0,
}


def known(function: Any) -> Callable[..., Any] | None:
    """Return the built-in operator that `function` is or stands for, None for a user's own."""
    try:
        return function if function in IDENTITIES else ALIASES.get(function)
    except TypeError:  # unhashable: nobody's operator
        return None
