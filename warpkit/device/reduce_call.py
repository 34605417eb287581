"""From a user's call to a launch: arguments read and checked, the plan found, the result brought back or left.

A result that the user wants as a number is written by the kernel straight into page-locked host memory: no copy follows
the launch, only the wait for it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..errors import Refused
from ..host.arrays import READERS, Argument, as_argument, as_output
from ..host.arrays_layout import remember
from ..host.dtypes import as_dtype, initial
from ..host.results import landing
from ..host.scratch import reset, scratch
from ..host.streams_in import enter, keep
from ..simt import machine
from ..simt.specs import ArraySpec
from .reduce_arguments import counted, init_payload, init_spec, line_of, one_element, out_payload
from .reduce_families import Family
from .reduce_meaning import result_after
from .reduce_plan import NO_INIT, Flat, Reduction, Sized, flat_of
from .reduce_policy import ReducePolicy, policy_for
from .reduce_rules import check_goes_into, check_holds


def run(
    family: Family, x: Any, out: Any, dtype: Any, init: Any, num_items: Any, stream: Any, policy: ReducePolicy | None
) -> Any:
    """Reduce `x`; return the result as a NumPy scalar, or `out` where it goes there."""
    if family.fixed and out is not None and dtype is init is num_items is policy is None:
        run_to(family, x, out, stream)
        return out
    source = as_argument(x, "x")
    flat = flat_of(source.layout, "x")
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
    captured = () if plan.fixed else plan.captured(handle)
    sized = plan.sized(n, flat.extents)
    count = None if counter is None else line_of(counter)
    first = NO_INIT if init is None else init_payload(plan.total, initial(family.name, init, plan.total))
    if target is None:
        return fetched(family, plan, (sized, payload, count, first), captured, handle)
    plan.launch(sized, payload, count, first, out_payload(family, target), captured, handle)
    if visitors:
        keep(visitors, handle)
    return out


class Known(NamedTuple):
    """All that a call with `out` alone takes, for arrays of one layout each: what is left are addresses and a stream.

    pack_x, pack_out: (address, owner) -> payload; None: the array's own.
    """

    kernel: machine.Kernel
    sized: Sized
    store: ArraySpec
    no_store: Any
    pack_x: Any
    pack_out: Any


def run_to(family: Family, x: Any, out: Any, stream: Any) -> None:
    """Reduce `x` into `out`: `run` without other options, for families without a function of the user's."""
    reader = READERS.get(type(x))
    source = as_argument(x, "x") if reader is None else reader(x, "x")
    reader = READERS.get(type(out))
    target = as_argument(out, "out") if reader is None else reader(out, "out")
    key = source.layout, target.layout, source.device
    known = family.calls.get(key) or remember(family.calls, key, known_call(family, source, target))
    kernel, sized, spec, store, pack_x, pack_out = known
    handle, visitors = enter(stream, (source, target))
    if sized.slots:
        memory = scratch("shares", spec, sized.slots, handle)
        store = memory.argument.payload
    payloads = [
        source.payload if pack_x is None else pack_x(source.pointer, source.owner),
        sized.count,
        sized.inverses,
        NO_INIT,
        store,
        target.payload if pack_out is None else pack_out(target.pointer, target.owner),
    ]
    try:
        kernel.launch(sized.grid, sized.block, 0, handle, payloads)
    except BaseException:
        if sized.slots:
            reset(memory, handle)
        raise
    if visitors:
        keep(visitors, handle)


def known_call(family: Family, source: Argument, target: Argument) -> Known:
    """Check what the layouts of the arguments say, and decide all that they decide."""
    flat = flat_of(source.layout, "x")
    if family.finds:
        check_holds(family.name, target.dtype, flat.size - 1, "the last place")
    plan = planned(family, flat, as_output(target, "out"), None, None, None, None)
    if flat.size == 0:
        check_items(family, plan, None, None)
    out_payload(family, target)
    one_axis = len(target.layout.shape) == 1
    pack_out = None if one_axis else machine.array_packer((family.parts,), None, target.layout.dtype)
    return Known(plan.kernel, plan.sized(flat.size, flat.extents), plan.store, plan.no_store, flat.pack, pack_out)


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
    return Reduction(meaning, array, total, to or result, first, count, policy, family.fixed)


def check_items(family: Family, plan: Reduction, init: Any, counter: Argument | None) -> None:
    """Refuse to reduce nothing to something, where the host knows; where it does not, what would have no answer."""
    if init is not None:
        return
    if counter is None and family.needs_items:
        raise ValueError(f"{family.name}: there are no items and no init; pass init=, which is then the result.")
    if counter is not None and plan.ordered:
        raise Refused(f"{family.name}: with a count on the device pass init=, the result of no items.")


def fetched(
    family: Family, plan: Reduction, given: tuple[Sized, Any, Any, Any], captured: Sequence[Argument], stream: int
) -> Any:
    """Launch with what is `given`, wait, and return the result: a NumPy scalar, of two elements a tuple of them."""
    if stream and machine.is_capturing(stream):
        raise Refused(f"{family.name}: a result on the host has to be waited for, which no graph can; pass out=.")
    payload, view = landing.place(plan.result, family.parts)
    try:
        plan.launch(*given, payload, captured, stream)
        machine.stream_synchronize(stream)
    except BaseException:
        landing.leave(plan.result, family.parts)  # the kernel may still write there
        raise
    results = view.copy()
    return results[0] if family.parts == 1 else tuple(results)
