"""Scans of device arrays: what every item and all before it add up to, in one launch and one pass over the data.

All of them share what follows. `x` is a device array of numba, CuPy, torch, JAX or of anything with an array interface,
of any shape and strides: its items are scanned in C order; up to four axes that do not line up are read in place.

Args (keyword-only): out: a device array of as many elements as are scanned, or as `x` has: in C order or of one axis,
strided or not; `x` itself, or memory of its own. It is returned, nothing waits and nothing is allocated, and the call
may be captured into a graph; its dtype may differ (NumPy's "same_kind"; integers wrap).
dtype: what the scan is computed in, and the dtype of a new array.  init: comes before the first item, once, and decides
no dtype.  reverse: from the last item to the first, as if `x` and the result were turned around.
num_items: how many items of `x` count, from the first on: an int, or a device array of one integer, which is read on
the device, where more than `x` has are all of them and a negative number none.
stream: any stream object or handle; None: the current one of the arrays' framework, else the legacy default stream.
policy: a `ScanPolicy` instead of the measured one.  axis: refused; whole arrays only.
Returns: `out`, or a new one-dimensional device array, of as many elements as are scanned (of `x`, where their number is
read on the device: what lies behind them is not written). Of no items: nothing is written.
Order: op(earlier, later) on items that exist, and on `init`; it need not be commutative.
Deterministic: integers, and whatever is exact. Which partial sums of floats are combined first depends on timing, so
that their last bits may differ from call to call; nor is a scan of non-negative floats always monotonic: pass
dtype=np.float64 where that matters.
Errors: Refused (a TypeError) or ValueError in one sentence; MemoryError when there is no room for scratch, with `out`
as it was.
"""

from typing import Any

import numpy as np

from ..errors import Refused, shown
from .calls import Job, prepares
from .scan_call import read, run
from .scan_families import CUMPROD, CUMSUM, ScanFamily, scan_family
from .scan_policy import ScanPolicy

__all__ = ["ScanPolicy", "cumprod", "cumsum", "exclusive_scan", "inclusive_scan"]

Policy = ScanPolicy | None


def direction(name: str, axis: Any, reverse: Any) -> bool:
    """Return `reverse` as a bool; refuse what is none, and `axis=`."""
    if axis is not None:
        raise Refused(f"{name}: axis= does not exist; the whole array is scanned, so pass one row at a time.")
    if not isinstance(reverse, bool | np.bool_):
        raise Refused(f"{name}: reverse must be True or False, not {shown(reverse)}.")
    return bool(reverse)


def read_named(family: ScanFamily) -> Any:
    """Return the reader of `cumsum` or `cumprod`."""

    def reader(
        x: Any, *, out: Any = None, dtype: Any = None, init: Any = None, reverse: bool = False, num_items: Any = None,
        stream: Any = None, policy: Policy = None, axis: Any = None,
    ) -> Job:  # fmt: skip
        if axis is not None or reverse is not False:
            reverse = direction(family.name, axis, reverse)
        return read(family, x, out, dtype, init, reverse, num_items, stream, policy)

    return reader


def read_scan(name: str) -> Any:
    """Return the reader of a scan by any operator."""

    def reader(
        x: Any, op: Any, *, out: Any = None, dtype: Any = None, init: Any = None, reverse: bool = False,
        num_items: Any = None, stream: Any = None, policy: Policy = None, axis: Any = None,
    ) -> Job:  # fmt: skip
        if axis is not None or reverse is not False:
            reverse = direction(name, axis, reverse)
        return read(scan_family(name, op), x, out, dtype, init, reverse, num_items, stream, policy)

    return reader


@prepares(read_named(CUMSUM), "x", "out", "init", "num_items")
def cumsum(x: Any, *, out: Any = None, dtype: Any = None, init: Any = None, reverse: bool = False,
           num_items: Any = None, stream: Any = None, policy: Policy = None, axis: Any = None) -> Any:  # fmt: skip
    """Add up the items of `x` up to each of them.

    Computed in int64 for bool and signed integers, uint64 for unsigned ones, where they wrap; float16 in float32, the
    results being float16 again; otherwise in the dtype of `x`, structured arrays field by field.
    Returns: the running sums, in that dtype.
    Example: 1, 2, 3 -> 1, 3, 6; init=10 -> 11, 13, 16; reverse=True -> 6, 5, 3.
    """
    if axis is not None or reverse is not False:
        reverse = direction("cumsum", axis, reverse)
    return run(CUMSUM, x, out, dtype, init, reverse, num_items, stream, policy)


@prepares(read_named(CUMPROD), "x", "out", "init", "num_items")
def cumprod(x: Any, *, out: Any = None, dtype: Any = None, init: Any = None, reverse: bool = False,
            num_items: Any = None, stream: Any = None, policy: Policy = None, axis: Any = None) -> Any:  # fmt: skip
    """Multiply the items of `x` up to each of them; computed in the dtypes of `cumsum`.

    Returns: the running products.
    """
    if axis is not None or reverse is not False:
        reverse = direction("cumprod", axis, reverse)
    return run(CUMPROD, x, out, dtype, init, reverse, num_items, stream, policy)


@prepares(read_scan("inclusive_scan"), "x", "out", "init", "num_items")
def inclusive_scan(x: Any, op: Any, *, out: Any = None, dtype: Any = None, init: Any = None, reverse: bool = False,
                   num_items: Any = None, stream: Any = None, policy: Policy = None, axis: Any = None,
                   ) -> Any:  # fmt: skip
    """Combine the items of `x` up to each of them, by any associative operator.

    Args: op: (earlier, later) -> combined: a Python function, a lambda, a device function, an operator of warpkit,
    `operator` or NumPy, min or max. It may capture numbers and device arrays. Structured items reach it as tuples of
    their fields, and it returns such tuples. Not associative, and so without a meaning here: `a * g + b`; scan the
    pairs (g, b) by `(p[0] * q[0], p[1] * q[0] + q[1])` instead, whose second part is that recurrence.
    dtype: default: that of `cumsum` for add and mul, else that of `x`; float16 reaches a user's function as float32.
    Returns: the combinations, in that dtype; a wider integer or float that `op` returns is converted to it, a float for
    an integer is refused.
    Example: the later one unless it is 0, of 0, 3, 0, 5, 0 -> 0, 3, 3, 5, 5; reverse=True -> 3, 3, 5, 5, 0.
    """
    if axis is not None or reverse is not False:
        reverse = direction("inclusive_scan", axis, reverse)
    return run(scan_family("inclusive_scan", op), x, out, dtype, init, reverse, num_items, stream, policy)


@prepares(read_scan("exclusive_scan"), "x", "out", "init", "num_items")
def exclusive_scan(x: Any, op: Any, *, out: Any = None, dtype: Any = None, init: Any = None, reverse: bool = False,
                   num_items: Any = None, stream: Any = None, policy: Policy = None, axis: Any = None,
                   ) -> Any:  # fmt: skip
    """Combine `init` and the items of `x` before each of them; see `inclusive_scan`.

    Args: init: what the first item gets; None: the identity of a built-in operator.
    Errors: ValueError for a user's operator without init.
    Example: add, of 5, 1, 2 -> 0, 5, 6; init=100 -> 100, 105, 106.
    """
    if axis is not None or reverse is not False:
        reverse = direction("exclusive_scan", axis, reverse)
    return run(scan_family("exclusive_scan", op), x, out, dtype, init, reverse, num_items, stream, policy)
