"""What a reduction means: how an item enters, how two are combined, what none gives, how the total becomes a result.

Each is a device function; a `Meaning` names the ones of one reduction, and the kernels ask for nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..simt.lanes import thread_index
from ..simt.machine import device_function
from ..simt.ops import maximum, minimum
from ..simt.types import cast_like, combine, hold, identity_like

LAST = np.int64((1 << 63) - 1)
SINGLE = np.float32(0)


@dataclass(frozen=True)
class Meaning:
    """One reduction. Device functions all, but for the types.

    lift: (item, place) -> what is combined.  op: (earlier, later) -> combined.  ordered: the operands of `op` may not
    change places; otherwise empty: (op, like) -> what changes nothing.  narrow: like -> a value of the type in which
    the items of one read are combined.  total: the type of a total, for `local_array`.
    settle: (op, init, total, n) -> the result.  put: (out, result) stores it.
    """

    lift: Callable[..., Any]
    op: Callable[..., Any]
    ordered: bool
    total: Any
    settle: Callable[..., Any]
    put: Callable[..., Any]
    empty: Callable[..., Any] = identity_like
    narrow: Callable[..., Any] = hold


# ------------------------------------------------------------------ how an item enters


@device_function()
def itself(item, place):
    """Return the item."""
    return item


@device_function()
def as_single(item, place):
    """Return the item, a half, as float32."""
    return cast_like(SINGLE, item)


@device_function()
def as_int32(like):
    """Return an int32."""
    return thread_index()


def truth_of(convert):
    """Return the lift to whether an item, after `convert`, is true: int32."""

    @device_function()
    def truth(item, place):
        return cast_like(thread_index(), convert(item, place) != 0)

    return truth


def placed(convert):
    """Return the lift to the pair of an item, after `convert`, and its place."""

    @device_function()
    def with_place(item, place):
        return convert(item, place), place

    return with_place


@device_function()
def twice(item, place):
    """Return the pair of an item and itself."""
    return item, item


# ------------------------------------------------------------------ pairs: (value, place) and (smallest, largest)


@device_function()
def first_smallest(a, b):
    """Return the pair with the smaller value, NaN before everything; of equal ones that with the smaller place."""
    if b[0] < a[0] or (b[0] != b[0] and a[0] == a[0]):
        return b
    if a[0] < b[0] or (a[0] != a[0] and b[0] == b[0]) or a[1] <= b[1]:
        return a
    return b


@device_function()
def first_largest(a, b):
    """Return the pair with the larger value, NaN before everything; of equal ones that with the smaller place."""
    if b[0] > a[0] or (b[0] != b[0] and a[0] == a[0]):
        return b
    if a[0] > b[0] or (a[0] != a[0] and b[0] == b[0]) or a[1] <= b[1]:
        return a
    return b


@device_function()
def nowhere_smallest(op, like):
    """Return a pair that `first_smallest` never prefers."""
    return identity_like(minimum, like[0]), LAST


@device_function()
def nowhere_largest(op, like):
    """Return a pair that `first_largest` never prefers."""
    return identity_like(maximum, like[0]), LAST


@device_function()
def extremes(a, b):
    """Combine pairs (smallest, largest)."""
    return minimum(a[0], b[0]), maximum(a[1], b[1])


@device_function()
def no_extremes(op, like):
    """Return the pair that changes none."""
    return identity_like(minimum, like[0]), identity_like(maximum, like[1])


# ------------------------------------------------------------------ how the total becomes a result


@device_function()
def total_itself(total, n):
    """Return the total."""
    return total


@device_function()
def is_true(total, n):
    """Return whether the total is not 0."""
    return total != 0


@device_function()
def place_of(total, n):
    """Return the place in a pair, −1 where there was no item."""
    return total[1] if n > 0 else -1


NAN = float("nan")


@device_function()
def mean_of(total, n):
    """Return the mean, a float, of `n` items that add up to `total`; NaN for none."""
    return total / n if n > 0 else total * NAN


@device_function()
def complex_mean_of(total, n):
    """Return the mean of `n` complex items; NaN for none."""
    scale = NAN if n == 0 else 1.0
    return complex(total.real * scale / max(n, 1), total.imag * scale / max(n, 1))


def settling(finish, starts: bool):
    """Return the function that gives the result of a total, which `init` comes before where the reduction has one."""

    @device_function()
    def after_init(op, init, total, n):
        start = cast_like(total, init)
        return finish(combine(op, start, total) if n > 0 else start, n)

    @device_function()
    def without_init(op, init, total, n):
        return finish(total, n)

    return after_init if starts else without_init


@device_function()
def put_one(out, result):
    """Store a result, in the type of `out`."""
    out[0] = cast_like(hold(out[0]), result)


@device_function()
def put_two(out, result):
    """Store the two parts of a result."""
    out[0] = cast_like(out[0], result[0])
    out[1] = cast_like(out[1], result[1])
