"""Dtypes of reductions: of totals, of means; and what goes where."""

import functools
from typing import Any

import numpy as np

from ..errors import Refused
from ..host.dtypes import as_dtype, check_fields, holds_numbers, kind_of, packed, single, widened
from ..simt import ops
from ..simt.rules import check_operand


@functools.cache
def mean_total(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that a mean is formed in: exact for integers of up to 16 bits, else that of its result."""
    return np.dtype(np.int64) if dtype.kind in "biu" and dtype.itemsize <= 2 else mean_result(dtype)


@functools.cache
def mean_result(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a mean."""
    return np.dtype(np.float64) if dtype.kind in "biu" else single(dtype)


def total_of(name: str, item: np.dtype[Any], op: Any, dtype: Any) -> np.dtype[Any]:
    """Return the dtype of the totals of a reduction by `op` (of warpkit's table, else a user's); `dtype`: the user's.

    Errors: Refused for an operator that is not defined on it, for a `dtype` that the items do not go into.
    """
    if op is None:
        check_fields(name, item)
    if dtype is not None:
        total = as_dtype(name, dtype)
        check_goes_into(name, "dtype", item, total)
    elif op is ops.add or op is ops.mul:
        total = widened(item)
    else:
        total = packed(item) if op is not None else single(item)
    if op is not None:
        check_operand(op, kind_of(total), name)
    return total


def check_holds(name: str, target: np.dtype[Any], last: int, what: str) -> None:
    """Refuse an `out` that does not hold numbers from −1 to `last`, which is `what`."""
    if target.kind != "i" or last > np.iinfo(target).max:
        raise Refused(f"{name}: out must be of signed integers that hold {last}, {what}, not of {target}; use int64.")


def goes_into(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Return whether a value can be stored as `target`: NumPy's "same_kind", field by field."""
    if source.names or target.names:
        pairs = zip(source.names or (), target.names or ())
        same = len(source.names or ()) == len(target.names or ())
        return same and all(goes_into(source[a], target[b]) for a, b in pairs)
    return holds_numbers(target) and np.can_cast(source, target, "same_kind")


def check_goes_into(name: str, what: str, source: np.dtype[Any], target: np.dtype[Any]) -> None:
    """Refuse to store a value of `source` as `target` where that loses more than precision or range."""
    if not goes_into(source, target):
        raise Refused(f"{name}: {source} does not go into {what} of {target}; choose another, or dtype=.")
