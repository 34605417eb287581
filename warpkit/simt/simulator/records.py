"""Records: `x[i]` of a structured array refers to memory, a held record is a value of its own."""

import sys

import numpy as np

from .elements import element_of


class Record:
    """One record; fields by attribute or by name. `view` is a one-element in-kernel array, or a NumPy array it owns."""

    __slots__ = ("_view",)

    def __init__(self, view):
        object.__setattr__(self, "_view", view)

    def __getattr__(self, name):
        return self._get(name, sys._getframe(1))

    def __getitem__(self, name):
        return self._get(name, sys._getframe(1))

    def __setattr__(self, name, value):
        self._set(name, value, sys._getframe(1))

    def __setitem__(self, name, value):
        self._set(name, value, sys._getframe(1))

    def _get(self, name, frame):
        if isinstance(name, (int, np.integer)):
            name = self.dtype.names[name]
        if name not in self.dtype.names:
            raise AttributeError(f"a record of {self.dtype} has no field {name!r}")
        field = self._view[name]
        if isinstance(field, np.ndarray):
            return _held_field(field)
        return field[0] if field._data.ndim > 1 else field._read((0,), frame)

    def _set(self, name, value, frame):
        if isinstance(name, (int, np.integer)):
            name = self.dtype.names[name]
        if name not in self.dtype.names:
            raise AttributeError(f"a record of {self.dtype} has no field {name!r}")
        field = self._view[name]
        if isinstance(field, np.ndarray):
            field[0] = record_data(value) if field.dtype.names else element_of(field.dtype).store(value)
        else:
            field._write((0,) if field._data.ndim == 1 else (0, Ellipsis), value, frame)

    dtype = property(lambda self: self._view.dtype)
    _state_ = property(lambda self: record_bytes(self) if isinstance(self._view, np.ndarray) else self._view._state_)

    def __repr__(self):
        return f"record {record_data(self)!r}"


def record_data(value):
    """Return a record as the NumPy value in its memory; anything else unchanged."""
    if not isinstance(value, Record):
        return value
    view = value._view
    if isinstance(view, np.ndarray):
        return view[0]
    view._touch_all(False, sys._getframe(1))
    return view._data[0].copy()


def record_bytes(value):
    """Return the bytes of a record, padding included."""
    return record_data(value).tobytes()


def held_record(value, result=None):
    """Return `result` (or `value` itself) as a record of its own, with the dtype of `value`."""
    data = record_data(value if result is None else result)
    own = np.empty(1, value.dtype)
    if data.dtype != own.dtype:
        raise TypeError(f"a record of {data.dtype} is not one of {own.dtype}")
    own.view(np.uint8)[:] = np.frombuffer(data.tobytes(), np.uint8)
    return Record(own)


def _held_field(field):
    if field.ndim > 1 or field.dtype.kind == "V":
        return Record(field) if field.ndim == 1 else field[0]
    return element_of(field.dtype).load(field.item(0))
