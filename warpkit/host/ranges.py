"""Ranges of one to four dimensions: what they mean and how many items they hold.

Every dimension means what Python's `range` means. All counting is done here, once per range, in Python's integers, so
that nothing overflows; `ranges_walk.py` turns the counts into what a kernel multiplies by.
"""

import functools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

MOST_DIMENSIONS = 4
MOST_ITEMS = 1 << 63
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1  # indices are int64


class Dimension(NamedTuple):
    """The indices `begin`, `begin + step`, …: `length` of them."""

    begin: int
    step: int
    length: int

    @property
    def last(self) -> int:
        """The last index of a dimension that is not empty."""
        return self.begin + self.step * (self.length - 1)


Dimensions = tuple[Dimension, ...]


class Range:
    """What to loop over: `begin`, `end` and `step`, each an integer or a sequence of one per dimension, last fastest.

    Args: as of Python's `range`, whose meaning each dimension has: `end` is not reached, a negative step counts down, a
    range that ends before it begins is empty. An integer beside sequences counts for every dimension.
    Errors: ValueError for a step of 0, for no or more than four dimensions, for sequences of different lengths, for
    more than 2**63 items and for indices beyond int64; TypeError for what is no integer.
    Example: Range((1, 2), (4, 7), (2, 3)) -> (1, 2), (1, 5), (3, 2), (3, 5).
    """

    __slots__ = ("begin", "dimensions", "end", "step")

    def __init__(self, begin: int | Sequence[int], end: int | Sequence[int], step: int | Sequence[int] = 1) -> None:
        given = {"begin": begin, "end": end, "step": step}
        lengths = {name: len(part) for name, part in given.items() if isinstance(part, tuple | list)}
        if len(set(lengths.values())) > 1:
            said = " and ".join(f"{length} for {name}" for name, length in lengths.items())
            raise ValueError(f"Range: begin, end and step need one value per dimension each, not {said}.")
        ndim = max(lengths.values(), default=1)
        columns = [tuple(part) if isinstance(part, tuple | list) else (part,) * ndim for part in given.values()]
        self.begin: Any
        self.end: Any
        self.step: Any
        self.begin, self.end, self.step = columns if lengths else [column[0] for column in columns]
        self.dimensions = _checked(_dimension(*map(_integer, entry)) for entry in zip(*columns))

    def __repr__(self) -> str:
        return f"Range({self.begin}, {self.end}, {self.step})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and other.dimensions == self.dimensions

    def __hash__(self) -> int:
        return hash(self.dimensions)


def dimensions_of(given: Any) -> Dimensions:
    """Return the dimensions of anything that stands for a range, the last one fastest.

    Args: given: an integer n (0 … n − 1), a Python `range`, a `Range`, or a tuple with one entry per dimension, each an
    integer, a Python `range` or `(begin, end)` or `(begin, end, step)`.
    Errors: see `Range`.
    """
    kind = type(given)
    if kind is int or kind is range or (kind is tuple and {*map(type, given)} == {int}):
        return _plain(given)
    if kind is Range:
        return given.dimensions
    if isinstance(given, tuple):
        return _checked(map(_entry, given))
    if isinstance(given, range | Range):  # a subclass
        return given.dimensions if isinstance(given, Range) else _checked([_entry(given)])
    return _plain(_integer(given))


def num_items(dimensions: Dimensions) -> int:
    """Return how many items there are."""
    return math.prod(dimension.length for dimension in dimensions)


@functools.lru_cache(512)
def _plain(given: int | range | tuple[int, ...]) -> Dimensions:
    return _checked(map(_entry, given if isinstance(given, tuple) else [given]))


def _entry(entry: Any) -> Dimension:
    """Return one dimension of a tuple."""
    kind = type(entry)
    if kind is int:
        return Dimension(0, 1, entry if entry > 0 else 0)
    if isinstance(entry, range):
        return _dimension(entry.start, entry.stop, entry.step)
    if isinstance(entry, tuple) and len(entry) in (2, 3):
        return _dimension(*map(_integer, entry))
    if isinstance(entry, Range) and len(entry.dimensions) == 1:
        return entry.dimensions[0]
    if isinstance(entry, tuple | list | Range):
        raise ValueError(
            f"a dimension of a range is an integer, a range, (begin, end) or (begin, end, step), not {entry!r}."
        )
    return _dimension(0, _integer(entry), 1)


def _dimension(begin: int, end: int, step: int = 1) -> Dimension:
    if step == 0:
        raise ValueError(
            f"a range from {begin} to {end} with step 0 would never end: give a positive or a negative step."
        )
    count = max(0, -((begin - end) // step))
    return Dimension(begin, step if count > 1 else 1, count)


def _integer(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"a range is made of integers: n, range(begin, end, step), or a tuple of these, not {value!r} "
            f"({type(value).__name__})."
        ) from None


def _checked(entries: Iterable[Dimension]) -> Dimensions:
    """Return the dimensions after refusing what no kernel can count; an empty dimension makes every size right."""
    dimensions = tuple(entries)
    if not 1 <= len(dimensions) <= MOST_DIMENSIONS:
        raise ValueError(f"a range has 1 to {MOST_DIMENSIONS} dimensions, not {len(dimensions)}.")
    if all(dimension.length for dimension in dimensions):
        items = num_items(dimensions)
        if items > MOST_ITEMS:
            raise ValueError(f"a range of {items} items exceeds the 2**63 that can be counted: loop over parts of it.")
        for dimension in dimensions:
            for index in (dimension.begin, dimension.last):
                if not LOWEST <= index <= HIGHEST:
                    raise ValueError(f"the index {index} of a range does not fit into int64: shift the range.")
    return dimensions
