"""A function of the user's for every item of device arrays: one launch, every item read once and written once."""

import functools
import operator
from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ..errors import Refused
from ..host.arrays import Argument, as_argument, as_output
from ..host.arrays_layout import remember
from ..host.dtypes import as_dtype, check_fields, single
from ..host.identity import identity
from ..host.parallel_calls import Calls, check_arguments, check_function
from ..host.returned import returned_dtype
from ..simt import machine
from ..simt.captured import is_jitted
from .calls import Job, check_shape, launched, prepares
from .reduce_rules import check_goes_into
from .transform_plan import Elementwise, Request, TransformPolicy, as_policy, elementwise_job
from .transform_sides import HALF, Side, in_shape

NAME = "transform"
OPERATORS = {np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul}  # kernels have no such ufuncs
_returned: dict[Any, np.dtype[Any]] = {}


def read_transform(
    fn: Any, arrays: Sequence[Any] = (), *, out: Any = None, dtype: Any = None, num_items: Any = None,
    stream: Any = None, policy: TransformPolicy | None = None,
) -> Job:  # fmt: skip
    """Decide a call of `transform`."""
    if not callable(fn):
        raise Refused(f"{NAME}: the function comes first, {NAME}(fn, x), and a {type(fn).__name__} is none.")
    arguments = [_argument(array, place) for place, array in enumerate(arrays)]
    function = _function(fn, len(arguments))
    known = identity(function)
    calls = Calls((machine.shared_key(function, known.key),), known.arrays, (function,))
    targets = None if out is None else list(out) if isinstance(out, tuple | list) else [out]

    def read() -> Request:
        shape = _shape_of(arguments)
        check_function(NAME, "the function", function)
        check_arguments(NAME, "the function", function, len(arguments))
        for argument in arguments:
            check_fields(NAME, argument.dtype)
        made = _dtype_returned(function, known.key, [argument.dtype for argument in arguments])
        several = bool(made.names) and _wants_several(out, dtype)
        dtypes = _outputs(made, several, targets, dtype, shape)
        sides = [in_shape(one, shape, f"argument {k}") if one.is_array else Side(one, None)
                 for k, one in enumerate(arguments)]  # fmt: skip
        return Request(Elementwise(NAME, function, calls, several), sides, shape, dtypes)

    key = (calls.keys, known.key, isinstance(out, tuple | list)) if dtype is None else None
    job = elementwise_job(
        NAME, read, key, arguments, calls, targets, num_items, stream, as_policy(NAME, policy)
    )  # fmt: skip
    result = out if out is not None else job.result if isinstance(job.result, tuple) else job.result[0]
    return job._replace(result=result, outputs={"out": result, "dtype": None})


def _argument(value: Any, place: int) -> Argument:
    """Return an array or a number; a float16 as float32, which is what the function gets."""
    found = None if isinstance(value, list) else as_argument(value, place)
    if found is not None and found.is_array:
        return found
    if found is None or isinstance(value, tuple | np.void) or found.dtype.names:
        raise Refused(f"{NAME}: argument {place} must be a device array or a number, not a {type(value).__name__}.")
    return as_argument(np.float32(value), place) if found.dtype == HALF else found


def _shape_of(arguments: Sequence[Argument]) -> tuple[int, ...]:
    """Return the shape of the result: NumPy's."""
    shapes = [argument.shape for argument in arguments if argument.is_array]
    if not shapes:
        raise Refused(f"{NAME}: at least one argument behind the function must be a device array.")
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"{NAME}: arrays of shapes {', '.join(map(str, shapes))} do not go together: axes of one item repeat, "
            "others must agree."
        ) from None


def _function(fn: Any, values: int) -> Any:
    """Return the function that a kernel calls with so many values."""
    if type(fn) is FunctionType or is_jitted(fn):
        return fn
    if isinstance(fn, np.ufunc) and fn.nin != values:
        raise Refused(f"{NAME}: {fn.__name__} takes {fn.nin} values, and {values} arguments follow it.")
    if values not in _CALLING:
        check_function(NAME, "the function", fn)
        raise Refused(f"{NAME}: write a def or a lambda of {values} values that calls {fn!r}.")
    return _wrapped(fn, values)


_CALLING: dict[int, Callable[[Any], Callable[..., Any]]] = {
    1: lambda fn: lambda a: fn(a),
    2: lambda fn: lambda a, b: fn(a, b),
    3: lambda fn: lambda a, b, c: fn(a, b, c),
}


