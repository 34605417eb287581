"""What a function returns in the simulator: it is called, and its result carries the type that a GPU would give it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray
from numba.cuda.simulator.kernel import FakeCUDAKernel

from ....errors import Refused
from ...identity import identity
from ...specs import Returned, Spec
from .. import stream_order
from ..scalars import dtype_of, scalar
from .kernels import Kernel


def returned_dtype(function: Any, dtypes: Sequence[np.dtype[Any]]) -> Returned:
    """Return what a device or Python function returns for one value of each dtype.

    A structured dtype stands for the tuple of its fields, as argument and as result. The function is called with
    zeros, and where it does not take these, with ones.
    Errors: Refused for what is neither a number nor a tuple of numbers; the function's own.
    """
    plain = function.fn if isinstance(function, FakeCUDAKernel) else function
    with np.errstate(all="ignore"):
        try:
            result = plain(*[_value(dtype, 0) for dtype in dtypes])
        except (ValueError, ZeroDivisionError, OverflowError):
            result = plain(*[_value(dtype, 1) for dtype in dtypes])
    return Returned(_dtype_of(result, plain), storable=False)


def returned_by(function: Any, specs: Sequence[Spec], payloads: Sequence[Any]) -> Returned:
    """Return what a Python function returns for these arguments, called once in a kernel.

    A tuple of numbers is a structured dtype. What the call writes to its arrays is undone.
    Errors: Refused for what is neither a number nor a tuple of numbers; the function's own.
    """
    results: list[Any] = []

    def probe(*args: Any) -> None:
        results.append(function(*args))

    arrays = [held for held in _arrays([*payloads, *identity(function).arrays]) if held.flags.writeable]
    saved = [held.copy() for held in arrays]
    try:
        with stream_order.ignored():  # a GPU asks the compiler
            Kernel(cuda.jit(probe)).launch((1, 1, 1), (1, 1, 1), 0, 0, payloads)
    finally:
        for held, before in zip(arrays, saved):
            held[...] = before
    return Returned(_dtype_of(results[0], function), storable=False)


def _arrays(values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """Return the host memory of all arrays among values and in tuples of them."""
    found = []
    for value in values:
        if isinstance(value, tuple):
            found += _arrays(value)
        elif isinstance(value, np.ndarray | FakeCUDAArray):
            found.append(value if isinstance(value, np.ndarray) else value._ary)
    return found


def _value(dtype: np.dtype[Any], number: int) -> Any:
    return tuple([_value(dtype[name], number) for name in dtype.names]) if dtype.names else scalar(number, dtype)


def _dtype_of(value: Any, function: Any) -> np.dtype[Any]:
    if isinstance(value, tuple) and value:
        return np.dtype([(f"f{k}", _dtype_of(part, function)) for k, part in enumerate(value)])
    found = dtype_of(value)
    if found is None or found.kind not in "biufc":
        name = getattr(function, "__name__", function)
        raise Refused(f"{name} returns a {type(value).__name__}; return a number or a tuple of numbers.")
    return found
