"""What the Python bodies of the waist stand on in the simulator: typed scalars, kinds of values, bits."""

import functools
import inspect
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import LaneFault, Refused
from . import simulator
from .kinds import Kind, kind_of_dtype
from .refusals import refuse

# The kinds and dtypes of the scalars that kernels compute with: asked for more often than anything else.
DTYPES = {make: make(0).dtype for make in simulator.SCALARS.values() if make is not bool}
_KINDS = {make: kind_of_dtype(dtype) for make, dtype in DTYPES.items()}

int32, int64, uint32, uint64 = map(simulator.converter, (np.int32, np.int64, np.uint32, np.uint64))


def absent_lane(lane: int, far: int) -> Any:
    """Report that `lane` reads lane `far`, which does not take part."""
    raise LaneFault(f"lane {lane} reads lane {far}, which does not take part")


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
        key = tuple(map(_key, given))
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


def leaves_of(value: Any) -> list:
    """Return the scalars in a value, in order."""
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves_of(part)]
    return value.as_list() if is_vector(value) else [value]


def components_of(value: Any) -> list:
    """Return the components of a tuple, a vector or a record; nothing for anything else."""
    if isinstance(value, tuple):
        return list(value)
    if is_vector(value):
        return value.as_list()
    return [value[name] for name in value.dtype.names] if kind_of_value(value).family == "record" else []


_casts: dict[tuple[type, type], Callable[[Any], Any]] = {}  # scalar types for which `as_kind` has been decided


def as_kind(value: Any, result: Any) -> Any:
    """Return `result` in the type of `value`."""
    known = _casts.get((type(value), type(result)))
    if known is not None:
        return known(result)
    if isinstance(value, tuple) or is_vector(value):
        mine, theirs = components_of(value), components_of(result)
        if len(mine) != len(theirs):
            _refuse_result(value, result)
        parts = [as_kind(a, b) for a, b in zip(mine, theirs, strict=True)]
        return tuple(parts) if isinstance(value, tuple) else type(value)(*parts)
    if kind_of_value(value).family == "record":
        return _as_record(value, result)
    to, given = kind_of_value(value), kind_of_value(result)
    if not to.is_numeric or not given.is_numeric:
        _refuse_result(value, result)
    ranks = {"bool": 0, "signed": 1, "unsigned": 1, "float": 2, "complex": 3}
    if ranks[to.family] < ranks[given.family] and (to.family, given.family) not in (
        ("bool", "signed"),
        ("bool", "unsigned"),
    ):
        _refuse_result(value, result)
    if all(isinstance(number, np.generic | bool | int | float | complex) for number in (value, result)):
        _casts[type(value), type(result)] = simulator.converter(dtype_of(value))
    return simulator.scalar(result, dtype_of(value))


def _as_record(value: Any, result: Any) -> Any:
    """Return `result`, a record or one component per field, as a record with the dtype of `value`."""
    if getattr(result, "dtype", None) == value.dtype:
        return simulator.held_record(value, result)
    names, theirs = value.dtype.names, components_of(result)
    if len(names) != len(theirs):
        _refuse_result(value, result)
    own = simulator.held_record(value, np.zeros(1, value.dtype)[0])
    for name, part in zip(names, theirs, strict=True):
        own[name] = as_kind(own[name], part)
    return own


def dtype_of(value: Any) -> np.dtype:
    """Return the NumPy dtype of a scalar: Python's own numbers are Numba's 64-bit ones."""
    known = DTYPES.get(type(value))
    return known or (value.dtype if isinstance(value, np.generic) else np.dtype(type(value)))


def _refuse_result(value: Any, result: Any) -> None:
    to, given = kind_of_value(value).name, kind_of_value(result).name
    refuse(f"the operator returns {given} for {to}; return {to}.")


_passed_operands: set = set()


def check_operands(op, a, b) -> None:
    """Refuse, as the compiler does, what the built-in operator `op` is not defined on."""
    key = op, _types(a), _types(b)
    if key not in _passed_operands:
        from . import rules

        rules.check_operands(op, kind_of_value(a), kind_of_value(b))
        _passed_operands.add(key)


def _types(value):
    return tuple(map(_types, value)) if isinstance(value, tuple) else type(value)


def componentwise(function, a, b):
    """Apply `function` to each pair of components and return the results in the type of `a`."""
    if isinstance(a, tuple) or is_vector(a):
        theirs = list(b) if isinstance(b, tuple) else b.as_list()
        mine = list(a) if isinstance(a, tuple) else a.as_list()
        parts = tuple(componentwise(function, x, y) for x, y in zip(mine, theirs, strict=True))
        return as_kind(a, parts)
    return as_kind(a, function(a, as_kind(a, b)))


def is_nan(value: Any) -> bool:
    """Return True for NaN."""
    return bool(value != value)


def bits_of(value: Any) -> int:
    """Return the bits of a scalar as an integer."""
    return int.from_bytes(np.asarray(value, dtype_of(value)).tobytes(), "little")


def same_bits(a: Any, b: Any) -> bool:
    """Return True when two values of one type have the same bits."""
    if kind_of_value(a).family == "record":
        return simulator.record_bytes(a) == simulator.record_bytes(b)
    return [bits_of(x) for x in leaves_of(a)] == [bits_of(y) for y in leaves_of(b)]


def identity_of(meaning: Any, value: Any) -> Any:
    """Return the identity `meaning` (see ops.IDENTITIES) in the type of `value`."""
    if isinstance(value, tuple) or is_vector(value):
        return as_kind(
            value,
            tuple(identity_of(meaning, leaf) for leaf in (value if isinstance(value, tuple) else value.as_list())),
        )
    dtype = dtype_of(value)
    if isinstance(meaning, str):
        meaning = _extreme(meaning, dtype)
    return simulator.scalar(meaning, dtype)


def _extreme(meaning: str, dtype: np.dtype) -> Any:
    if dtype.kind == "f":
        return {"lowest": -math.inf, "highest": math.inf}[meaning]
    lowest, highest = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    all_ones = -1 if dtype.kind == "i" else highest
    return {"lowest": lowest, "highest": highest, "all ones": all_ones}[meaning]
