"""Histograms of device arrays: one launch, which clears its output itself, for any number of bins.

All of them share what follows. `x` is a device array of numba, CuPy, torch, JAX or of anything with an array interface,
of any shape; up to four axes that do not line up are read in place. Counts are exact whatever the order.

Args (keyword-only): out: a device array of as many elements as there are bins, of dtype int32, uint32, int64, uint64 or
float64, strided or not, that shares no memory with what is read; it is overwritten and returned, nothing waits and
nothing is allocated, so that the call may be captured into a graph; counts beyond an integer's range wrap.
num_items: how many items of `x` count, in C order: an int, or a device array of one integer, which is read on the
device, where more than `x` has are all of them and a negative number none.  stream: any stream object or handle; None:
the current one of the arrays' framework, else the legacy default stream.  policy: a `HistogramPolicy` instead of the
measured one.  weights: refused; items count one each.
Returns: the counts, without `out` in a new device array of int64.
Errors: Refused (a TypeError) or ValueError in one sentence, before anything is launched.
"""

import operator
from typing import Any

import numpy as np

from ..errors import Refused, shown
from ..host.arrays import Argument, as_output
from ..host.arrays_layout import remember
from ..simt import machine
from .calls import Items, Job, entered, items_of, launched, prepares
from .histogram_bins import NUMBERS, finding_between
from .histogram_even import EvenBins, even_bins
from .histogram_plan import MOST_BINS, Bins, counting_job, numbers_of, real_items
from .histogram_policy import HistogramPolicy
from .reduce import minmax
from .sorted_edges import compared_as, edges_argument

Policy = HistogramPolicy | None
_evens: dict[Any, Bins] = {}


def read_histogram(
    x: Any, bins: Any = 10, range: Any = None, *, weights: Any = None, out: Any = None, num_items: Any = None,
    stream: Any = None, policy: Policy = None,
) -> Job:  # fmt: skip
    """Decide a call of `histogram`."""
    refuse_weights("histogram", weights)
    items = real_items("histogram", items_of("histogram", x, num_items))
    number = _number_of(bins)
    if number is None:
        if isinstance(bins, float | np.floating):
            raise Refused(f"histogram: bins must be an int or edges, and the float {bins} is neither; write int(bins).")
        if range is not None:
            raise Refused("histogram: range= has no meaning beside the edges of bins; leave it out.")
        found = _between(items, bins, stream)
    else:
        found = _even(items, number, _range_of(x, items, range, num_items, stream))
    return counting_job("histogram", items, found, out, stream, policy)


def read_bincount(
    x: Any, minlength: int = 0, *, weights: Any = None, out: Any = None, num_items: Any = None, stream: Any = None,
    policy: Policy = None,
) -> Job:  # fmt: skip
    """Decide a call of `bincount`."""
    refuse_weights("bincount", weights)
    items = real_items("bincount", items_of("bincount", x, num_items), "biu")
    try:
        least = operator.index(minlength)
    except TypeError:
        raise Refused(f"bincount: minlength must be an int, not {shown(minlength)}.") from None
    if least < 0:
        raise ValueError(f"bincount: minlength must not be negative, as {least} is.")
    if out is None:
        number = max(least, _numbers_in(items, num_items, stream))
        if number > MOST_BINS:
            raise ValueError(f"bincount: {number} bins are more than 2^31 - 1; pass out= with as many as are wanted.")
    else:
        number = as_output(out, "out").size
        if number < least:
            raise ValueError(f"bincount: out must have at least minlength = {least} elements, not {number}.")
    found = Bins(NUMBERS, "numbers", number, numbers_of(number))
    return counting_job("bincount", items, found, out, stream, policy)


def refuse_weights(name: str, weights: Any) -> None:
    """Refuse `weights=`."""
    if weights is not None:
        raise Refused(f"{name}: weights= does not exist; every item counts one.")


def _number_of(bins: Any) -> int | None:
    """Return how many even bins are asked for; None where `bins` are edges."""
    if isinstance(bins, str):
        raise Refused(f"histogram: bins must be a number or edges; there is no rule {bins!r} that chooses them.")
    if not hasattr(bins, "__index__") or getattr(bins, "ndim", 0) != 0:
        return None
    number = operator.index(bins)
    if not 1 <= number <= MOST_BINS:
        raise ValueError(f"histogram: bins must be 1 to 2^31 - 1, not {number}.")
    return number


