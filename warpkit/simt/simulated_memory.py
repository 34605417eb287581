"""What the memory operations of the waist stand on in the simulator: ordered and vector access, values as bytes."""

import functools
import struct
import sys
from operator import index as as_int
from typing import Any

import numpy as np

from ..errors import BoundsFault
from . import simulator
from .refusals import refuse
from .simulated import dtype_of, leaves_of
from .simulated_kinds import DTYPES, is_vector, kind_of_value
from .simulator.paths import call_path
from .simulator.scalars import NUMBERS


def call_site() -> Any:
    """Return what tells one call of the operation that asks from another: the call path of its caller."""
    return call_path(sys._getframe(2)).place


def address(array: Any, index: Any) -> int:
    """Return the address of `array[index]` in the host's memory."""
    start, _, strides = array._state_
    return start + int(index) * strides[0]


def read_one(name: str, array: Any, index: Any, order: str) -> Any:
    """Return `array[index]`, read as one."""
    _check_element(name, array, index)
    return simulator.read(array, index, order)


def write_one(name: str, array: Any, index: Any, value: Any, order: str) -> None:
    """Store `value` in `array[index]` as one."""
    from . import rules  # which imports the operators, which import this module

    _check_element(name, array, index)
    (item,), given = kind_of_value(array).parts or (None,), kind_of_value(value)
    if item is not None and item.family != "record" and not rules.goes_into(item, given):
        refuse(f"{name}: a {given.name} does not go into an array of {item.name}.")
    simulator.write(array, index, value, order)


_passed: set = set()  # combinations of arrays and indices that have been checked


def _check_element(name: str, array: Any, index: Any) -> None:
    element, ndim = getattr(array, "_element", None), getattr(array, "ndim", 0)
    key = name, element, ndim, type(index)
    if element is None or key not in _passed:
        from . import rules

        rules.check_element(name, kind_of_value(array), ndim, kind_of_value(index))
        rules.check_whole(name, array.itemsize)
        _passed.add(key)
    if as_int(index) < 0:
        raise BoundsFault(f"{name}: index {int(index)} lies outside the array; here a negative index does not wrap")


