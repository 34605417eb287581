"""From a user's call to a launch: arguments read and checked, the plan found, the result brought back or left.

A result that the user wants as a number is written by the kernel straight into page-locked host memory: no copy follows
the launch, only the wait for it.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..errors import Refused
from ..host.arrays import Argument, as_argument, as_output
from ..host.dtypes import as_dtype, initial
from ..host.results import landing
from ..host.streams_in import enter, keep
from ..simt import machine
from ..simt.specs import ArraySpec
from . import again
from .calls import Job, Port, Rules, Use
from .reduce_arguments import counted, init_payload, init_spec, line_of, one_element, out_payload
from .reduce_families import Family
from .reduce_meaning import result_after
from .reduce_plan import NO_INIT, Flat, flat_at, flat_of, lies_apart
from .reduce_policy import ReducePolicy, policy_for
from .reduce_rules import check_goes_into, check_holds
from .reduce_working import SHARES, Reduction, ReductionOf, Sized, Working


def run(
    family: Family, x: Any, out: Any, dtype: Any, init: Any, num_items: Any, stream: Any, policy: ReducePolicy | None
) -> Any:
    """Reduce `x`; return the result as a NumPy scalar, or `out` where it goes there."""
    if family.fixed and out is not None and dtype is init is num_items is policy is None:
        arrays = x, out
        if not again.launched_again(family.calls, arrays, None, stream):
            again.run(family.calls, arrays, None, stream, partial(read_to, family, x, out, stream))
        return out
    source = as_argument(x, "x")
    flat = flat_at(source, "x")
    arguments = [source]
    target = counter = None
    if out is not None:
        target = as_output(out, "out")
        arguments.append(target)
    n = flat.size
    if num_items is not None:
        n, counter = counted(family.name, num_items, flat)
        if counter is not None:
            arguments.append(counter)
    if family.finds and target is not None:
        check_holds(family.name, target.dtype, n - 1, "the last place")
    plan = planned(family, flat, target, dtype, init, counter, policy)
    if n == 0 or counter is not None:
        check_items(family, plan, init, counter)
    handle, visitors = enter(stream, arguments)
    payload = source.payload if flat.pack is None else flat.pack(source.pointer, source.owner)
    working = plan.working(n)
    captured = () if plan.fixed else working.captured(handle)
    sized = working.sized(n, flat.extents)
    count = None if counter is None else line_of(counter)
    first = NO_INIT if init is None else init_payload(plan.total, initial(family.name, init, plan.total))
    if target is None:
        return fetched(family, working, (sized, payload, count, first), captured, handle)
    working.launch(sized, payload, count, first, out_payload(family, target), captured, handle)
    if visitors:
        keep(visitors, handle)
    return out


def read_to(family: Family, x: Any, out: Any, stream: Any) -> Job:
    """Decide a call without other options, of a family without a function of the user's."""
    source, target = as_argument(x, "x"), as_output(out, "out")
    flat = flat_at(source, "x")
    if family.finds:
        check_holds(family.name, target.dtype, flat.size - 1, "the last place")
    plan = planned(family, flat, target, None, None, None, None)
    if flat.size == 0:
        check_items(family, plan, None, None)
    out_payload(family, target)
    line = flat_of(target.layout, "out")
    handle, visitors = enter(stream, (source, target))
    working = plan.working(flat.size)
    sized = working.sized(flat.size, flat.extents)
    payloads = (
        sized.count,
        Port(0, flat.spec, flat.pack or source.layout.pack),
        Port(1, line.spec, line.pack or target.layout.pack),
        sized.inverses,
        NO_INIT,
        Use(SHARES, working.store, sized.slots) if sized.slots else working.no_store,
    )
    return Job(sized.kernel, sized.grid, sized.block, 0, payloads, out, handle, visitors,
               arguments=(source, target), rules=rules_of(flat.spec))  # fmt: skip


def rules_of(spec: ArraySpec) -> Rules:
    """Return when a call comes again: wherever the arrays lie, or where x is read at once."""
    return Rules(aligned=[(0, spec.dtype.itemsize - 1)] if lies_apart(spec) else ())


def planned(
    family: Family, flat: Flat, target: Argument | None, dtype: Any, init: Any, counter: Argument | None, policy: Any
) -> Reduction:
    """Return what was compiled for such a call, compiling it where it is the first."""
    if dtype is not None:
        dtype = as_dtype(family.name, dtype)
    if policy is not None and not isinstance(policy, ReducePolicy):
        raise Refused(f"{family.name}: policy must be a ReducePolicy, not a {type(policy).__name__}.")
    to = None if target is None else target.layout.dtype
    count = None if counter is None else counter.layout.dtype
    key = (flat.spec, to, dtype, init is None, count, policy, machine.context_key())
    found = family.plans.get(key)
    if found is None:
        found = family.plans[key] = compiled(family, flat.spec, to, dtype, init, counter, policy)
    return found


def compiled(
    family: Family, array: ArraySpec, to: Any, dtype: Any, init: Any, counter: Argument | None, policy: Any
) -> Reduction:
    """Return a new `Reduction`; refuse what does not go together."""
    meaning, total, result = family.build(family.name, array.dtype, dtype)
    if to is not None:
        check_goes_into(family.name, "out", result, to)
    first = None
    if init is not None:
        meaning, first = replace(meaning, settle=result_after), init_spec(total)
    if policy is None:
        policy = policy_for(machine.properties().compute_capability, array.dtype.itemsize)
    count = None if counter is None else one_element(counter)
    return Reduction(ReductionOf(meaning, array, total, to or result, first, count, family.fixed), policy)


def check_items(family: Family, plan: Reduction, init: Any, counter: Argument | None) -> None:
    """Refuse to reduce nothing to something, where the host knows; where it does not, what would have no answer."""
    if init is not None:
        return
    if counter is None and family.needs_items:
        raise ValueError(f"{family.name}: there are no items and no init; pass init=, which is then the result.")
    if counter is not None and plan.ordered:
        raise Refused(f"{family.name}: with a count on the device pass init=, the result of no items.")


def fetched(
    family: Family, working: Working, given: tuple[Sized, Any, Any, Any], captured: Sequence[Argument], stream: int
) -> Any:
    """Launch with what is `given`, wait, and return the result: a NumPy scalar, of two elements a tuple of them."""
    if stream and machine.is_capturing(stream):
        raise Refused(f"{family.name}: a result on the host has to be waited for, which no graph can; pass out=.")
    payload, view = landing.place(working.what.result, family.parts)
    try:
        working.launch(*given, payload, captured, stream)
        machine.stream_synchronize(stream)
    except BaseException:
        landing.leave(working.what.result, family.parts)  # the kernel may still write there
        raise
    results = view.copy()
    return results[0] if family.parts == 1 else tuple(results)
