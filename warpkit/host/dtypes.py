"""Dtypes of results: NumPy's for accumulators, with float16 accumulated in float32; and what goes where."""

import functools
from typing import Any

import numpy as np

from ..errors import Refused, shown
from ..simt.kinds import Kind, kind_of_dtype
from ..simt.specs import Spec, scalar_spec, tuple_spec

WIDENED = {"b": np.dtype(np.int64), "i": np.dtype(np.int64), "u": np.dtype(np.uint64)}


@functools.cache
def widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that a sum or a product of `dtype` is formed in; of a structured one field by field."""
    if dtype.names:
        return np.dtype([(name, widened(dtype[name])) for name in dtype.names])
    if dtype.kind in WIDENED and dtype.itemsize < 8:
        return WIDENED[dtype.kind]
    return single(dtype)


@functools.cache
def single(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return `dtype` with float16 replaced by float32; of a structured one without holes."""
    if dtype.names:
        return np.dtype([(name, single(dtype[name])) for name in dtype.names])
    return np.dtype(np.float32) if dtype == np.float16 else dtype


@functools.cache
def packed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a structured dtype without holes, any other as it is."""
    return np.dtype([(name, packed(dtype[name])) for name in dtype.names]) if dtype.names else dtype


def as_dtype(name: str, dtype: Any) -> np.dtype[Any]:
    """Return a user's `dtype=`; Refused for one that holds no numbers."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise Refused(f"{name}: dtype must be a NumPy dtype, not {dtype!r}.") from None
    if not holds_numbers(found):
        raise Refused(f"{name}: dtype must be a number type or a structured dtype of numbers, not {found}.")
    return packed(found)


def check_fields(name: str, item: np.dtype[Any]) -> None:
    """Refuse records of which a user's function would get a field that is no number."""
    if item.names and not holds_numbers(item):
        raise Refused(
            f"{name}: a function gets records as tuples of numbers, and {item} has other fields; pass x['name']."
        )


def holds_numbers(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype is a number that a GPU has, or a record of such numbers."""
    if dtype.names:
        return all(holds_numbers(dtype[name]) for name in dtype.names)
    return dtype.kind in "biufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8)


def kind_of(dtype: np.dtype[Any]) -> Kind:
    """Return the kind of a value of `dtype`, a structured one being the tuple of its fields."""
    if dtype.names:
        parts = tuple(kind_of(dtype[name]) for name in dtype.names)
        return Kind(str(dtype), "tuple", parts=parts)
    return kind_of_dtype(dtype)


def type_of(dtype: np.dtype[Any]) -> Any:
    """Return what `local_array` takes for values of `dtype`: a NumPy type, of a record the tuple of its fields'."""
    return tuple([type_of(dtype[name]) for name in dtype.names]) if dtype.names else dtype.type


@functools.cache
def spec_of(dtype: np.dtype[Any]) -> Spec:
    """Return the spec of a value of `dtype` as an argument, a structured one being the tuple of its fields."""
    if dtype.names:
        return tuple_spec(tuple(spec_of(dtype[name]) for name in dtype.names))
    return scalar_spec(dtype)


def initial(name: str, init: Any, total: np.dtype[Any]) -> Any:
    """Return a user's `init` as a value of `total`, exactly where it is an integer: it decides no dtype itself.

    Returns: a NumPy scalar, of a structured `total` the tuple of the fields' values.
    """
    if total.names:
        fields: Any = init if isinstance(init, tuple | list | np.void) else ()
        if len(fields) != len(total.names):
            raise Refused(
                f"{name}: init must have one value for each of the fields {total.names}, not be {shown(init)}."
            )
        return tuple([initial(name, value, total[field]) for field, value in zip(total.names, fields)])
    try:
        given = np.asarray(init)
    except (TypeError, ValueError):  # arrays of devices, of no shape
        raise Refused(f"{name}: init must be a number, not {shown(init)}.") from None
    if isinstance(init, int) and given.dtype.kind == "O":  # beyond 64 bits
        if total.kind in "fc" and abs(init) <= int(np.finfo(total).max):
            return total.type(init)
        raise ValueError(f"{name}: init {shown(init)} is outside of {total}, in which this is computed; pass dtype=.")
    if given.ndim or given.dtype.kind not in "biufc":
        raise Refused(f"{name}: init must be a number, not {shown(init)}.")
    ranks = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
    if ranks[given.dtype.kind] > ranks[total.kind]:
        raise Refused(f"{name}: init {shown(init)} does not go into {total}, in which this is computed; pass dtype=.")
    if total.kind in "iu" and not np.iinfo(total).min <= int(given) <= np.iinfo(total).max:
        raise ValueError(f"{name}: init {shown(init)} is outside of {total}, in which this is computed; pass dtype=.")
    with np.errstate(over="ignore"):
        value = total.type(given)
    if np.isfinite(given) and not np.isfinite(value):
        raise ValueError(f"{name}: init {shown(init)} is outside of {total}, in which this is computed; pass dtype=.")
    return value
