"""What captured arrays and decorated functions look like, whichever package made them."""

from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused
from .constants import constant_term
from .specs import ArraySpec, array_spec

_OPTIONS = ("debug", "lineinfo", "opt", "fastmath", "inline", "forceinline", "_fastmath", "_debug")


class Placeholder:
    """Stands for a captured array while code is compiled: its position among those of its function."""

    __slots__ = ("position", "spec")

    def __init__(self, position: int, spec: ArraySpec) -> None:
        self.position, self.spec = position, spec


class Bound:
    """Stands for a function that captures arrays while code is compiled: the function, and placeholders for these."""

    __slots__ = ("arrays", "function")

    def __init__(self, function: Any, arrays: tuple[Placeholder, ...]) -> None:
        self.function, self.arrays = function, arrays


class Jitted(NamedTuple):
    """The Python function behind a decorator of Numba's, and the options that decide how it is compiled, as a term."""

    function: Any
    options: Any


def is_jitted(value: Any) -> bool:
    """Return True for what a decorator of Numba's, or of its simulator's, made."""
    return type(value).__module__.startswith("numba") and (hasattr(value, "py_func") or hasattr(value, "fn"))


def jitted(value: Any) -> Jitted:
    """Return what a decorator of Numba's was given."""
    options = getattr(value, "targetoptions", None) or vars(value)
    function = getattr(value, "py_func", None) or value.fn
    return Jitted(function, (type(value).__name__, *[constant_term(options.get(name)) for name in _OPTIONS]))


def is_array(value: Any) -> bool:
    """Return True for a NumPy array and for what says that it lives on a device."""
    if isinstance(value, np.ndarray | Placeholder) or hasattr(type(value), "__cuda_ndarray__"):
        return True
    if not hasattr(type(value), "__cuda_array_interface__"):
        return False
    try:
        return value.__cuda_array_interface__ is not None
    except AttributeError:
        return False  # a tensor that lives on the host
    except Exception as error:
        raise Refused(f"a kernel cannot capture this {type(value).__name__}: {error}") from None


def spec_of(array: Any) -> ArraySpec:
    """Return how a kernel takes a captured array; one of NumPy's as a copy, hence contiguous and read-only."""
    if isinstance(array, np.ndarray):
        return array_spec(array.dtype, array.ndim, True, True)
    if isinstance(array, Placeholder):
        return array.spec
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:  # a device array of the simulator
        return array_spec(array.dtype, array.ndim, array.is_c_contiguous())
    shape, strides = interface["shape"], interface.get("strides")
    own = getattr(array, "dtype", None)  # numba's arrays say nothing of fields in their interface
    dtype = own if isinstance(own, np.dtype) and own.names else _dtype(interface)
    contiguous = strides is None or _in_c_order(shape, strides, dtype.itemsize)
    return array_spec(dtype, len(shape), contiguous, bool(interface["data"][1]))


def _dtype(interface: dict[str, Any]) -> np.dtype[Any]:
    """Return the dtype of an array, with the fields of a structured one."""
    described = interface.get("descr")
    if described and np.dtype(interface["typestr"]).kind == "V":
        return np.dtype([tuple(field) for field in described])
    return np.dtype(interface["typestr"])


def _in_c_order(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Return True where the strides of all axes longer than one are those of C order, or nothing is there."""
    expected = itemsize
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != expected:
            return 0 in shape
        expected *= extent
    return True
