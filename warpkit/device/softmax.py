"""Softmax of the rows of a device array: one launch, memory read once and written once."""

from typing import Any

import numpy as np

from ..errors import Refused
from ..host.arrays import as_argument, as_output
from .calls import Job, check_shape, entered, launched, output_of, prepares
from .overlap import check_apart
from .reduce_rules import check_goes_into
from .softmax_plan import DEFAULT, SoftmaxPolicy, launch_of

NAME = "softmax"
NOTHING = (0, 0, 0)


def read_softmax(
    x: Any, *, out: Any = None, axis: int = -1, stream: Any = None, policy: SoftmaxPolicy | None = None
) -> Job:
    """Decide a call of `softmax`."""
    source = as_argument(x, "x")
    if not source.is_array or source.dtype.kind not in "iuf" or source.dtype.names:
        what = source.dtype if source.is_array else f"a {type(x).__name__}"
        raise Refused(
            f"{NAME}: x must be a device array of real numbers, not {what}; convert it, or pass a part of it."
        )
    ndim = len(source.shape)
    if not ndim:
        raise Refused(f"{NAME}: x has no axis, and results add up to 1 along the last one; pass an array of one item.")
    if axis not in (-1, ndim - 1):
        raise Refused(
            f"{NAME}: axis must be the last one, -1, not {axis!r}; transpose x, in its strides or by transpose."
        )
    if policy is None:
        policy = DEFAULT
    elif not isinstance(policy, SoftmaxPolicy):
        raise Refused(f"{NAME}: policy must be a SoftmaxPolicy, not a {type(policy).__name__}.")
    total = np.float32 if source.dtype.kind == "f" and source.dtype.itemsize <= 4 else np.float64
    dtype = source.dtype if source.dtype.kind == "f" else np.dtype(np.float64)
    target = None if out is None else as_output(out, "out")
    if target is not None:
        check_shape(NAME, target, source.shape)
        check_goes_into(NAME, "out", dtype, target.dtype)
        if target.dtype.kind != "f":
            raise Refused(f"{NAME}: out must be of a float dtype, not {target.dtype}.")
        check_apart(NAME, source, target)
    handle, visitors = entered(stream, source, target)
    result, target = output_of(out, source.shape, dtype, handle)
    if not source.size:
        return Job(None, NOTHING, NOTHING, 0, (), result, handle)
    kernel, blocks, threads, packs, rest = launch_of(source, target, total, policy)
    payloads = [packs[0](source.pointer, source.owner), packs[1](target.pointer, target.owner), *rest]
    return Job(kernel, (blocks, 1, 1), (threads, 1, 1), 0, payloads, result, handle, visitors, (source, target))


@prepares(read_softmax, "x", "out")
def softmax(x: Any, *, out: Any = None, axis: int = -1, stream: Any = None, policy: SoftmaxPolicy | None = None) -> Any:
    """Return exp(x) over its sum along the last axis, computed so that nothing overflows.

    Computed in float32 for float16 and float32, else in float64.
    Args: x: a device array of real numbers, of one or more axes, of any strides.  out: a device array of the shape of
    `x` and a float dtype, `x` itself or memory of its own; it is returned, nothing waits and nothing is allocated.
    axis: the last one.  stream: any stream object or handle; None: the current one of the arrays' framework, else the
    legacy default stream.  policy: a `SoftmaxPolicy` instead of the measured one.
    Returns: `out`, or a new device array in C order, of the dtype of `x`, of float64 for integers. −inf gives 0; a row
    of nothing but −inf, one with +inf and one with NaN are NaN throughout, as for torch and SciPy.
    Cost: rows of up to 32,768 items (16,384 in float64) are read once, 16 bytes at a time where they begin at multiples
    of 16 bytes and are whole such vectors, else in the widest vectors for which that is so; longer rows are read twice,
    the second time from the L2 cache as far as it goes.
    Deterministic: the same bits every time on the same device, whatever else runs.
    Errors: Refused (a TypeError) or ValueError in one sentence.
    Example: 0, log 3 -> 0.25, 0.75.
    """
    return launched(read_softmax(x, out=out, axis=axis, stream=stream, policy=policy))
