"""What one element of an in-kernel array is: how it lies in memory, and how it becomes a value and back.

Arrays hold scalars, records, CUDA vectors and (nested) tuples; NumPy has a dtype for each, this file the rest.
"""

from operator import index

import numpy as np

from .numbers import RANGES, wrapped
from .scalars import INDEXES, NUMBERS, REALS, SCALARS

POISON = 0xCD


class Element:
    """An array's element type: `dtype` in memory, `load` from NumPy's item, `store` to what NumPy takes."""

    __slots__ = ("dtype", "kind", "load", "store", "unit")

    def __init__(self, dtype, kind, load, store, unit=None):
        self.dtype, self.kind, self.load, self.store = dtype, kind, load, store
        self.unit = unit or _smallest(dtype)


def element_of(kind):
    """Return the Element for a dtype, a Python, NumPy or Numba type, a CUDA vector type or a tuple of these."""
    found = _known.get(kind)
    if found is None:
        found = _known[kind] = kind if isinstance(kind, Element) else _element(kind)
    return found


def _element(kind):
    if isinstance(kind, tuple):
        return _tuple([element_of(part) for part in kind])
    if isinstance(kind, type) and hasattr(kind, "num_elements"):
        return _vector(kind)
    dtype = _numpy_dtype(kind)
    if isinstance(dtype, tuple):
        return element_of(dtype)
    return _plain(dtype)


def poison(array):
    """Fill fresh memory with what no program should rely on: NaN in floats, 0xCD bytes elsewhere."""
    dtype = array.dtype
    if dtype.names:
        for name in dtype.names:
            poison(array[name])
    elif dtype.kind in "fc":
        array[...] = np.nan
    elif dtype.kind == "b":
        array[...] = True
    elif dtype.kind in "iu":
        array[...] = np.frombuffer(bytes([POISON] * dtype.itemsize), dtype)[0]


_known: dict = {}


def _plain(dtype):
    make = SCALARS.get(dtype.type)
    if dtype.names or dtype.subdtype or make is None:
        return Element(dtype, "record" if dtype.names else "other", lambda value: value, lambda value: value)
    if dtype.kind in "iu":
        return Element(dtype, "scalar", NUMBERS[make].__getitem__, _integer_store(dtype.type))
    if dtype.kind == "b":
        return Element(dtype, "scalar", bool, bool)
    if dtype.kind == "f":
        return Element(dtype, "scalar", NUMBERS[make].__getitem__, _float_store)
    return Element(dtype, "scalar", make, lambda value: value)


def _integer_store(kind):
    low, high, _ = RANGES[kind]

    def store(value):
        if type(value) in INDEXES:
            whole = index(value)
            return whole if low <= whole <= high else wrapped(whole, kind)
        if isinstance(value, (int, np.integer, np.bool_)):
            return wrapped(int(value), kind)
        if isinstance(value, (float, np.floating)):
            return wrapped(value, kind)
        raise TypeError(f"a {type(value).__name__} cannot be stored as {kind.__name__}")

    return store


def _float_store(value):
    if type(value) in REALS:
        return value
    if isinstance(value, (complex, np.complexfloating)):
        raise TypeError(f"a {type(value).__name__} cannot be stored as a float; take .real")
    return value


def _vector(kind):
    """A CUDA vector lies in memory as a record of its components."""
    component = np.dtype(kind.component)
    names = kind.attributes[: kind.num_elements]
    dtype = np.dtype([(name, component) for name in names])
    store = element_of(component).store

    def unpack(value):
        return tuple(store(part) for part in value.as_list())

    return Element(dtype, "value", lambda value: kind(*value.item()), unpack, component.itemsize)


def _tuple(parts):
    dtype = np.dtype([(f"f{number}", part.dtype) for number, part in enumerate(parts)])

    loads, plain = [part.load for part in parts], all(part.kind == "scalar" for part in parts)

    def load(value):
        items = value.item() if plain else [value[number] for number in range(len(loads))]
        return tuple([load(item) for load, item in zip(loads, items, strict=True)])

    def store(value):
        if len(value) != len(parts):
            raise TypeError(f"a tuple of {len(value)} cannot be stored in one of {len(parts)}")
        return tuple([part.store(item) for part, item in zip(parts, value, strict=True)])

    return Element(dtype, "value", load, store)


def _numpy_dtype(kind):
    """Return the NumPy dtype of a Numba type, or a tuple of types; NumPy and Python types as they are."""
    if hasattr(kind, "mangling_args") or hasattr(kind, "_code"):  # a numba.types.Type
        if hasattr(kind, "types") and isinstance(kind.types, tuple):
            return kind.types
        if hasattr(kind, "count") and hasattr(kind, "dtype"):
            return (kind.dtype,) * kind.count
        from numba.cuda.np import numpy_support

        return numpy_support.as_dtype(kind)
    return np.dtype(kind)


def _smallest(dtype):
    if dtype.names:
        sizes = {_smallest(dtype[name]) for name in dtype.names} | {dtype.fields[name][1] for name in dtype.names}
        return int(np.gcd.reduce([size for size in (*sizes, dtype.itemsize) if size] or [1]))
    return _smallest(dtype.subdtype[0]) if dtype.subdtype else dtype.itemsize
