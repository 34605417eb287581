"""What a function returns in the simulator: it is asked, since its values carry the types that a GPU would give them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba.cuda.simulator.kernel import FakeCUDAKernel

from ....errors import Refused
from ..scalars import dtype_of, scalar


def returned_dtype(function: Any, dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """Return the dtype of what a device or Python function returns for one value of each dtype.

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
    return _dtype_of(result, plain)


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
