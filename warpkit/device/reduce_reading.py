"""Reading the items of a reduction: which part of the array is whose, and how its items come into registers.

A *vector* is what a thread reads at once: as many neighbouring items as 16 aligned bytes hold, or one item where the
array is strided, of records, or of items that are 16 bytes themselves. A *row* is the vectors of a warp: 32 of them.
What lies before the first aligned vector and behind the last whole one are the *edges*, fewer items than a vector each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..simt.machine import device_function
from ..simt.memory import load_vector
from ..simt.states import address_of
from ..simt.types import as_index, as_int64, cast_like, combine, hold

VECTOR_BYTES = 16


@dataclass(frozen=True)
class Reading:
    """How a kernel reads its items; functions are device functions.

    number: (count, x) -> how many items.  before: (x, n, item_shift) -> how many of them lie before the first vector.
    fetch: reads a vector, fetch_item: one item.  length: items of a vector, a power of two.  item_shift: exponent of
    the bytes of an item, where that is a power of two.  loads: vectors that a thread reads before it waits.
    item: the type of an item in registers, for `local_array`.
    """

    number: Callable[..., Any]
    before: Callable[..., Any]
    fetch: Callable[..., Any]
    fetch_item: Callable[..., Any]
    length: int
    item_shift: int
    loads: int
    item: Any

    @property
    def length_shift(self) -> int:
        """The exponent of `length`."""
        return self.length.bit_length() - 1


@device_function()
def divide(number, by, inverse):
    """Return `number // by` for 0 ≤ number < 2**50, given `inverse`, the float64 nearest 1 / by."""
    quotient = as_int64(number * inverse)  # at most one off
    rest = number - quotient * by
    return quotient - (rest < 0) + (rest >= by)


@device_function()
def first_of(work, parts, inverse, part):
    """Return where the part begins that number `part` of `parts` has of `work` items: even shares, the first ones
    larger by one."""
    share = divide(work, parts, inverse)
    return part * share + min(part, work - share * parts)


@device_function()
def count_given(count, x):
    """Return the number of items that the host has counted."""
    return count


@device_function()
def count_on_device(count, x):
    """Return the number of items that stands in device memory, no more than the array has."""
    return min(max(as_int64(count[0]), 0), x.size)


@device_function()
def items_before_vectors(x, n, item_shift):
    """Return how many items lie before the first aligned vector; an item has 1 << item_shift bytes."""
    return min((-address_of(x) & (VECTOR_BYTES - 1)) >> item_shift, n)


@device_function()
def no_items_before(x, n, item_shift):
    """Return 0: where vectors are single items none lies before them."""
    return 0 * n


@device_function()
def fetch_vector(items, slot, x, index, inverses):
    """Read the vector from item `index` on into `items[slot:]`, in one access."""
    load_vector(items, slot, x, index, 16)


@device_function()
def place_1(x, i, inverses):
    """Return the index of item `i` of a one-dimensional array."""
    return as_index(i)


@device_function()
def place_2(x, i, inverses):
    """Return the indices of item `i` in C order of two dimensions; inverses[k] is that of the extent along axis k."""
    row = divide(i, x.shape[1], inverses[1])
    return as_index(row), as_index(i - row * x.shape[1])


@device_function()
def place_3(x, i, inverses):
    """Return the indices of item `i` in C order of three dimensions."""
    line = divide(i, x.shape[2], inverses[2])
    row = divide(line, x.shape[1], inverses[1])
    return as_index(row), as_index(line - row * x.shape[1]), as_index(i - line * x.shape[2])


@device_function()
def place_4(x, i, inverses):
    """Return the indices of item `i` in C order of four dimensions."""
    line = divide(i, x.shape[3], inverses[3])
    plane = divide(line, x.shape[2], inverses[2])
    row = divide(plane, x.shape[1], inverses[1])
    return (
        as_index(row),
        as_index(plane - row * x.shape[1]),
        as_index(line - plane * x.shape[2]),
        as_index(i - line * x.shape[3]),
    )


PLACES = {1: place_1, 2: place_2, 3: place_3, 4: place_4}  # by dimensions


@device_function()
def element_1(x, i, inverses):
    """Return item `i` of a one-dimensional array."""
    return x[place_1(x, i, inverses)]


@device_function()
def element_2(x, i, inverses):
    """Return item `i` in C order of a two-dimensional array."""
    return x[place_2(x, i, inverses)]


@device_function()
def element_3(x, i, inverses):
    """Return item `i` in C order of a three-dimensional array."""
    return x[place_3(x, i, inverses)]


@device_function()
def element_4(x, i, inverses):
    """Return item `i` in C order of a four-dimensional array."""
    return x[place_4(x, i, inverses)]


@device_function()
def fetch_1(items, slot, x, index, inverses):
    """Read an item of an array of one dimension into `items[slot]`; a record becomes a tuple."""
    items[slot] = cast_like(items[slot], hold(element_1(x, index, inverses)))


@device_function()
def fetch_2(items, slot, x, index, inverses):
    """Read an item of an array of two dimensions into `items[slot]`; a record becomes a tuple."""
    items[slot] = cast_like(items[slot], hold(element_2(x, index, inverses)))


@device_function()
def fetch_3(items, slot, x, index, inverses):
    """Read an item of an array of three dimensions into `items[slot]`; a record becomes a tuple."""
    items[slot] = cast_like(items[slot], hold(element_3(x, index, inverses)))


@device_function()
def fetch_4(items, slot, x, index, inverses):
    """Read an item of an array of four dimensions into `items[slot]`; a record becomes a tuple."""
    items[slot] = cast_like(items[slot], hold(element_4(x, index, inverses)))


FETCH_ELEMENT = {1: fetch_1, 2: fetch_2, 3: fetch_3, 4: fetch_4}  # by dimensions


@device_function()
def fold_vector(items, first, length, index, lift, op, narrow, like):
    """Combine the `length` items of a vector in order, the first being item `index`, in the type of `narrow`."""
    total = cast_like(narrow, lift(items[first], index))
    for j in range(1, length):
        total = combine(op, total, cast_like(narrow, lift(items[first + j], index + j)))
    return cast_like(like, total)
