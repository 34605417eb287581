"""`parallel_reduce`: combine what a function gives for every index of a range, in one launch."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import Refused
from ..simt import machine, ops
from ..simt.specs import ArraySpec
from ..simt.steps import KernelStep
from .arrays import Argument, as_argument, as_output
from .launch import Prepared, enter_with, same_spec
from .parallel_calls import Calls, check_function, rebound, settle
from .parallel_reduce_plan import ZERO, Meaning, Plan, operator_of, plan_of
from .ranges import dimensions_of, num_items
from .results import landing
from .scratch import Scratch, own_scratch, reset, scratch
from .streams import keep


def parallel_reduce_sum(
    range: Any, body: Any, *args: Any, out: Any = None, dtype: Any = None, stream: Any = None
) -> Any:
    """Add up `body(i, …, *args)` over every index of a range, on the GPU, in one launch.

    Called by: host code, from any thread.
    Args: range, body, args, stream: as for `parallel_for`; the body returns a number or a tuple of numbers.
    out: a device array of one element, which the sum overwrites; nothing waits then, nothing is allocated in steady
    state, and the call may be captured into a graph.  dtype: what the sum is formed in; None: that of `out`, else the
    body's, small integers widened to 64 bits as by NumPy; float16 is added up in float32.
    Returns: `out`; without it the sum, a NumPy scalar of `dtype` or a tuple of them, once it is there; 0 for none.
    Order: any, always the same for one range on one GPU: the same bits.
    Errors: as for `parallel_for`; Refused for a body that returns no number, or one that does not go into `dtype`.
    Example: `parallel_reduce_sum(range(3, 10, 2), lambda i: i)` -> 24
    """
    return _run(Meaning("parallel_reduce_sum", ops.add, ZERO, dtype), range, body, args, out, stream)


def parallel_reduce(
    range: Any, body: Any, op: Any, init: Any, *args: Any, out: Any = None, dtype: Any = None, stream: Any = None
) -> Any:
    """Combine `init` and `body(i, …, *args)` for every index of a range by `op`, on the GPU, in one launch.

    Called by: host code, from any thread.
    Args: as of `parallel_reduce_sum`.  op: an operator of warpkit's or what stands for it (`min`, `operator.mul`,
    `numpy.maximum`, …), or any associative function of (earlier, later), called in the order of the range on items that
    exist; it need not be commutative.  init: comes before the first item, once; it decides no dtype.
    Returns: `out`; without it the result, as `parallel_reduce_sum`, of an empty range `init`.
    Errors: as of `parallel_reduce_sum`; Refused for an operator that is not defined on the body's type, for an `init`
    that does not go into it.
    Example: `parallel_reduce(x.size, lambda i: x[i], max, -math.inf)`
    """
    return _run(_meaning(op, init, dtype), range, body, args, out, stream)


def _meaning(op: Any, init: Any, dtype: Any) -> Meaning:
    known = operator_of("parallel_reduce", op)
    check_function("parallel_reduce", "op", known)
    return Meaning("parallel_reduce", known, init, dtype)


class _Call(NamedTuple):
    """A call that is ready, but for the memory of the blocks' totals and the result's place.

    given: the body's arguments and the one for `out`.  target: that one; None without.
    """

    plan: Plan
    given: list[Argument]
    target: Argument | None
    stream: int
    captured: list[Argument]
    visitors: Sequence[Argument]

    def payloads(self, memory: Scratch | None, out: Any) -> list[Any]:
        """Return the arguments of the launch."""
        plan, given = self.plan, self.given if self.target is None else self.given[:-1]
        payloads = [*plan.before, machine.tuple_payload([argument.payload for argument in given])]
        if plan.store is not None:
            payloads.append(_no_totals(plan.store) if memory is None else memory.argument.payload)
        return [*payloads, out, *[argument.payload for argument in self.captured]]

    def launch(self, out: Any) -> None:
        """Launch, with the memory for totals that the stream has."""
        plan, memory = self.plan, None
        if plan.slots and plan.store is not None:
            memory = scratch("totals", plan.store, plan.slots, self.stream)
        try:
            plan.loaded.kernel.launch(plan.grid, plan.block, 0, self.stream, self.payloads(memory, out))
        except BaseException:
            if memory is not None:
                reset(memory, self.stream)
            raise


def _ready(meaning: Meaning, range: Any, body: Any, args: tuple[Any, ...], out: Any, stream: Any) -> _Call:
    """Read a call and plan it, compiling what it needs; nothing is launched."""
    dimensions = dimensions_of(range)
    check_function(meaning.name, "the body", body)
    given = [as_argument(arg, place) for place, arg in enumerate(args)]
    calls = Calls.of(body) if meaning.free else Calls.of(body, meaning.op)
    target = None if out is None else _target(meaning.name, out)
    plan = plan_of(meaning, dimensions, body, calls, given, None if target is None else target.dtype)
    if target is not None:
        given.append(target)
    return _Call(plan, given, target, *enter_with(stream, given, calls.arrays, plan.loaded.captured))


def _run(meaning: Meaning, range: Any, body: Any, args: tuple[Any, ...], out: Any, stream: Any) -> Any:
    """Do what was asked; return the result, or `out` where it goes there."""
    if out is None and meaning.dtype is None and not num_items(dimensions_of(range)):
        check_function(meaning.name, "the body", body)
        return 0 if meaning.init is ZERO else meaning.init
    call = _ready(meaning, range, body, args, out, stream)
    if call.target is not None:
        call.launch(_line_of(call.target))
        if call.visitors:
            keep(call.visitors, call.stream)
        return out
    if call.stream and machine.is_capturing(call.stream):
        raise Refused(f"{meaning.name}: a result on the host has to be waited for, which no graph can: pass out=.")
    payload, view = landing.place(call.plan.result)
    try:
        call.launch(payload)
        machine.stream_synchronize(call.stream)
    except BaseException:
        landing.leave(call.plan.result)
        raise
    return _value(view.copy()[0])


def _value(result: Any) -> Any:
    """Return a NumPy scalar as it is, a record as the tuple of its fields."""
    return tuple([_value(result[name]) for name in result.dtype.names]) if result.dtype.names else result


def _target(name: str, out: Any) -> Argument:
    """Return the argument for `out`; refuse what does not have one element."""
    target = as_output(out, f"{name}: out")
    if target.size != 1:
        raise ValueError(f"{name}: out must have one element, not shape {target.shape}.")
    return target


def _line_of(target: Argument) -> Any:
    """Return the payload of `out` as one axis."""
    if len(target.shape) == 1:
        return target.payload
    return machine.array_payload(target.pointer, (1,), None, target.dtype, target.owner)


def _no_totals(store: ArraySpec) -> Any:
    """Return an array of no totals."""
    return machine.array_payload(0, (0,), None, store.dtype)


def _planned(meaning: Meaning, range: Any, body: Any, args: tuple[Any, ...], out: Any, stream: Any) -> Prepared:
    """Return a call as a `Prepared`; without `out` its result is a new device array of one element."""
    call = _ready(meaning, range, body, args, out, stream)
    plan, result, target = call.plan, out, call.target
    if target is None:
        result = machine.device_array((1,), plan.result, call.stream)
        target = as_output(result, "out")
    memory = own_scratch(plan.store, plan.slots, call.stream) if plan.slots and plan.store is not None else None

    if out is None or call.captured:
        settle(call.stream)

    def again(replaced: Mapping[str, Any]) -> Prepared:
        others = dict(replaced)
        place = others.pop("out", result)
        same_spec("bind", "out", target.spec, as_output(place, "bind: out").spec)
        given = rebound(body, len(dimensions_of(range)), args, others)
        return _planned(meaning, range, body, given, place, call.stream)

    step = KernelStep(plan.loaded.kernel, plan.grid, plan.block, 0, call.payloads(memory, _line_of(target)))
    return Prepared([step], call.stream, (args, result, call.given, call.captured, memory), again, result)


def _plan_sum(range: Any, body: Any, *args: Any, out: Any = None, dtype: Any = None, stream: Any = None) -> Prepared:
    return _planned(Meaning("parallel_reduce_sum", ops.add, ZERO, dtype), range, body, args, out, stream)


def _plan(
    range: Any, body: Any, op: Any, init: Any, *args: Any, out: Any = None, dtype: Any = None, stream: Any = None
) -> Prepared:
    return _planned(_meaning(op, init, dtype), range, body, args, out, stream)


parallel_reduce_sum.plan = _plan_sum  # type: ignore[attr-defined]
parallel_reduce.plan = _plan  # type: ignore[attr-defined]
