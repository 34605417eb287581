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
SINGLE, BYTE = np.float32(0), np.uint8(0)
NAN = float("nan")


# ------------------------------------------------------------------ how an item enters


@device_function()
def itself(item, place):
    """Return the item."""
    return item


@device_function()
def truth(item, place):
    """Return whether the item is true, int32."""
    return cast_like(thread_index(), item != 0)


@device_function()
def truth_of_half(item, place):
    """Return whether a float16 is true, int32."""
    return cast_like(thread_index(), cast_like(SINGLE, item) != 0)


@device_function()
def with_place(item, place):
    """Return the pair of the item and its place."""
    return item, place


@device_function()
def half_with_place(item, place):
    """Return the pair of a float16 as float32 and its place."""
    return cast_like(SINGLE, item), place


@device_function()
def flag_with_place(item, place):
    """Return the pair of a bool as uint8 and its place."""
    return cast_like(BYTE, item), place


@device_function()
def twice(item, place):
    """Return the pair of the item and itself."""
    return item, item


@device_function()
def as_int32(like):
    """Return an int32: wide enough for the sum of the items that one read brings, if they are of at most 16 bits."""
    return thread_index()


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


@device_function()
def mean_of(total, n):
    """Return the mean, a float, of `n` real items that add up to `total`; NaN for none."""
    return total / n if n > 0 else NAN


@device_function()
def single_mean_of(total, n):
    """Return the mean of `n` items that add up to the float32 `total`, divided in that type; NaN for none."""
    return cast_like(total, total / cast_like(total, max(n, 1)) if n > 0 else NAN)


@device_function()
def complex_mean_of(total, n):
    """Return the mean of `n` complex items; NaN for none."""
    scale = 1.0 if n > 0 else NAN
    return complex(total.real * scale / max(n, 1), total.imag * scale / max(n, 1))


@device_function()
def result_alone(finish, op, init, total, n):
    """Return the result of a reduction without `init`."""
    return finish(total, n)


@device_function()
def result_after(finish, op, init, total, n):
    """Return the result of a reduction that `init` comes before."""
    start = cast_like(total, init)
    return finish(combine(op, start, total) if n > 0 else start, n)


@device_function()
def put_one(out, result):
    """Store a result, in the type of `out`."""
    out[0] = cast_like(hold(out[0]), result)


@device_function()
def put_two(out, result):
    """Store the two parts of a result."""
    out[0] = cast_like(out[0], result[0])
    out[1] = cast_like(out[1], result[1])


@dataclass(frozen=True)
class Meaning:
    """One reduction. Functions that kernels call, all but `ordered` and `total`.

    lift: (item, place) -> what is combined.  op: (earlier, later) -> combined.  ordered: the operands of `op` may not
    change places; otherwise empty: (op, like) -> what changes nothing.  narrow: like -> a value of the type in which
    the items of one read are combined.  total: the type of a total, for `local_array`.
    settle: (finish, op, init, total, n) -> the result; finish: (total, n) -> the result but for `init`.
    put: (out, result) stores it.
    """

    lift: Callable[..., Any]
    op: Callable[..., Any]
    total: Any
    ordered: bool = False
    empty: Callable[..., Any] = identity_like
    narrow: Callable[..., Any] = hold
    settle: Callable[..., Any] = result_alone
    finish: Callable[..., Any] = total_itself
    put: Callable[..., Any] = put_one
