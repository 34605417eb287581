"""Reductions of device arrays: one launch over any number of items, the block that is done last finishes.

All of them share what follows. `x` is a device array of numba, CuPy, torch, JAX or of anything with an array interface,
of any shape and strides: its items count in C order; up to four axes that do not line up are read in place.

Args (keyword-only): out: a device array of one element; the result goes there, it is returned, nothing waits and
nothing is allocated, so that the call may be captured into a graph; its dtype may differ (NumPy's "same_kind"; integers
wrap).  dtype: what the result is computed in.  init: comes before the first item, once, and decides no dtype; with no
items it is the result.  num_items: how many items of `x` count: an int, or a device array of one integer, read on the
device, where too many are all of them, and a negative number none.  stream: any stream object or handle; None: that of
the arrays' framework, else the legacy default stream.  policy: a `ReducePolicy`.  axis: refused; whole arrays only.
Returns: `out`; without it a NumPy scalar, once the stream is done.
Order: with an operator of warpkit's table (or what stands for one) the operands change places; with a user's never: it
is called as op(earlier, later), on items that exist.
Deterministic: the grid depends on the number of items, the device and the policy alone, so that the same call gives the
same bits every time, on any stream; bits may differ between devices, between addresses that differ modulo 16 bytes, and
between strided and contiguous arrays.
Errors: Refused (a TypeError) or ValueError in one sentence; MemoryError when there is no room for scratch, with `out`
as it was.
"""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import Refused
from ..host.launch import Prepared
from .calls import bound, explained
from .reduce_call import run
from .reduce_families import FAMILIES, Family
from .reduce_operators import reduce_family, transform_family
from .reduce_policy import ReducePolicy
from .reduce_prepare import prepared

__all__ = [
    "ReducePolicy", "all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "minmax", "prod", "reduce",
    "sum", "transform_reduce",
]  # fmt: skip

Function = TypeVar("Function", bound=Callable[..., Any])
Policy = ReducePolicy | None
SUM, PROD, MIN, MAX, MEAN = (FAMILIES[name] for name in ("sum", "prod", "min", "max", "mean"))
ANY, ALL, COUNT_NONZERO = (FAMILIES[name] for name in ("any", "all", "count_nonzero"))
ARGMIN, ARGMAX, MINMAX = (FAMILIES[name] for name in ("argmin", "argmax", "minmax"))


def prepares(family_of: Callable[..., Family]) -> Callable[[Function], Function]:
    """Give an array function its planning half, which `prepare` calls; `family_of`: (what follows x) -> the family."""

    def decorate(function: Function) -> Function:
        parameters = inspect.signature(function)

        def plan(*args: Any, **options: Any) -> Prepared:
            given = bound(function.__name__, parameters, args, options)
            own = [given.pop(name) for name in ("transform", "op") if name in given]
            if given.pop("axis", None) is not None:
                refuse_axis(function.__name__)
            options = {name: given.get(name) for name in OPTIONS}
            return prepared(family_of(*own), given["x"], **options)

        function.plan = plan  # type: ignore[attr-defined]
        return explained(function)

    return decorate


OPTIONS = ("out", "dtype", "init", "num_items", "stream", "policy")


def refuse_axis(name: str) -> None:
    """Refuse `axis=`."""
    raise Refused(f"{name}: axis= does not exist; the whole array is reduced, so pass one row at a time.")


@prepares(lambda: SUM)
def sum(x: Any, *, out: Any = None, dtype: Any = None, init: Any = None, num_items: Any = None, stream: Any = None,
        policy: Policy = None, axis: Any = None) -> Any:  # fmt: skip
    """Add up the items of `x`.

    Computed in int64 for bool and signed integers, uint64 for unsigned ones, where they wrap; float16 in float32, which
    is the result's dtype too; otherwise in the dtype of `x`, structured arrays field by field.
    Returns: the sum; 0 for no items. Error of a float sum: that of trees and of partial sums of some hundred items.
    Example: 200 int8 ones -> np.int64(200).
    """
    if axis is not None:
        refuse_axis("sum")
    return run(SUM, x, out, dtype, init, num_items, stream, policy)


