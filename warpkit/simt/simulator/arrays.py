"""Arrays as a kernel sees them: bounds checked, promoting, watched.

`x[i]` of a plain array is a promoting scalar, of a structured array a reference to the record in memory, of an array
of CUDA vectors or tuples a value. Slices and rows are views. Stores wrap.
"""

import sys
from operator import attrgetter
from operator import index as position

import numpy as np

from .elements import element_of
from .held import Held, address_of, held
from .indexing import Indexed
from .progress import refuel
from .records import Record, record_data
from .scalars import INDEXES
from .shadow import switch_point


class KernelArray(Indexed):
    """An array inside a kernel. `watch` is its Buffer when accesses are checked, `buffer` when they can be at all."""

    __slots__ = ()

    def __new__(cls, data, launch, buffer=None, watched=False, base=0, element=None):
        made = held(data, launch, buffer, watched, base, element)  # without `__setattr__`, which is slow
        made.__class__ = cls
        return made

    def __getitem__(self, index):
        if self._line and type(index) in INDEXES:
            at = position(index)
            if not 0 <= at < self._length:
                at = self._wrapped(at, 0, index)
            launch = self._launch
            launch.fuel -= 1
            if launch.fuel < 0:
                refuel(launch)
            if self._watch is not None:  # of arrays that other threads see
                if self._exploring:
                    switch_point(launch)
                self._watch.load(self._base + at * self._step, self._data.itemsize, sys._getframe(1))
            return self._load(self._item(at))
        return self._read(index, sys._getframe(1))

    def __setitem__(self, index, value):
        if self._line and type(index) in INDEXES:
            at = position(index)
            if not 0 <= at < self._length:
                at = self._wrapped(at, 0, index)
            self._launch.version += 1
            bits = self._store(value)
            if self._watch is not None:
                if self._exploring:
                    switch_point(self._launch)
                self._watch.store(self._base + at * self._step, self._data.itemsize, bits, sys._getframe(1))
            self._data[at] = bits
            return
        self._write(index, value, sys._getframe(1))

    def _read(self, index, frame):
        if isinstance(index, str):
            return self._field(index)
        if type(index) is slice and self._data.ndim == 1:
            return self._view(self._data[index], self._base + index.indices(self._length)[0] * self._step)
        key, whole = self._key(index)
        if not whole:
            return self._view(self._data[key])
        if self._element.kind == "record":
            return Record(self._view(self._data[(*key, np.newaxis)], self._offset(key)))
        self._launch.fuel -= 1
        if self._launch.fuel < 0:
            refuel(self._launch)
        if self._watch is not None:
            self._touch(key, None, frame)
        return self._element.load(self._data.item(key) if self._element.kind == "scalar" else self._data[key])

    def _write(self, index, value, frame):
        launch = self._launch
        launch.version += 1
        if isinstance(index, str):
            self._field(index)[...] = value
            return
        key, whole = (index, False) if type(index) is slice else self._key(index)
        if whole:
            bits = record_data(value) if self._element.kind == "record" else self._element.store(value)
            if self._watch is not None:
                self._touch(key, (bits,), frame)
            self._data[key] = bits
            return
        target = self._read(index, frame)
        target._touch_all(True, frame)
        target._data[...] = _plain_data(value)

    def _touch(self, key, written, frame):
        """Report one element's access to the watch; `written` is (bits,) for a store."""
        if self._exploring:
            switch_point(self._launch)
        if written is None:
            self._watch.load(self._offset(key), self._data.itemsize, frame)
        else:
            bits = written[0]
            self._watch.store(self._offset(key), self._data.itemsize, getattr(bits, "tobytes", lambda: bits)(), frame)

    def _touch_all(self, write, frame):
        """Report an access to every element of this view."""
        if self._exploring:
            switch_point(self._launch)
        if self._watch is None:
            return
        data = self._data
        if data.flags.c_contiguous:
            places, size = [self._base][: data.size], data.nbytes
        else:
            places, size = map(self._offset, np.ndindex(*data.shape)), data.itemsize
        for place in places:
            if write:
                self._watch.store(place, size, None, frame)
            else:
                self._watch.load(place, size, frame)

    def _view(self, data, base=None):
        """Return an in-kernel array of part of this one's memory; `base`: its first byte in the Buffer, where known."""
        dtype = data.dtype
        element = self._element if dtype is self._data.dtype or dtype == self._data.dtype else None
        if base is None:
            base = self._base
            if self._buffer is not None:
                base += address_of(data) - self._address
        return KernelArray(data, self._launch, self._buffer, self._watch is not None, base, element)

    def _field(self, name):
        dtype = self._data.dtype
        if not dtype.names or name not in dtype.names:
            raise AttributeError(f"an array of {dtype} has no field or attribute {name!r}")
        return self._view(self._data[name], self._base + dtype.fields[name][1])

    def __getattr__(self, name):
        return self._field(name)

    def __setattr__(self, name, value):
        if name in Held.__slots__:
            object.__setattr__(self, name, value)
        else:
            self._field(name)[...] = value

    def __len__(self):
        return self._length

    def __iter__(self):
        return (self[at] for at in range(self._length))

    def __bool__(self):
        raise TypeError("an array has no truth value")

    def __repr__(self):
        return f"in-kernel {self._data!r}"

    def __array__(self, dtype=None, copy=None):
        self._touch_all(False, sys._getframe(1))
        return np.array(self._data, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        frame = sys._getframe(1)
        out = keywords.get("out") or ()
        for item in inputs:
            if isinstance(item, KernelArray):
                item._touch_all(False, frame)
        for item in out:
            if isinstance(item, KernelArray):
                item._launch.version += 1
                item._touch_all(True, frame)
        if out:
            keywords["out"] = tuple(_plain_data(item) for item in out)
        return getattr(ufunc, method)(*(_plain_data(item) for item in inputs), **keywords)

    def reshape(self, *shape):
        """Return a view of another shape."""
        view = self._data.view()
        view.shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        return self._view(view)

    def ravel(self):
        """Return a flat view of a contiguous array."""
        return self.reshape(-1)

    def view(self, dtype):
        """Return a view of the same bytes as another dtype."""
        return self._view(self._data.view(element_of(dtype).dtype))

    def transpose(self):
        """Return a view with the axes reversed."""
        return self._view(self._data.T)

    T = property(transpose)
    shape, strides = property(attrgetter("_data.shape")), property(attrgetter("_data.strides"))
    size, ndim = property(attrgetter("_data.size")), property(attrgetter("_data.ndim"))
    dtype, nbytes = property(attrgetter("_data.dtype")), property(attrgetter("_data.nbytes"))
    itemsize = property(attrgetter("_data.itemsize"))
    _state_ = property(lambda self: (self._address, self._data.shape, self._data.strides))

    @property
    def _address(self):
        """Where the first element lies in the host's memory."""
        if self._start is None:
            self._start = address_of(self._data)
        return self._start


def _plain_data(value):
    return value._data if isinstance(value, KernelArray) else record_data(value)
