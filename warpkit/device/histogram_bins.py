"""Which bin a value is in.

A `Finder` has two device functions. find: (value, numbers, edges) -> (int32 bin; −1, or as many as there are bins, for
none; whether that is certain).  settle: (value, numbers, edges) -> the bin of a value for which it is not.

Even bins are those of NumPy's edges, low + i · step, rounded to the edges' type. A position among them by one product
says which bin, unless it lies so near to an edge that rounding might have carried it over: only then edges are computed
and compared. How near that is the host works out. Where all edges are exact, or float64 is used anyway, one comparison
with the nearest edge settles every item at once.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..block.shape import int32
from ..simt.machine import device_function
from ..simt.memory import local_array, put, take
from ..simt.types import as_index, as_int64, cast_like, hold, truncated
from .sorted_search import leading, not_above

EXACT_EDGES = 1 << 16  # up to so many bins the host looks at every edge
MOST_ALIGNED = 1 << 21  # up to such multiples edges are found by one rounding
OFTEN = 1e-3  # of the items near edges: from there on a look at an edge for each of them costs less


class Finder(NamedTuple):
    """How bins are found."""

    find: Callable[..., Any]
    settle: Callable[..., Any]


@device_function()
def never_settled(value, numbers, edges):
    """Return −1: what was found is certain."""
    return int32(-1)


@device_function()
def find_number(value, numbers, edges):
    """Return the value itself, an integer, where it is the number of a bin; numbers: (bins,)."""
    number = as_int64(value)
    return int32(number if 0 <= number and number < numbers[0] else -1), True


@device_function()
def find_byte(value, numbers, edges):
    """Return the bits of an integer of one byte."""
    return int32(as_int64(value) & 255), True


NUMBERS, BYTES = Finder(find_number, never_settled), Finder(find_byte, never_settled)


def finding_between(kind: Any) -> Finder:
    """Return what finds bins between given edges; values and edges are compared as `kind`."""
    like = kind(0)

    def find_between(value, numbers, edges):
        number = cast_like(like, value)
        last = int32(edges.size - 1)
        found = int32(leading(edges, number, not_above) - 1)
        if found == last:  # on the last edge, which belongs to the last bin, or beyond it
            found = int32(last - 1 if number <= cast_like(like, hold(edges[as_index(last)])) else -1)
        return found, True

    return Finder(find_between, never_settled)


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


def bits_as(word: Any) -> Callable[..., Any]:
    """Return the function that gives the bits of a float as the unsigned integer `word` of as many bytes."""
    like, words = word(0), np.dtype(word).itemsize // 4

    def bits(value):
        held = local_array(words, np.uint32)
        put(held, 0, 1, value)
        return take(held, 0, 1, like)

    return device_function()(bits)


ROUNDER = np.float32(3 << 22)  # added to a number up to 2^22 it leaves that, rounded to a whole one, in the last bits
FIRST = np.uint32(ROUNDER.view(np.uint32) - np.uint32(1))  # the bits of the sum for −1
bits_of_float = bits_as(np.uint32)


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
    like = np.float32(0)

    def find_near(value, numbers, edges):
        above = cast_like(like, value) - numbers[2]
        rounded = above * numbers[3] + ROUNDER
        found = number_in(rounded, numbers[8])
        certain = abs(above * numbers[3] - (rounded - ROUNDER)) <= numbers[9]
        return found, certain

    def settle_near(value, numbers, edges):
        number = cast_like(like, value)
        found = number_in((number - numbers[2]) * numbers[3] + ROUNDER, numbers[8])
        inside = (number >= numbers[0]) & (number <= numbers[1])
        return int32(beside(int32(min(found, numbers[8])), number, numbers) if inside else -1)

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


class EvenBins(NamedTuple):
    """Even bins over a range for items of one dtype: their finder, what it was made from, its numbers."""

    finder: Finder
    types: tuple[Any, ...]
    numbers: tuple[Any, ...]


def checked_range(name: str, low: Any, high: Any) -> tuple[float, float]:
    """Return a range as two floats, widened where it is empty; ValueError for what is none."""
    low, high = float(low), float(high)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"{name}: range must be two finite numbers, not ({low}, {high}); pass range=(low, high).")
    if low > high:
        raise ValueError(f"{name}: range must be (low, high) with low ≤ high, not ({low}, {high}).")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def even_bins(name: str, item: np.dtype[Any], bins: int, given: tuple[Any, Any]) -> EvenBins:
    """Return the even bins that NumPy makes for items of dtype `item` over a range."""
    low, high = checked_range(name, *given)
    edge: Any = np.float64 if item.kind != "f" or item == np.float64 else np.float32
    step = (high - low) / bins
    with np.errstate(over="ignore"):
        first, last = float(edge(low)), float(edge(high))
    most = max(abs(first), abs(last))
    if not math.isfinite(step) or not step > 0 or float(edge(most + step)) == float(edge(most)):
        raise ValueError(f"{name}: {bins} bins are too many for the range ({low}, {high}): no {edge.__name__} between.")
    span = Span(low, high, bins, step, most)
    if item.kind != "f":
        return _even_of_integers(item, span)
    ends = edge(first), edge(last)
    if edge is np.float32:
        if span.aligned:
            even = _even("aligned", edge, ends, span, float(ROUNDER) - low / step, np.float32, step)
            return even._replace(numbers=(*even.numbers[:9], np.nextafter(ends[1], np.float32(-np.inf))))
        near = span.near(np.float32, edge, low + step / 2, 1.5)
        if near < OFTEN:
            return _even("near", edge, ends, span, low + step / 2, np.float32, near=near)
    if span.near(np.float64, edge, low, 4) < 0.4:
        return _even("beside one", edge, ends, span, low, np.float64)
    return _even("any", edge, ends, span, low, np.float64, near=1.0)


class Span(NamedTuple):
    """Even bins as numbers: the range, how many, the width of one, the largest magnitude of an edge."""

    low: float
    high: float
    bins: int
    step: float
    most: float

    @property
    def aligned(self) -> bool:
        """Whether all edges are whole multiples of a power of two that float32 has, and steps."""
        first, step = self.low / self.step, self.step
        exact = math.frexp(step)[0] == 0.5 and 2.0**-100 < step < 2.0**100 and step * self.bins == self.high - self.low
        return exact and first.is_integer() and abs(first) + self.bins < MOST_ALIGNED

    def near(self, real: Any, edge: Any, begin: float, roundings: float) -> float:
        """Return how far, in bins, an item may seem to be from where it is among edges of type `edge`.

        real: type of positions, which are counted from `begin` with so many `roundings` of them.
        """
        rounding = float(np.finfo(real).eps)
        if not 1 / self.step < float(np.finfo(real).max):
            return 1.0
        from_begin = 0.0 if float(real(begin)) == begin else rounding * abs(begin) / self.step
        edges = 0.55 * float(np.finfo(edge).eps) * self.most / self.step
        return 1.1 * roundings * rounding * self.bins + edges + from_begin


def _even(
    how: str, edge: Any, ends: tuple[Any, Any], span: Span, begin: float, real: Any, scaled: float = 0.0,
    near: float = 0.0, shift: float = 0.0,
) -> EvenBins:  # fmt: skip
    """Return even bins; `scaled`: what takes the place of the step where positions begin in it."""
    inverse = 1 / span.step
    scale = real(inverse) if inverse < float(np.finfo(real).max) else real(0)
    numbers = (
        *ends, real(begin), scale, real(scaled or shift),
        span.step, span.high - span.low, span.low, np.int32(span.bins - 1), real(0.5 - near),
    )  # fmt: skip
    makers = {
        "aligned": finding_aligned,
        "near": finding_near,
        "beside one": lambda: finding_beside_one(edge),
        "any": lambda: finding_even(edge, real),
    }
    return EvenBins(makers[how](), (how, edge, real), numbers)


def _even_of_integers(item: np.dtype[Any], span: Span) -> EvenBins:
    """Return even bins for integers of dtype `item`."""
    real: Any = np.float32 if item.itemsize <= 2 else np.float64
    near = 4 * float(np.finfo(real).eps) * span.bins + float(np.finfo(np.float64).eps) * span.most / span.step
    near += 2 * float(np.finfo(real).eps) * abs(span.low) / span.step if float(real(span.low)) != span.low else 0
    scale = float(real(1 / span.step)) if 1 / span.step < float(np.finfo(real).max) else 0.0
    near = near if scale > 0 and span.bins * float(np.finfo(real).eps) < 0.1 else 1.0
    shift = _beside_edges(span.low, span.high, span.bins, span.step) * scale
    ends = _whole_bounds(item, span.low, span.high)
    return _even("any", np.float64, ends, span, span.low, real, near=near, shift=shift)


def _whole_bounds(item: np.dtype[Any], low: float, high: float) -> tuple[Any, Any]:
    """Return the lowest and the highest integer of a type in a range: (1, 0) for none."""
    least, most = int(np.iinfo(item).min), int(np.iinfo(item).max)
    lowest, highest = max(math.ceil(low), least), min(math.floor(high), most)
    lowest, highest = (lowest, highest) if lowest <= highest else (1, 0)
    return item.type(lowest), item.type(highest)


def _beside_edges(low: float, high: float, bins: int, step: float) -> float:
    """Return how far above any integer there is no edge, halfway: what to add so that integers keep off the edges."""
    if bins > EXACT_EDGES:
        return 0.5 if low.is_integer() and step.is_integer() else 0.0
    edges = np.linspace(low, high, bins + 1)
    above = edges - np.floor(edges)
    above = above[above > 0]
    return min(0.5, float(above.min()) / 2) if above.size else 0.5