@prepares(lambda: PROD)
def prod(x: Any, *, out: Any = None, dtype: Any = None, init: Any = None, num_items: Any = None, stream: Any = None,
         policy: Policy = None, axis: Any = None) -> Any:  # fmt: skip
    """Multiply the items of `x`; computed in the dtypes of `sum`.

    Returns: the product; 1 for no items.
    """
    if axis is not None:
        refuse_axis("prod")
    return run(PROD, x, out, dtype, init, num_items, stream, policy)


@prepares(lambda: MIN)
def min(x: Any, *, out: Any = None, dtype: Any = None, init: Any = None, num_items: Any = None, stream: Any = None,
        policy: Policy = None, axis: Any = None) -> Any:  # fmt: skip
    """Return the smallest item of `x`: NaN if any is NaN; −0.0 is below +0.0; structured arrays field by field.

    Returns: the minimum, of the dtype of `x`.
    Errors: ValueError for no items without init; where their number is read on the device, the largest value then.
    """
    if axis is not None:
        refuse_axis("min")
    return run(MIN, x, out, dtype, init, num_items, stream, policy)


@prepares(lambda: MAX)
def max(x: Any, *, out: Any = None, dtype: Any = None, init: Any = None, num_items: Any = None, stream: Any = None,
        policy: Policy = None, axis: Any = None) -> Any:  # fmt: skip
    """Return the largest item of `x`: NaN if any is NaN; −0.0 is below +0.0; structured arrays field by field.

    Returns: the maximum, of the dtype of `x`.
    Errors: ValueError for no items without init; where their number is read on the device, the smallest value then.
    """
    if axis is not None:
        refuse_axis("max")
    return run(MAX, x, out, dtype, init, num_items, stream, policy)


@prepares(lambda: ANY)
def any(x: Any, *, out: Any = None, num_items: Any = None, stream: Any = None, policy: Policy = None,
        axis: Any = None) -> Any:  # fmt: skip
    """Return whether any item of `x` is true: not 0, so NaN is.

    Returns: a bool; False for no items.
    """
    if axis is not None:
        refuse_axis("any")
    return run(ANY, x, out, None, None, num_items, stream, policy)


@prepares(lambda: ALL)
def all(x: Any, *, out: Any = None, num_items: Any = None, stream: Any = None, policy: Policy = None,
        axis: Any = None) -> Any:  # fmt: skip
    """Return whether all items of `x` are true: not 0, so NaN is.

    Returns: a bool; True for no items.
    """
    if axis is not None:
        refuse_axis("all")
    return run(ALL, x, out, None, None, num_items, stream, policy)


@prepares(lambda: COUNT_NONZERO)
def count_nonzero(x: Any, *, out: Any = None, num_items: Any = None, stream: Any = None, policy: Policy = None,
                  axis: Any = None) -> Any:  # fmt: skip
    """Return how many items of `x` are true, int64."""
    if axis is not None:
        refuse_axis("count_nonzero")
    return run(COUNT_NONZERO, x, out, None, None, num_items, stream, policy)


@prepares(lambda: ARGMIN)
def argmin(x: Any, *, out: Any = None, num_items: Any = None, stream: Any = None, policy: Policy = None,
           axis: Any = None) -> Any:  # fmt: skip
    """Return the place, in C order, of the smallest item of `x`, int64: the first one of equals; the first NaN.

    Errors: ValueError for no items; where their number is read on the device, −1 then.
    Refused for an `out` that is not of signed integers that hold the last place.
    Example: x[i] = i % 3 -> 0.
    """
    if axis is not None:
        refuse_axis("argmin")
    return run(ARGMIN, x, out, None, None, num_items, stream, policy)