def _range_of(x: Any, items: Items, given: Any, num_items: Any, stream: Any) -> tuple[Any, Any]:
    """Return the range of even bins: the given one, else that of the items, for which the host waits."""
    if given is not None:
        try:
            low, high = given
            return float(low), float(high)
        except (TypeError, ValueError):
            raise Refused(f"histogram: range must be two numbers (low, high), not {shown(given)}.") from None
    if not items.size:
        return 0.0, 1.0
    _refuse_waiting("histogram", "range=", stream, items)
    low, high = minmax(items.source, num_items=num_items, stream=stream)
    return (0.0, 1.0) if items.counter is not None and low > high else (low, high)


def _numbers_in(items: Items, num_items: Any, stream: Any) -> int:
    """Return the largest of the items and 1; the host waits for it."""
    if not items.size:
        return 0
    _refuse_waiting("bincount", "out=", stream, items)
    low, high = minmax(items.source, num_items=num_items, stream=stream)
    if low > high:
        return 0
    if low < 0:
        raise ValueError(f"bincount: x must hold no negative numbers, and its smallest is {low}.")
    return int(high) + 1


def _refuse_waiting(name: str, option: str, stream: Any, items: Items) -> None:
    """Refuse to wait for a look at the items while the stream is captured."""
    if machine.is_capturing(entered(stream, items.source)[0]):
        raise Refused(f"{name}: without {option} the items must be looked at first, which no graph can wait for.")


def _even(items: Items, number: int, given: tuple[Any, Any]) -> Bins:
    """Return even bins over a range."""
    dtype = items.source.dtype
    key = dtype, number, float(given[0]), float(given[1])
    found = _evens.get(key)
    if found is None:
        even: EvenBins = even_bins("histogram", dtype, number, given)
        bins = Bins(even.finder, even.types, number, numbers_of(*even.numbers))
        found = remember(_evens, key, bins)
    return found


def _between(items: Items, bins: Any, stream: Any) -> Bins:
    """Return bins between given edges."""
    edges: Argument = edges_argument("histogram", bins, stream, descending=False)[0]
    if edges.size < 2 or edges.size > MOST_BINS:
        raise ValueError(f"histogram: bins must be at least two edges, or a number, not {edges.size} edges.")
    kind = compared_as(items.source.dtype, edges.dtype)
    return Bins(finding_between(kind), ("between", kind), edges.size - 1, numbers_of(edges.size - 1), edges)


@prepares(read_histogram, "x", "out", "num_items")
def histogram(
    x: Any, bins: Any = 10, range: Any = None, *, weights: Any = None, out: Any = None, num_items: Any = None,
    stream: Any = None, policy: Policy = None,
) -> Any:  # fmt: skip
    """Count the items of `x` in bins; NumPy's edges: a bin has its lower edge, the last bin its upper one too.

    Args: bins: a number of even bins, up to 2^31 − 1; or ascending edges, one more than bins: a sequence, a NumPy array
    (both kept on the device for the next call with the same edges), or a device array, which is not looked at.
    range: (low, high) of even bins; None: from the smallest item to the largest, for which the host waits.
    Even edges are NumPy's in float64 for integers, in the dtype of `x` for floats: items on an edge fall where NumPy
    puts them. float16 is counted as `x.astype(np.float32)` is, for NumPy's own edges of float16 are rounded to that,
    which moves them by up to 1 in 2,000. NaN and what is outside is not counted.
    Cost: items of one byte are counted as they are, 32 copies of 256 counters, others likewise in up to 32 copies of
    the bins; from about 50,000 bins on, or with few items for them, by atomics on the output, of which what is frequent
    takes few. Least where edges are exact: a step that is a power of two, from a multiple of it on.
    Errors: ValueError for a range that is not finite or descends, for edges that do.
    Example: items 0, 5, 10, two bins over (0, 10) -> 1, 2.
    """
    return launched(read_histogram(x, bins, range, weights=weights, out=out, num_items=num_items, stream=stream,
                                   policy=policy))  # fmt: skip


@prepares(read_bincount, "x", "out", "num_items")
def bincount(
    x: Any, minlength: int = 0, *, weights: Any = None, out: Any = None, num_items: Any = None, stream: Any = None,
    policy: Policy = None,
) -> Any:  # fmt: skip
    """Count how often every number occurs in an array of integers, or of bools.

    Args: minlength: the least number of bins.  Without `out` there is a bin for every number up to the largest, for
    which the host waits; with it for as many as it has elements, and other numbers, negative ones too, do not count.
    Returns: the counts of 0, 1, 2 and so on.
    Errors: ValueError for a negative number, without `out`.
    Example: 1, 3, 1 -> 0, 2, 0, 1.
    """
    return launched(read_bincount(x, minlength, weights=weights, out=out, num_items=num_items, stream=stream,
                                  policy=policy))  # fmt: skip
