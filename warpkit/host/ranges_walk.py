"""Walking a range without a division: numbers that the host computes once, and what a kernel does with them.

A thread has the number of an item and wants its indices. Dividing by an extent is multiplying by a rounded-up
reciprocal and keeping the high half (Granlund & Montgomery 1994); all quotients come from the item's number, none from
another, so that they do not wait for each other. Up to 2**31 items are walked in 32 bits, more in 64.
"""

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np

from ..simt.bits import multiply_high, shift_right
from ..simt.machine import device_function
from ..simt.types import cast_like
from .ranges import Dimensions, num_items

NARROW_ITEMS = 1 << 31  # up to which item numbers, doubled, are 32-bit words
NARROW_INDEX = 1 << 32  # below which indices that are not negative are
LONG, LARGEST = np.int64(0), np.uint64((1 << 63) - 1)


class Walk(NamedTuple):
    """What a kernel needs for a range.

    num_items: how many.  numbers: for every dimension but the first, outermost first, magic number and shift of the
    product of the extents from there on, and its own extent, negated; uint32 in a narrow walk, else uint64.
    steps: begin and step of every dimension, uint32 where every index is one, else int64; none in a dense range, whose
    dimensions all begin at 0 and go by 1.
    """

    ndim: int
    num_items: int
    word: type
    numbers: tuple[Any, ...]
    steps: tuple[Any, ...]


@functools.lru_cache(512)
def walk_of(dimensions: Dimensions) -> Walk:
    """Return what a kernel needs for a range that is not empty."""
    items = num_items(dimensions)
    bits = 32 if items <= NARROW_ITEMS else 64
    word: type = np.uint32 if bits == 32 else np.uint64
    numbers: list[Any] = []
    below = items
    for outer, dimension in itertools.pairwise(dimensions):
        below //= outer.length
        numbers += [*divisor(below, bits), -dimension.length % (1 << bits)]
    return Walk(len(dimensions), items, word, tuple(map(word, numbers)), _steps(dimensions))


def divisor(extent: int, bits: int) -> tuple[int, int]:
    """Return (magic, shift) such that n // extent is `multiply_high(2 * n, magic) >> shift` for n below 2**(bits − 1).

    With shift = ceil(log2 extent) the magic number is below 2**bits, and rounding it up costs less than 1 / extent.
    """
    shift = (extent - 1).bit_length()
    return -(-(1 << (bits - 1 + shift)) // extent), shift


def _steps(dimensions: Dimensions) -> tuple[Any, ...]:
    if all(dimension[:2] == (0, 1) for dimension in dimensions):
        return ()
    ends = [end for dimension in dimensions for end in (dimension.begin, dimension.last)]
    narrow = min(ends) >= 0 and max(ends) < NARROW_INDEX
    given = [number for dimension in dimensions for number in dimension[:2]]
    # A step may exceed the type (two indices far apart): sums that wrap are right again where the index is one.
    return tuple(np.uint32(n % (1 << 32)) if narrow else np.uint64(n % (1 << 64)).astype(np.int64) for n in given)


@device_function()
def after(number, items):
    """Return number + items in the type of `number`."""
    return cast_like(number, number + cast_like(number, items))


@device_function()
def times(number, factor):
    """Return number × factor in the type of `number`."""
    return cast_like(number, number * cast_like(number, factor))


@device_function()
def quotient(number, magic, shift):
    """Return `number` divided by what the host made `magic` and `shift` of."""
    return shift_right(multiply_high(after(number, number), magic), shift)


@device_function()
def rest(number, whole, minus):
    """Return number − whole × extent; `minus` is the negated extent, so that this is one instruction."""
    return after(number, times(minus, whole))


@device_function()
def split_2(number, numbers):
    """Return the two coordinates of an item."""
    row = quotient(number, numbers[0], numbers[1])
    return row, rest(number, row, numbers[2])


@device_function()
def split_3(number, numbers):
    """Return the three coordinates of an item."""
    plane = quotient(number, numbers[0], numbers[1])
    row = quotient(number, numbers[3], numbers[4])
    return plane, rest(row, plane, numbers[2]), rest(number, row, numbers[5])


@device_function()
def split_4(number, numbers):
    """Return the four coordinates of an item."""
    cube = quotient(number, numbers[0], numbers[1])
    plane = quotient(number, numbers[3], numbers[4])
    row = quotient(number, numbers[6], numbers[7])
    return cube, rest(plane, cube, numbers[2]), rest(row, plane, numbers[5]), rest(number, row, numbers[8])


@device_function()
def index(coordinate):
    """Return a coordinate as int64 that the compiler sees is not negative: arrays then need no wrap-around."""
    return cast_like(LONG, coordinate & LARGEST)


@device_function()
def moved(coordinate, begin, step):
    """Return begin + coordinate × step, computed in the type of `begin`, as int64."""
    return cast_like(LONG, cast_like(begin, begin + cast_like(begin, coordinate) * step))


@device_function()
def dense_1(number, numbers, steps):
    """Return the index of an item of a dense range."""
    return (index(number),)


@device_function()
def dense_2(number, numbers, steps):
    """Return the indices of an item of a dense range."""
    at = split_2(number, numbers)
    return index(at[0]), index(at[1])


@device_function()
def dense_3(number, numbers, steps):
    """Return the indices of an item of a dense range."""
    at = split_3(number, numbers)
    return index(at[0]), index(at[1]), index(at[2])


@device_function()
def dense_4(number, numbers, steps):
    """Return the indices of an item of a dense range."""
    at = split_4(number, numbers)
    return index(at[0]), index(at[1]), index(at[2]), index(at[3])


@device_function()
def stepped_1(number, numbers, steps):
    """Return the index of an item."""
    return (moved(number, steps[0], steps[1]),)


@device_function()
def stepped_2(number, numbers, steps):
    """Return the indices of an item."""
    at = split_2(number, numbers)
    return moved(at[0], steps[0], steps[1]), moved(at[1], steps[2], steps[3])


@device_function()
def stepped_3(number, numbers, steps):
    """Return the indices of an item."""
    at = split_3(number, numbers)
    return moved(at[0], steps[0], steps[1]), moved(at[1], steps[2], steps[3]), moved(at[2], steps[4], steps[5])


@device_function()
def stepped_4(number, numbers, steps):
    """Return the indices of an item."""
    at = split_4(number, numbers)
    first = moved(at[0], steps[0], steps[1]), moved(at[1], steps[2], steps[3])
    return first + (moved(at[2], steps[4], steps[5]), moved(at[3], steps[6], steps[7]))


PLACES = {
    (1, False): dense_1, (2, False): dense_2, (3, False): dense_3, (4, False): dense_4,
    (1, True): stepped_1, (2, True): stepped_2, (3, True): stepped_3, (4, True): stepped_4,
}  # fmt: skip
