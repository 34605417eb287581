"""The kinds of simulated values, and the checks of a function's arguments that ask for them."""

import functools
import inspect
import types
from typing import Any

import numpy as np

from ..errors import Refused
from . import simulator
from .kinds import Kind, kind_of_dtype

# The kinds and dtypes of the scalars that kernels compute with: asked for more often than anything else.
DTYPES = {make: make(0).dtype for make in simulator.SCALARS.values() if make is not bool}
_KINDS = {make: kind_of_dtype(dtype) for make, dtype in DTYPES.items()}


def checked(function, check, host=False):
    """Return `function` with `check` run on the kinds of its arguments, once per combination of kinds.

    Where it is no function for the host, and called there, it says that whatever it is given.
    """
    parameters = list(inspect.signature(function).parameters.values())
    names, defaults = [p.name for p in parameters], [p.default for p in parameters]
    count, needed = len(names), defaults.count(inspect.Parameter.empty)
    passed: set = set()

    @functools.wraps(function)
    def call(*args, **kwargs):
        given = [*args[:count], *defaults[len(args) :]]
        if kwargs:
            given = [kwargs.get(name, item) for name, item in zip(names, given, strict=True)]
        if len(args) < needed and any(item is inspect.Parameter.empty for item in given):
            return function(*args, **kwargs)  # whose own TypeError names what is missing
        key = tuple([kind if (kind := type(item)) in _KINDS else _key(item) for item in given])
        if key not in passed:
            try:
                check(*map(kind_of_value, given))
            except Refused:
                if not host and simulator.called_by_host():
                    simulator.thread(function.__name__)
                raise
            passed.add(key)
        return function(*args, **kwargs)

    return call


def _key(value):
    """Return what decides the kind of `value`; constants and functions are their own."""
    kind = type(value)
    if kind in _KINDS:
        return kind
    if kind is tuple:
        return tuple(map(_key, value))
    if kind is int or callable(value):
        return value
    return getattr(value, "dtype", None), _ndim(value), kind


def _ndim(value):
    return value.ndim if hasattr(type(value), "ndim") else 0


def kind_of_value(value: Any) -> Kind:
    """Return the kind of a simulated value, as `numba_cuda.kinds.kind_of` does for a Numba type."""
    known = _KINDS.get(type(value))
    if known is not None:
        return known
    if type(value) is int:
        return Kind("int64", "signed", 64, constant=value)
    if isinstance(value, (bool, np.bool_)):
        return Kind("bool", "bool", 8)
    if isinstance(value, np.generic) and not isinstance(value, np.void):
        return kind_of_dtype(value.dtype)
    if isinstance(value, float):
        return kind_of_dtype(np.dtype(np.float64))
    if isinstance(value, complex):
        return kind_of_dtype(np.dtype(np.complex128))
    if isinstance(value, tuple):
        parts = tuple(kind_of_value(part) for part in value)
        return Kind(f"({', '.join(part.name for part in parts)})", "tuple", parts=parts)
    if is_vector(value):
        return Kind(value.name, "vector", parts=tuple(kind_of_value(part) for part in value.as_list()))
    if value is None:
        return Kind("None", "none")
    if callable(value):
        return _function_kind(value)
    dtype = getattr(value, "dtype", None)
    if dtype is not None and _ndim(value) == 0:
        return kind_of_dtype(dtype)
    if dtype is not None:
        return _array_kind(getattr(value, "_element", None) if value.size else None, dtype, value.ndim)
    return Kind(type(value).__name__, "other")


def _function_kind(value: Any) -> Kind:
    """Return the kind of a callable; a user's plain function of a module is none that a kernel may pass on a GPU."""
    function = getattr(value, "py_func", value)
    name = getattr(function, "__name__", str(value))
    own = isinstance(value, types.FunctionType) and not value.__module__.startswith("warpkit.")
    if own and "<locals>" not in value.__qualname__:
        return Kind(name, "undecorated", function=value)
    return Kind(name, "function", function=value)


@functools.cache  # NumPy spells a dtype out anew each time
def _array_kind(element: Any, dtype: np.dtype, ndim: int) -> Kind:
    """Return the kind of an in-kernel array, of which vectors and tuples are records in memory."""
    if element is None:
        parts: tuple[Kind, ...] = ()
    elif element.kind == "value":
        parts = (kind_of_value(element.load(np.zeros(1, element.dtype)[0])),)
    else:
        parts = (kind_of_dtype(element.dtype),)
    return Kind(f"array of {dtype}", "array", parts=parts, ndim=ndim)


def is_vector(value: Any) -> bool:
    """Return True for a simulated CUDA vector."""
    kind = type(value)
    known = _vectors.get(kind)
    if known is None:
        known = _vectors[kind] = hasattr(kind, "as_list")  # of the type: a record would look for a field of that name
    return known


_vectors: dict[type, bool] = {}
