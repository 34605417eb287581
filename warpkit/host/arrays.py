"""Arguments in: device arrays of any framework, numbers, tuples and records, each read once and cheaply.

`READERS` has a reader for every type met so far. A type is met by the name of the module that it, or what it derives
from, was defined in; nothing is imported for it.

An argument keeps its owner alive as long as somebody holds the argument. Whether that is long enough is a question of
streams: see `streams_order.keep`.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays_frameworks import NUMBA, Quick, Readers, cupy_readers, read_jax, torch_readers
from .arrays_interface import read_by_dlpack, read_by_interface
from .arrays_layout import Argument, Framework, Layout, Name, device_argument, refuse, shown
from .arrays_values import SCALARS, read_number, read_record, read_tuple, refuse_host, refuse_other

Reader = Callable[[Any, Name], Argument]


def as_argument(value: Any, name: Name) -> Argument:
    """Return what a launch needs of one argument.

    Args: value: a device array (numba, CuPy, torch, JAX, anything with `__cuda_array_interface__` or DLPack), a number,
    a record, a tuple of these, or an `Argument`.  name: of the parameter, or its place: refusals start with it.
    Errors: Refused, one sentence.
    """
    reader = READERS.get(type(value))
    if reader is None:
        reader = _meet(value)
    return reader(value, name)


def as_output(value: Any, name: Name) -> Argument:
    """Return `as_argument` of an array that kernels write to; refuse one that they must not, or cannot."""
    found = as_argument(value, name)
    if not found.is_array:
        what = "a number or a tuple" if isinstance(value, Argument) else f"of type {type(value).__name__}"
        refuse(name, f"is {what}, and results go to a device array.")
    if found.readonly:
        refuse(name, "is read-only, and results would go to it: pass an array that may be written, or a copy.")
    if found.strides is not None and any(not step and extent > 1 for step, extent in zip(found.strides, found.shape)):
        refuse(name, f"has elements that share memory (strides {found.strides}): pass an array with room for each.")
    return found


def _read_tuple(value: tuple[Any, ...], name: Name) -> Argument:
    return read_tuple(value, name, as_argument)


def _read_any(value: Any, name: Name) -> Argument:
    """Read an object of any type by the protocols; the array interface first, since some refuse the others."""
    try:
        interface = getattr(value, "__cuda_array_interface__", None)
    except Exception as error:
        refuse(name, f"({type(value).__name__}) gives no __cuda_array_interface__: {str(error).rstrip('.')}.")
    if interface is not None:
        return read_by_interface(value, interface, name)
    if hasattr(type(value), "__dlpack__"):
        return read_by_dlpack(value, name)
    refuse_other(value, name)


QUICK: dict[type, Callable[[Any], Quick]] = {}  # of types that can be read quickly
READERS: dict[type, Reader] = {
    **SCALARS,
    tuple: _read_tuple,
    Argument: lambda value, name: value,
    np.ndarray: refuse_host,
}


def _meet(value: Any) -> Reader:
    """Return the reader of a type seen for the first time; those of known packages are remembered."""
    kind = type(value)
    for base in kind.__mro__:
        package = base.__module__.partition(".")[0]
        if package == "numba" and hasattr(base, "__cuda_ndarray__"):
            return _remember(kind, NUMBA)
        if package == "torch" and base.__name__ == "Tensor":
            return _remember(kind, torch_readers(sys.modules["torch"]))
        if package == "cupy" and base.__name__ == "ndarray":
            return _remember(kind, cupy_readers(sys.modules["cupy"]))
        if package in ("jax", "jaxlib") and hasattr(base, "__dlpack__"):
            return READERS.setdefault(kind, read_jax)
    if isinstance(value, np.ndarray):
        return refuse_host
    if isinstance(value, tuple):
        return _read_tuple
    if isinstance(value, np.void):
        return read_record
    if isinstance(value, np.generic):
        return read_number
    for base, reader in SCALARS.items():  # enumerations and other kinds of int
        if isinstance(value, base):
            return reader
    return _read_any


def _remember(kind: type, readers: Readers) -> Reader:
    QUICK[kind] = readers.quick
    return READERS.setdefault(kind, readers.read)


__all__ = [
    "QUICK",
    "READERS",
    "Argument",
    "Framework",
    "Layout",
    "as_argument",
    "as_output",
    "device_argument",
    "shown",
]