def read_run(items: Any, at: Any, source: Any, index: Any, nbytes: int) -> None:
    """Copy `nbytes` from `source[index:]` to `items[at:]`, whose address must be a multiple of `nbytes`."""
    _check_run("load_vector", items, source, index, nbytes)
    for k in range(nbytes // source.itemsize):
        items[int(at) + k] = source[int(index) + k]


def write_run(items: Any, at: Any, target: Any, index: Any, nbytes: int) -> None:
    """Copy `nbytes` from `items[at:]` to `target[index:]`, whose address must be a multiple of `nbytes`."""
    _check_run("store_vector", items, target, index, nbytes)
    for k in range(nbytes // target.itemsize):
        target[int(index) + k] = items[int(at) + k]


def _check_run(name: str, items: Any, array: Any, index: Any, nbytes: int) -> None:
    mine, other = getattr(items, "_element", None), getattr(array, "_element", None)
    strides = getattr(array, "strides", None)
    lined = strides is None or strides[-1:] == (array.itemsize,) or array.size < 2  # one item follows itself
    key = name, mine, getattr(items, "ndim", 0), other, strides, lined, nbytes
    if mine is None or other is None or key not in _passed:
        from . import rules

        kinds = kind_of_value(items), kind_of_value(array)
        alike = all(getattr(a, "ndim", 0) == 1 for a in (items, array)) and items.dtype == array.dtype
        rules.check_vector(name, *kinds, alike, not alike or lined, nbytes)
        rules.check_vector_items(name, (kinds[1].parts or kinds)[0].name, array.itemsize, nbytes)
        _passed.add(key)
    if address(array, index) % nbytes:
        raise BoundsFault(f"an access of {nbytes} bytes at index {int(index)} is not aligned to them")


# How numbers lie in memory. A NaN is left to NumPy, which keeps its bits.
_LAYOUTS = {
    make: struct.Struct("<" + {"i": "bhiq", "u": "BHIQ", "f": " efd"}[dtype.kind][dtype.itemsize.bit_length() - 1])
    for make, dtype in DTYPES.items()
    if dtype.kind in "iuf"
}
_WORDS = {make: -(-layout.size // 4) for make, layout in _LAYOUTS.items()}


class Flat:
    """How tuples of numbers of these types lie in memory: the widest first."""

    def __init__(self, kinds: tuple[type, ...]) -> None:
        self.order = sorted(range(len(kinds)), key=lambda at: -_LAYOUTS[kinds[at]].size)
        self.layout = struct.Struct("<" + "".join([_LAYOUTS[kinds[at]].format[1:] for at in self.order]))
        self.real = [at for at, kind in enumerate(kinds) if DTYPES[kind].kind == "f"]
        self.numbers = [NUMBERS[kinds[at]] for at in self.order]

    def pack(self, value: tuple) -> bytes | None:
        """Return the bytes of a tuple; None where one of its numbers is a NaN."""
        for at in self.real:
            if value[at] != value[at]:
                return None
        return self.layout.pack(*[value[at] for at in self.order])

    def unpack(self, data: bytes) -> tuple | None:
        """Return the tuple that such bytes are of; None where one of its numbers is a NaN."""
        parts = self.layout.unpack_from(data)
        found: list = list(parts)
        for at, numbers, number in zip(self.order, self.numbers, parts, strict=True):
            if number != number:
                return None
            found[at] = numbers[number]
        return tuple(found)


@functools.cache
def _flat(*kinds: type) -> Flat | None:
    """Return how tuples of these types lie in memory, where all are numbers."""
    return Flat(kinds) if kinds and all(kind in _LAYOUTS for kind in kinds) else None


def packed(value: Any) -> bytes:
    """Return the bytes of any value that moves, leaf after leaf, the widest first so that none is padded."""
    layout = _LAYOUTS.get(type(value))
    if layout is not None and value == value:
        return layout.pack(value)
    flat = _flat(*map(type, value)) if type(value) is tuple else None
    data = None if flat is None else flat.pack(value)
    if data is not None:
        return data
    leaves = leaves_of(value)
    return b"".join([_bytes_of(leaves[at]) for at in _widest_first(leaves)])


def unpacked(data: bytes, like: Any) -> Any:
    """Return the value of the type of `like` whose bytes `packed` returned."""
    layout = _LAYOUTS.get(type(like))
    if layout is not None:
        number = layout.unpack_from(data)[0]
        if number == number:
            return NUMBERS[type(like)][number]
    flat = _flat(*map(type, like)) if type(like) is tuple else None
    whole = None if flat is None else flat.unpack(data)
    if whole is not None:
        return whole
    leaves, offset = leaves_of(like), 0
    found = list(leaves)
    for at in _widest_first(leaves):
        size = _size_of(leaves[at])
        found[at] = _from_bytes(data[offset : offset + size], leaves[at])
        offset += size
    return _rebuilt(like, iter(found))


def words_in(value: Any) -> int:
    """Return how many 32-bit words hold a value."""
    known = _WORDS.get(type(value))
    if known is not None:
        return known
    flat = _flat(*map(type, value)) if type(value) is tuple else None
    return -(-(len(packed(value)) if flat is None else flat.layout.size) // 4)


def to_words(value: Any) -> list[int]:
    """Return the 32-bit words that hold a value."""
    data = packed(value)
    if len(data) <= 4:
        return [int.from_bytes(data, "little")]
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]


def from_words(words: list, like: Any) -> Any:
    """Return the value of the type of `like` that the 32-bit words hold."""
    return unpacked(b"".join([as_int(word).to_bytes(4, "little") for word in words]), like)


def _widest_first(leaves: list) -> list[int]:
    return [0] if len(leaves) == 1 else sorted(range(len(leaves)), key=lambda at: -_size_of(leaves[at]))


def _size_of(leaf: Any) -> int:
    return (leaf.dtype if kind_of_value(leaf).family == "record" else dtype_of(leaf)).itemsize


def _bytes_of(leaf: Any) -> bytes:
    layout = _LAYOUTS.get(type(leaf))
    if layout is not None and leaf == leaf:
        return layout.pack(leaf)
    if kind_of_value(leaf).family == "record":
        return simulator.record_bytes(leaf)
    return np.asarray(leaf, dtype_of(leaf)).tobytes()


def _from_bytes(data: bytes, like: Any) -> Any:
    layout = _LAYOUTS.get(type(like))
    if layout is not None:
        number = layout.unpack(data)[0]
        if number == number:
            return simulator.scalar(number, type(like))
    if kind_of_value(like).family == "record":
        return simulator.held_record(like, np.frombuffer(data, like.dtype)[0])
    return simulator.scalar(np.frombuffer(data, dtype_of(like))[0], dtype_of(like))


def _rebuilt(like: Any, leaves: Any) -> Any:
    if isinstance(like, tuple):
        return tuple(_rebuilt(part, leaves) for part in like)
    if is_vector(like):
        return type(like)(*[next(leaves) for _ in like.as_list()])
    return next(leaves)