@functools.lru_cache(256)
def _wrapped(fn: Any, values: int) -> Callable[..., Any]:
    """Return a Python function for what else kernels can call: numpy.sqrt, float, math.hypot."""
    if not isinstance(fn, np.ufunc | type):
        check_function(NAME, "the function", fn)
    return _CALLING[values](OPERATORS.get(fn, fn))


def _dtype_returned(function: Any, known: Hashable, dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """Return the dtype of what the function returns, of a tuple a structured one; `known`: its identity's key."""
    given = tuple([single(dtype) for dtype in dtypes])
    key = known, given, machine.current_device()
    found = _returned.get(key)
    return found if found is not None else remember(_returned, key, returned_dtype(function, given))


def _wants_several(out: Any, dtype: Any) -> bool:
    """Return whether the parts of a tuple go to one array each, and not to the fields of records."""
    if out is not None:
        return isinstance(out, tuple | list)
    return dtype is None or isinstance(dtype, tuple)


def _outputs(
    made: np.dtype[Any], several: bool, out: Sequence[Any] | None, dtype: Any, shape: tuple[int, ...]
) -> list[np.dtype[Any]]:
    """Return the dtypes of the outputs; refuse what results do not go into."""
    parts = [made[name] for name in made.names or ()] if several else [made]
    if out is None:
        wanted = [None] * len(parts) if dtype is None else list(dtype) if isinstance(dtype, tuple) else [dtype]
        _check_number(parts, len(wanted), "dtype", several)
        dtypes = [part if given is None else as_dtype(NAME, given) for part, given in zip(parts, wanted)]
        for part, into in zip(parts, dtypes):
            check_goes_into(NAME, "dtype", part, into)
        return dtypes
    if dtype is not None:
        raise Refused(f"{NAME}: dtype= has no meaning beside out=, which says it.")
    _check_number(parts, len(out), "out", several)
    targets = [as_output(target, "out") for target in out]
    for part, target in zip(parts, targets):
        check_shape(NAME, target, shape)
        check_goes_into(NAME, "out", part, target.dtype)
    return [target.dtype for target in targets]


def _check_number(parts: Sequence[Any], given: int, option: str, several: bool) -> None:
    if len(parts) != given:
        returned = f"a tuple of {len(parts)} results" if several else "one result"
        raise Refused(f"{NAME}: the function returns {returned}, and {option}= has {given}; give as many.")


@prepares(read_transform, "arrays", "out", "num_items")
def transform(
    fn: Any, *arrays: Any, out: Any = None, dtype: Any = None, num_items: Any = None, stream: Any = None,
    policy: TransformPolicy | None = None,
) -> Any:  # fmt: skip
    """Return what `fn` makes of every item of one or several device arrays.

    Args: fn: item of each array -> a number, or a tuple of numbers: a Python function, a lambda, a device function, a
    NumPy ufunc, a type, or what `math` and `operator` have. It may capture numbers and device arrays, which are seen as
    they are at each call. float16 items reach it as float32, structured ones as tuples of their fields.
    arrays: device arrays of any dtypes and strides, and numbers, at least one array; their shapes go together as
    NumPy's do.
    out: a device array of the result's shape; for a tuple of results a tuple of arrays, or one structured array of as
    many fields. It may be an input itself, and no other array that shares memory with one; its dtype may differ
    (NumPy's "same_kind"; integers wrap). It is returned, nothing waits and nothing is allocated.
    dtype: of a new array; a tuple of them for a tuple of results, a structured one to get records.
    num_items: how many items, in C order, are computed: an int, or a device array of one integer, which is read on the
    device, where more than there are is all of them and a negative number none; what is behind them stays as it is, in
    a new array unwritten.  stream: any stream object or handle; None: the current one of the arrays' framework, else
    the legacy default stream.  policy: a `TransformPolicy` instead of the measured one.
    Returns: `out`, or a new device array in C order, of the dtype that Numba infers for what `fn` returns: not that of
    NumPy, so float32 and Python's 2.0 make float64; for a tuple of results a tuple of arrays.
    Cost: one launch; every item is read once and written once, 16 bytes at a time where arrays are contiguous.
    Errors: Refused (a TypeError) or ValueError in one sentence; the compiler's for what it does not take.
    Example: transform(lambda a, b: a * a + b, x, 1) of 1, 2, 3 -> 2, 5, 10.
    """
    return launched(read_transform(fn, arrays, out=out, dtype=dtype, num_items=num_items, stream=stream, policy=policy))
