"""`parallel_reduce`: combine what a function gives for every index of a range, in one launch."""

from collections.abc import Mapping
from typing import Any

from ..errors import Refused
from ..simt import machine, ops
from .arrays import Argument, as_output
from .launch import Prepared, same_spec
from .parallel_calls import check_function, rebound
from .parallel_reduce_plan import ZERO, Request, decided
from .ranges import dimensions_of, num_items
from .results import landing
from .scratch import own_scratch
from .streams import keep


def parallel_reduce_sum(
    range: Any, body: Any, *args: Any, out: Any = None, dtype: Any = None, stream: Any = None
) -> Any:
    """Add up `body(i, …, *args)` over every index of a range, on the GPU, in one launch.

    Args: range, body, args, stream: as for `parallel_for`; the body returns a number or a tuple of numbers.
    out: a device array of one element, which the sum overwrites; nothing waits then, nothing is allocated in steady
    state, and the call may be captured into a graph.  dtype: what the sum is formed in; None: that of `out`, else the
    body's, small integers widened to 64 bits as by NumPy; float16 is added up in float32.
    Returns: without `out` the sum, a NumPy scalar of `dtype` or a tuple of them, once it is there; of an empty range 0.
    Order: any, always the same for one range on one GPU: the same bits.
    Errors: as for `parallel_for`; Refused for a body that returns no number, or one that does not go into `dtype`.
    Example: `parallel_reduce_sum(range(3, 10, 2), lambda i: i)` -> 24
    """
    return _run(Request("parallel_reduce_sum", range, body, args, ops.add, ZERO, out, dtype, stream))


def parallel_reduce(
    range: Any, body: Any, op: Any, init: Any, *args: Any, out: Any = None, dtype: Any = None, stream: Any = None
) -> Any:
    """Combine `init` and `body(i, …, *args)` for every index of a range by `op`, on the GPU, in one launch.

    Args: as of `parallel_reduce_sum`.  op: an operator of warpkit's or what stands for it (`min`, `operator.mul`,
    `numpy.maximum`, …), or any associative function of (earlier, later), called in the order of the range on items that
    exist; it need not be commutative.  init: comes before the first item, once; it decides no dtype.
    Returns: without `out` the result, as `parallel_reduce_sum`; of an empty range `init`.
    Errors: as of `parallel_reduce_sum`; Refused for an operator that is not defined on the body's type, for an `init`
    that does not go into it.
    Example: `parallel_reduce(x.size, lambda i: x[i], max, -math.inf)`
    """
    return _run(Request("parallel_reduce", range, body, args, op, init, out, dtype, stream))


def _run(request: Request) -> Any:
    """Do what was asked; return the result, or None where it goes to `out`."""
    if request.out is None and request.dtype is None and not num_items(dimensions_of(request.range)):
        check_function(request.name, "the body", request.body)
        return 0 if request.init is ZERO else request.init
    plan = decided(request)
    stream = plan.stream
    if plan.target is not None:
        plan.launch(_line_of(plan.target))
        if plan.visitors:
            keep(plan.visitors, stream)
        return None
    if stream and machine.is_capturing(stream):
        raise Refused(f"{request.name}: a result on the host has to be waited for, which no graph can: pass out=.")
    payload, view = landing.place(plan.result)
    try:
        plan.launch(payload)
        machine.stream_synchronize(stream)
    except BaseException:
        landing.leave(plan.result)
        raise
    return _value(view.copy()[0])


def _value(result: Any) -> Any:
    """Return a NumPy scalar as it is, a record as the tuple of its fields."""
    return tuple([_value(result[name]) for name in result.dtype.names]) if result.dtype.names else result


def _line_of(target: Argument) -> Any:
    """Return the payload of `out` as one axis."""
    if len(target.shape) == 1:
        return target.payload
    return machine.array_payload(target.pointer, (1,), None, target.dtype, target.owner)


def _planned(request: Request) -> Prepared:
    """Return a call as a `Prepared`; without `out` its result is a new device array of one element."""
    plan = decided(request)
    result, target, stream = request.out, plan.target, plan.stream
    if target is None:
        result = machine.device_array((1,), plan.result, stream)
        target = as_output(result, "out")
    memory = own_scratch(plan.store, plan.slots, stream) if plan.store is not None and plan.slots else None

    def again(replaced: Mapping[str, Any]) -> Prepared:
        others = dict(replaced)
        place = others.pop("out", result)
        same_spec("bind", "out", target.spec, as_output(place, "bind: out").spec)
        given = rebound(request.body, len(dimensions_of(request.range)), request.args, others)
        return _planned(request._replace(args=given, out=place, stream=stream))

    kept = request.args, result, plan.given, plan.captured, memory
    return Prepared([plan.step(memory, _line_of(target))], stream, kept, again, result)


def _plan_sum(range: Any, body: Any, *args: Any, out: Any = None, dtype: Any = None, stream: Any = None) -> Prepared:
    return _planned(Request("parallel_reduce_sum", range, body, args, ops.add, ZERO, out, dtype, stream))


def _plan(
    range: Any, body: Any, op: Any, init: Any, *args: Any, out: Any = None, dtype: Any = None, stream: Any = None
) -> Prepared:
    return _planned(Request("parallel_reduce", range, body, args, op, init, out, dtype, stream))


parallel_reduce_sum.plan = _plan_sum  # type: ignore[attr-defined]
parallel_reduce.plan = _plan  # type: ignore[attr-defined]
