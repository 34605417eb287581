"""Readers of what is no array: numbers, records, tuples; and what is said of values that cannot be arguments."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..simt import machine
from ..simt.specs import scalar_spec, tuple_spec
from .arrays_layout import Argument, Framework, Layout, Name, check_dtype, refuse

Reader = Callable[[Any, Name], Argument]

LEAST, BEYOND = -(2**63), 2**63


class Parts(Framework):
    """A tuple with arrays in it: its owner is the tuple of its parts, each with device and framework of its own."""

    name = "tuple"


PARTS = Parts()


def _layout(dtype: Any) -> Layout:
    return Layout(scalar_spec(dtype), np.dtype(dtype), (), None)


def _scalar_reader(dtype: Any) -> Reader:
    """Return the reader of numbers of one NumPy type."""
    layout, spec, new, pack = _layout(dtype), scalar_spec(dtype), tuple.__new__, machine.scalar_payload
    return lambda value, name: new(Argument, (spec, pack(spec, value), 0, layout, -1, None, None, None))


_int64 = _scalar_reader(np.int64)


def read_int(value: int, name: Name) -> Argument:
    """Read a Python int as int64."""
    if not LEAST <= value < BEYOND:
        refuse(name, f"is {value}, which int64 does not hold: pass np.uint64(x), or a float.")
    return _int64(value, name)


def read_record(value: np.void, name: Name) -> Argument:
    """Read a record, an element of a structured array."""
    if value.dtype.names is None:
        refuse(name, f"is {value.dtype.itemsize} bytes without a type: pass a record of a structured dtype.")
    check_dtype(value.dtype, name)
    dtype = np.dtype((np.void, value.dtype))  # a record array's elements have a dtype of their own
    spec = scalar_spec(dtype)
    payload, owner = machine.record_payload(value)
    return Argument(spec, payload, 0, _layout(dtype), owner=owner)


def read_number(value: np.generic, name: Name) -> Argument:
    """Read a NumPy scalar of a type that has no reader yet, which no kernel takes."""
    check_dtype(value.dtype, name)
    return _scalar_reader(value.dtype)(value, name)


SCALARS: dict[type, Reader] = {
    bool: _scalar_reader(np.bool_),
    int: read_int,
    float: _scalar_reader(np.float64),
    complex: _scalar_reader(np.complex128),
    np.void: read_record,
    np.record: read_record,
}
SCALARS.update({np.dtype(code).type: _scalar_reader(code) for code in "?bhilqBHILQefdFD"})


def refuse_host(array: Any, name: Name) -> NoReturn:
    """Refuse a NumPy array."""
    refuse(
        name,
        f"is a NumPy array ({array.dtype}, shape {array.shape}), in host memory: copy it to the GPU first, with "
        "numba.cuda.to_device(x), cupy.asarray(x) or torch.from_numpy(x).cuda().",
    )


def refuse_other(value: Any, name: Name) -> NoReturn:
    """Refuse what is nothing that a kernel takes."""
    what = "None" if value is None else f"of type {type(value).__name__}"
    if isinstance(name, str):  # not of a kernel's argument, which has a place: of a function that takes arrays
        instead = "a device array, as numba.cuda.to_device makes them"
    else:
        instead = (
            "a tuple or a device array" if isinstance(value, list) else "device arrays, numbers, tuples or records"
        )
    refuse(name, f"is {what}, which no kernel takes: pass {instead}.")


def read_tuple(value: tuple[Any, ...], name: Name, read: Reader) -> Argument:
    """Read a tuple, nested ones too, part by part; a named tuple arrives as a plain one."""
    parts = tuple([read(part, (name, place)) for place, part in enumerate(value)])
    spec = tuple_spec(tuple([part.spec for part in parts]))
    payload = machine.tuple_payload([part.payload for part in parts])
    framework = PARTS if any(part.is_array or part.framework is not None for part in parts) else None
    return Argument(spec, payload, 0, TUPLE, framework=framework, owner=parts)


TUPLE = _layout(np.int8)
