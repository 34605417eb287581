"""Which of many even bins a value is in.

Even bins are those of NumPy's edges, low + i · step, rounded to the edges' type. A position among them by one product
says which bin, unless it lies so near to an edge that rounding might have carried it over: only then edges are computed
and compared. How near that is the host works out: see histogram_even.py. Where all edges are exact, or float64 is used
anyway, one comparison with the nearest edge settles every item at once.

All take the numbers of `finding_even`, of which some have another meaning where they say so.
"""

from typing import Any

import numpy as np

from ..block.shape import int32
from ..simt.machine import device_function
from ..simt.memory import local_array, put
from ..simt.types import cast_like, truncated
from .histogram_bins import Finder, never_settled


@device_function()
def edge_at(number, numbers, like):
    """Return the lower edge of a bin in the type of `like`: product and sum rounded one after the other, as NumPy's."""
    product = min(number * numbers[5], numbers[6])  # the minimum keeps them from being fused
    return cast_like(like, product + numbers[7])


@device_function()
def beside(number, value, numbers):
    """Return the bin of a value that is in bin `number` or near it; `value` in the type of the edges."""
    last = numbers[8]
    found = max(number, int32(0))
    while found > 0 and value < edge_at(found, numbers, value):
        found = int32(found - 1)
    while found < last and value >= edge_at(found + 1, numbers, value):
        found = int32(found + 1)
    return found


def finding_even(edge: Any, real: Any) -> Finder:
    """Return what finds even bins for integers, whose positions, computed as `real`, are kept off the edges.

    Its numbers: (lowest value, highest value: in the type of the items, of floats in that of the edges; where positions
    begin, bins per unit, place in its bin of a value on an edge: all `real`; step, the last edge above the first, first
    edge: float64; the last bin; half a bin less what is near an edge: `real`).
    """
    edge_like, like, half = edge(0), real(0), real(0.5)

    def position_of(value, numbers):
        return (cast_like(like, value) - numbers[2]) * numbers[3] + numbers[4]

    def find_even(value, numbers, edges):
        position = position_of(value, numbers)
        whole = truncated(position)
        certain = abs(position - cast_like(like, whole) - half) <= numbers[9]
        inside = (cast_like(numbers[0], value) >= numbers[0]) & (cast_like(numbers[1], value) <= numbers[1])
        found = min(whole, numbers[8])  # the last edge is near itself otherwise
        return int32(found if inside & certain else -1), certain or not inside

    def settle_even(value, numbers, edges):
        found = min(truncated(position_of(value, numbers)), numbers[8])
        return beside(found, cast_like(edge_like, value), numbers)

    return Finder(find_even, settle_even)


ROUNDER = np.float32(3 << 22)  # added to a number up to 2^22 it leaves that, rounded to a whole one, in the last bits
FIRST = np.uint32(ROUNDER.view(np.uint32) - np.uint32(1))  # the bits of the sum for −1


@device_function()
def bits_of_float(number):
    """Return the bits of a float32 as uint32."""
    held = local_array(1, np.uint32)
    put(held, 0, 1, number)
    return held[0]


@device_function()
def number_in(rounded, last):
    """Return the whole number in `rounded`, the sum of it and `ROUNDER`: −1 or `last` + 1 for any other than bins."""
    above = cast_like(FIRST, bits_of_float(rounded) - FIRST)
    return int32(min(above, cast_like(FIRST, last + 2)) - 1)


def finding_aligned() -> Finder:
    """Return what finds even bins whose edges are the whole multiples of a power of two, for floats of up to 4 bytes.

    Its numbers: as of `finding_even`, but [2]: ROUNDER less the number of the first edge among the multiples; [3]: 1 /
    step; [4]: step; [9]: the number before the last edge.
    """
    like = np.float32(0)

    def find_aligned(value, numbers, edges):
        number = cast_like(like, value)
        number = numbers[9] if number == numbers[1] else number
        rounded = number * numbers[3] + numbers[2]
        nearest = (rounded - numbers[2]) * numbers[4]  # an edge, exactly, where the item is between edges
        beyond = cast_like(like, 1 if number < nearest else 0)
        return number_in(rounded - beyond, numbers[8]), True

    return Finder(find_aligned, never_settled)


def finding_near() -> Finder:
    """Return what finds even bins of float32 for floats of up to 4 bytes, if need be by looking at the edges.

    Its numbers: as of `finding_even`, but [2]: the middle of the first bin.
    """
    like, half = np.float32(0), np.float32(0.5)

    def find_near(value, numbers, edges):
        above = cast_like(like, value) - numbers[2]
        rounded = above * numbers[3] + ROUNDER
        found = number_in(rounded, numbers[8])
        near = abs(above * numbers[3] - (rounded - ROUNDER)) > numbers[9]  # of NaN, and of infinities, it is not
        return found, not near

    def settle_near(value, numbers, edges):
        number = cast_like(like, value)
        nearest = number_in((number - numbers[2]) * numbers[3] + half + ROUNDER, numbers[8])
        found = int32(min(nearest - (1 if number < edge_at(nearest, numbers, number) else 0), numbers[8]))
        return int32(found if (number >= numbers[0]) & (number <= numbers[1]) else -1)

    return Finder(find_near, settle_near)


def finding_beside_one(edge: Any) -> Finder:
    """Return what finds even bins by a look at the one edge that is nearest; edges are of type `edge`.

    Its numbers: as of `finding_even`; positions are float64.
    """
    edge_like, like = edge(0), np.float64(0)

    def find_beside_one(value, numbers, edges):
        number = cast_like(edge_like, value)
        nearest = truncated((cast_like(like, value) - numbers[2]) * numbers[3] + 0.5)
        found = int32(min(nearest - (1 if number < edge_at(nearest, numbers, number) else 0), numbers[8]))
        return int32(found if (number >= numbers[0]) & (number <= numbers[1]) else -1), True

    return Finder(find_beside_one, never_settled)
