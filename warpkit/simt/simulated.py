"""What the Python bodies of the waist stand on in the simulator: typed scalars, parts of values, bits."""

import math
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from ..errors import LaneFault
from . import simulator
from .refusals import refuse
from .simulated_kinds import DTYPES, is_vector, kind_of_value
from .simulator.scalars import INDEXES, NUMBERS

int32, int64, uint32, uint64 = map(simulator.converter, (np.int32, np.int64, np.uint32, np.uint64))


def absent_lane(lane: int, far: int) -> Any:
    """Report that `lane` reads lane `far`, which does not take part."""
    raise LaneFault(f"lane {lane} reads lane {far}, which does not take part")


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


INTEGERS = {make for make, dtype in DTYPES.items() if dtype.kind in "iu"}
_casts: dict[tuple[type, type], Callable[[Any], Any]] = {}  # scalar types for which `as_kind` has been decided


def as_kind(value: Any, result: Any) -> Any:
    """Return `result` in the type of `value`."""
    kind, given = type(value), type(result)
    if kind is given and kind in DTYPES:
        return result
    if kind in INTEGERS and given in INDEXES:
        return NUMBERS[kind][index(result)]
    known = _casts.get((kind, given))
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
    to, of = kind_of_value(value), kind_of_value(result)
    if not to.is_numeric or not of.is_numeric:
        _refuse_result(value, result)
    ranks = {"bool": 0, "signed": 1, "unsigned": 1, "float": 2, "complex": 3}
    if ranks[to.family] < ranks[of.family] and (to.family, of.family) not in (
        ("bool", "signed"),
        ("bool", "unsigned"),
    ):
        _refuse_result(value, result)
    if all(isinstance(number, np.generic | bool | int | float | complex) for number in (value, result)):
        _casts[kind, given] = simulator.converter(dtype_of(value))
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
    key = op, type(a), type(b)
    if key in _passed_operands:
        return
    key = op, _types(a), _types(b)
    if key not in _passed_operands:
        from . import rules

        rules.check_operands(op, kind_of_value(a), kind_of_value(b))
        _passed_operands.add(key)


def _types(value):
    return tuple(map(_types, value)) if isinstance(value, tuple) else type(value)


def componentwise(function, a, b):
    """Apply `function` to each pair of components and return the results in the type of `a`."""
    if type(a) in DTYPES:
        return as_kind(a, function(a, as_kind(a, b)))
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
