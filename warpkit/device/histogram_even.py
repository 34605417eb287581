"""Even bins as NumPy makes them: how they are found, and the numbers that the device needs for it."""

import math
from typing import Any, NamedTuple

import numpy as np

from .histogram_bins import Finder
from .histogram_edges import ROUNDER, finding_aligned, finding_beside_one, finding_even, finding_near

EXACT_EDGES = 1 << 16  # up to so many bins the host looks at every edge
MOST_ALIGNED = 1 << 21  # up to such multiples edges are found by one rounding
OFTEN = 1e-3  # of the items near edges: from there on a look at an edge for each of them costs less


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