@prepares(lambda: ARGMAX)
def argmax(x: Any, *, out: Any = None, num_items: Any = None, stream: Any = None, policy: Policy = None,
           axis: Any = None) -> Any:  # fmt: skip
    """Return the place, in C order, of the largest item of `x`, int64: the first one of equals; the first NaN.

    Errors: ValueError for no items; where their number is read on the device, −1 then.
    Refused for an `out` that is not of signed integers that hold the last place.
    Example: x[i] = i % 3 -> 2.
    """
    if axis is not None:
        refuse_axis("argmax")
    return run(ARGMAX, x, out, None, None, num_items, stream, policy)


@prepares(lambda: MINMAX)
def minmax(x: Any, *, out: Any = None, num_items: Any = None, stream: Any = None, policy: Policy = None,
           axis: Any = None) -> Any:  # fmt: skip
    """Return the smallest and the largest item of `x` in one pass: see `min` and `max`.

    Args: out: a device array of two elements.  Returns: a pair of scalars.
    Errors: ValueError for no items; where their number is read on the device, (largest, smallest value) then.
    """
    if axis is not None:
        refuse_axis("minmax")
    return run(MINMAX, x, out, None, None, num_items, stream, policy)


@prepares(lambda: MEAN)
def mean(x: Any, *, out: Any = None, dtype: Any = None, num_items: Any = None, stream: Any = None,
         policy: Policy = None, axis: Any = None) -> Any:  # fmt: skip
    """Return the mean of the items of `x`: their sum, divided once.

    Computed in int64 for bool and integers of at most 16 bits, in float64 for longer ones; float16 in float32.
    Returns: float64 for integers, float32 for float16, else the dtype of `x`; NaN for no items.
    """
    if axis is not None:
        refuse_axis("mean")
    return run(MEAN, x, out, dtype, None, num_items, stream, policy)


@prepares(reduce_family)
def reduce(x: Any, op: Any, *, out: Any = None, dtype: Any = None, init: Any = None, num_items: Any = None,
           stream: Any = None, policy: Policy = None, axis: Any = None) -> Any:  # fmt: skip
    """Combine the items of `x` by any associative operator.

    Args: op: (earlier, later) -> combined: a Python function, a lambda, a device function, an operator of warpkit,
    `operator` or NumPy, min or max. It may capture numbers and device arrays. Not associative, and so without a
    meaning here: `a + b * b`, for which there is `transform_reduce`. Structured items reach it as tuples of their
    fields, and it returns such tuples.
    dtype: default: that of `sum` for add and mul, else that of `x`; float16 reaches a user's function as float32.
    Returns: the combination, in that dtype; a wider integer or float that `op` returns is converted to it, a float for
    an integer is refused. For no items init, without init the identity of a built-in operator.
    Order: see above; a user's operator need not be commutative, and costs no bandwidth for it.
    Errors: ValueError for no items and no init, for minima, maxima and a user's operator.
    """
    if axis is not None:
        refuse_axis("reduce")
    return run(reduce_family(op), x, out, dtype, init, num_items, stream, policy)


@prepares(transform_family)
def transform_reduce(x: Any, transform: Any, op: Any, *, out: Any = None, dtype: Any = None, init: Any = None,
                     num_items: Any = None, stream: Any = None, policy: Policy = None, axis: Any = None,
                     ) -> Any:  # fmt: skip
    """Combine what `transform` makes of the items of `x`; see `reduce`.

    Args: transform: item -> a number or a tuple of numbers; float16 items reach it as float32, structured ones as
    tuples of their fields.
    Returns: the combination, in `dtype`, else for add and mul in the dtypes of `sum`, from what `transform` returns on,
    so that bools are counted; else in the dtype that `transform` returns; a tuple as a record with fields f0, f1,
    and so on.
    Example: transform_reduce(x, lambda v: v * v, operator.add) of 1, 2, 3, 4 -> 30.
    """
    if axis is not None:
        refuse_axis("transform_reduce")
    return run(transform_family(transform, op), x, out, dtype, init, num_items, stream, policy)
