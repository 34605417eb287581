"""Which bin every item of a device array is in: `numpy.digitize`."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import Refused, shown
from ..host.arrays import as_argument, as_output
from ..host.parallel_calls import Calls
from ..simt.machine import device_function
from ..simt.types import as_index, as_int64, cast_like, hold
from .calls import Job, check_shape, launched, prepares
from .reduce_rules import check_goes_into, check_holds
from .sorted_edges import compared_as, edges_argument
from .sorted_search import above, below_or_nan, leading, not_above_or_nan, not_below
from .transform_plan import Elementwise, Request, TransformPolicy, as_policy, elementwise_job
from .transform_sides import Side, in_shape

NAME = "digitize"
INT64 = np.dtype(np.int64)


@device_function()
def descends(edges):
    """Return whether sorted edges go down."""
    last = edges.size - 1
    return last > 0 and hold(edges[as_index(0 * last)]) > hold(edges[as_index(last)])


@functools.cache
def finding(kind: Any, right: bool, reversed_edges: bool, known: bool) -> Callable[..., Any]:
    """Return the function (item, edges) -> bin; they are compared as `kind`.

    reversed_edges: they descend, and are in memory the other way round.  known: they ascend in memory; else the kernel
    looks.
    """
    like = kind(0)
    ascending, descending = (below_or_nan, not_below) if right else (not_above_or_nan, above)

    def find_ascending(value, edges):
        return as_int64(leading(edges, cast_like(like, value), ascending))

    def find_reversed(value, edges):
        return as_int64(edges.size) - leading(edges, cast_like(like, value), ascending)

    def find_either(value, edges):
        number = cast_like(like, value)
        if descends(edges):
            found = leading(edges, number, descending)
        else:
            found = leading(edges, number, ascending)
        return as_int64(found)

    return find_reversed if reversed_edges else find_ascending if known else find_either


def read_digitize(
    x: Any, bins: Any, right: bool = False, *, out: Any = None, num_items: Any = None, stream: Any = None,
    policy: TransformPolicy | None = None,
) -> Job:  # fmt: skip
    """Decide a call of `digitize`."""
    if right is not False and not isinstance(right, bool | np.bool_):
        raise Refused(f"{NAME}: right must be True or False, not {shown(right)}.")
    source = as_argument(x, "x")
    if not source.is_array or source.dtype.kind not in "biuf" or source.dtype.names:
        given = source.dtype if source.is_array else f"a {type(x).__name__}"
        raise Refused(f"{NAME}: x must be a device array of numbers that have an order, not {given}; pass a part.")
    edges, reversed_edges = edges_argument(NAME, bins, stream, descending=True)
    if edges.size >= 1 << 31:
        raise ValueError(f"{NAME}: bins must be fewer than 2^31 edges, not {edges.size}.")
    if out is not None:
        target = as_output(out, "out")
        check_shape(NAME, target, source.shape)
        check_goes_into(NAME, "out", INT64, target.dtype)
        if target.dtype.kind == "i":
            check_holds(NAME, target.dtype, edges.size, "the last bin")
    host = isinstance(bins, list | tuple | range | np.ndarray)
    function = finding(compared_as(source.dtype, edges.dtype), bool(right), reversed_edges, host)
    calls = Calls.of(function)
    dtype = INT64 if out is None else target.dtype

    def read() -> Request:
        sides = [in_shape(source, source.shape, "x"), Side(edges, None)]
        return Request(Elementwise(NAME, function, calls), sides, source.shape, [dtype])

    job = elementwise_job(
        NAME, read, calls.keys, [source, edges], calls, None if out is None else [out], num_items, stream,
        as_policy(NAME, policy), [edges],
    )  # fmt: skip
    return job._replace(result=job.result[0])


@prepares(read_digitize, "x", "bins", "out", "num_items")
def digitize(
    x: Any, bins: Any, right: bool = False, *, out: Any = None, num_items: Any = None, stream: Any = None,
    policy: TransformPolicy | None = None,
) -> Any:  # fmt: skip
    """Return for every item of `x` the number of its bin: how many edges it has behind it, as `numpy.digitize`.

    Args: x: a device array of numbers, of any shape and strides.
    bins: edges that ascend or descend, in one axis: a sequence, a NumPy array (both checked, and kept on the device for
    the next call with the same edges), or a device array, of which only the direction is looked at, in the kernel.
    right: bins have their right edge, and not their left one. An item and the edges are compared in NumPy's common
    dtype. NaN is behind all edges: bin len(bins) where they ascend, 0 where they descend.
    out: a device array of the shape of `x`, of floats or of signed integers that hold len(bins); it is returned,
    nothing waits and nothing is allocated.  num_items: how many items, in C order, are looked up: an int, or a device
    array of one integer, which is read on the device, where more than `x` has are all of them and a negative number
    none.  stream: any stream object or handle; None: the current one of the arrays' framework, else the legacy default
    stream.  policy: a `TransformPolicy` instead of the measured one.
    Returns: `out`, or a new device array of int64: 0 for what is before the first edge, len(bins) for what is behind
    the last one.
    Cost: one launch; every item is read once, in as many comparisons as the number of edges has binary digits.
    Errors: Refused (a TypeError) or ValueError in one sentence: for edges out of order, or NaN among them.
    Example: 0.5, 1, 3 in bins [0, 1, 2] -> 1, 2, 3; with right=True -> 1, 1, 3.
    """
    return launched(read_digitize(x, bins, right, out=out, num_items=num_items, stream=stream, policy=policy))
