"""Which bin a value is in.

A `Finder` has two device functions. find: (value, numbers, edges) -> (int32 bin, −1 for none; whether that is certain:
otherwise it is −1 too).  settle: (value, numbers, edges) -> the bin of a value for which it is not.

Even bins are those of NumPy's edges, low + i · step, rounded to the edges' type. A position among them by one product
says which bin, unless it lies so near to an edge that rounding might have carried it over: only then edges are computed
and compared. How near that is the host works out.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..block.shape import int32
from ..simt.machine import device_function
from ..simt.types import as_index, as_int64, cast_like, hold, truncated
from .sorted_search import leading, not_above

EXACT_EDGES = 1 << 16  # up to so many bins the host looks at every edge


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


def finding_even(edge: Any, real: Any, beside_edges: bool) -> Finder:
    """Return what finds even bins; edges are of type `edge`, positions are computed as `real`.

    beside_edges: items are integers, whose positions are kept off the edges.

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
        found = min(whole, numbers[8]) if beside_edges else whole  # the last edge is near itself otherwise
        return int32(found if inside & certain else -1), certain or not inside

    def settle_even(value, numbers, edges):
        found = min(truncated(position_of(value, numbers)), numbers[8])
        return beside(found, cast_like(edge_like, value), numbers)

    return Finder(find_even, settle_even)


@dataclass(frozen=True)
class EvenBins:
    """Even bins over a range for items of one dtype: what the kernel is made for, and its numbers."""

    edge: Any
    real: Any
    whole: bool
    numbers: tuple[Any, ...]

    @property
    def types(self) -> tuple[Any, ...]:
        """What the kernel is compiled for, but for the types of the numbers; these may differ."""
        return self.edge, self.real, self.whole

    @property
    def finder(self) -> Finder:
        """What finds them."""
        return finding_even(self.edge, self.real, self.whole)


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
    whole = item.kind != "f"
    edge = np.float64 if whole or item == np.float64 else np.float32
    real = np.float32 if item.itemsize <= 2 or edge is np.float32 else np.float64
    step = (high - low) / bins
    with np.errstate(over="ignore"):
        first, last = float(edge(low)), float(edge(high))
    most = max(abs(first), abs(last))
    if not math.isfinite(step) or not step > 0 or float(edge(most + step)) == float(edge(most)):
        raise ValueError(f"{name}: {bins} bins are too many for the range ({low}, {high}): no {edge.__name__} between.")
    rounding = float(np.finfo(real).eps)
    begin = real(low)
    scale = real(1 / step) if 1 / step < float(np.finfo(real).max) else real(0)
    near = 4 * rounding * bins + float(np.finfo(edge).eps) * most / step
    near += 2 * rounding * abs(low) / step if float(begin) != low else 0
    near = near if scale > 0 and bins * rounding < 0.1 else 1.0
    shift = _beside_edges(low, high, bins, step) * float(scale) if whole else 0.0
    bounds = _whole_bounds(item, low, high) if whole else (edge(first), edge(last))
    numbers = (
        *bounds, begin, scale, real(shift),
        step, high - low, low, np.int32(bins - 1), real(0.5 - near),
    )  # fmt: skip
    return EvenBins(edge, real, whole, numbers)


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
