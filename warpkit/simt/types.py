"""Types: casting like a value, applying operators, identities, comparing; bodies are the meaning, as in lanes.py."""

from . import ops
from .machine import SIMULATOR, operation

if SIMULATOR:
    from .refusals import refuse
    from .simulated import (
        as_kind,
        check_operands,
        componentwise,
        identity_of,
        int32,
        int64,
        is_nan,
        leaves_of,
        same_bits,
        uint64,
    )
    from .simulated_kinds import is_vector, kind_of_value


@operation
def hold(value):
    """Return `value` itself, records (references into an array, in Numba) copied into registers."""
    return as_kind(value, value)


@operation
def cast_like(value, result):
    """Return `result` converted to the type of `value`: scalars, and per component vectors, tuples, records.

    Integers wrap. Refused: a float where an integer is asked for, a different number of components.
    """
    return as_kind(value, result)


@operation
def as_index(number):
    """Return a non-negative integer as an index that is not checked for counting from the end: uint64."""
    return uint64(number)


@operation
def as_int64(number):
    """Return an integer of any type as int64; an unsigned one beyond it as the largest.

    In Numba an unsigned 64-bit integer and a signed one make a float: what a user passes goes through this first.
    """
    return int64(min(int(number), (1 << 63) - 1))


@operation
def truncated(number):
    """Return a real number as int32, cut towards 0; what is beyond int32, NaN included, gives anything."""
    return int32(number)


@operation
def combine(op, earlier, later):
    """Return `op(earlier, later)` in the type of `earlier`.

    Built-in operators act per component on vectors and flat tuples; a user's operator on the components of a vector
    and on whole tuples.
    """
    known = ops.known(op)
    if known is not None:
        return known(earlier, later)
    if is_vector(earlier):
        return componentwise(op, earlier, later)
    return as_kind(earlier, op(earlier, later))


@operation
def identity_like(op, value):
    """Return the identity of the built-in operator `op` in the type of `value`."""
    known = ops.known(op)
    check_operands(known, value, value)
    return identity_of(ops.IDENTITIES[known], value)


@operation
def identity_or_own(op, value):
    """Return the identity of a built-in operator in the type of `value`; for a user's operator `value` itself."""
    return identity_like(op, value) if ops.known(op) is not None else value


@operation
def is_commutative(op):
    """Return True, at compile time, when the operands of `op` may change places: the built-in operators."""
    return ops.known(op) is not None


@operation
def precedes(a, b):
    """Return a < b of two scalars in sorting order: NaN after everything else."""
    return bool(a < b) or (is_nan(b) and not is_nan(a))


@operation
def equal(a, b):
    """Return a == b; for vectors and tuples a tuple with one bool per component."""
    kind = kind_of_value(a)
    if kind.family == "record":
        refuse("equal: records have no ==; compare their fields.")
    if kind.parts:
        return tuple(bool(x == y) for x, y in zip(leaves_of(a), leaves_of(b), strict=True))
    return bool(a == b)


@operation
def equal_bits(a, b):
    """Return True when every bit of two values of one type is the same."""
    return same_bits(a, b)
