"""From a user's call of a scan to a launch: arguments read and checked, the kernel found, the result returned."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused
from ..host.arrays import READERS, Argument, as_argument, as_output
from ..host.arrays_layout import remember
from ..host.dtypes import initial
from ..host.scratch import reset, scratch
from ..host.streams_in import enter, keep
from ..simt import machine
from ..simt.specs import array_spec
from .calls import Job, Use, entered, items_of, launched, output_of
from .overlap import check_apart, extent_of
from .reduce_arguments import init_payload, one_element
from .reduce_plan import Flat, flat_of
from .reduce_rules import check_goes_into
from .scan_families import ScanFamily, dtypes_of, identity, nothing
from .scan_plan import Scanning, ScanOf, Sized, source_packer
from .scan_policy import ScanPolicy, policy_for

STATES = "tile states"


def run(
    family: ScanFamily, x: Any, out: Any, dtype: Any, init: Any, reverse: Any, num_items: Any, stream: Any, policy: Any
) -> Any:
    """Scan `x`; return `out`, or a new array."""
    if family.fixed and out is not None and dtype is init is num_items is policy is None:
        return run_to(family, x, out, reverse, stream)
    return launched(read(family, x, out, dtype, init, reverse, num_items, stream, policy))


def read(
    family: ScanFamily, x: Any, out: Any, dtype: Any, init: Any, reverse: Any, num_items: Any, stream: Any, policy: Any
) -> Job:
    """Decide a call."""
    refuse_several(family.name, x)
    items = items_of(family.name, x, num_items)
    total, result = dtypes_of(family, items.source.dtype, dtype)
    target = None
    if out is not None:
        target = as_output(out, "out")
        check_out(family.name, items.source, target, result, items.size)
    first = first_of(family, total, init)
    handle, visitors = entered(stream, items.source, items.counter, target)
    n = items.size
    output, target = output_of(out, (n,), result, handle)
    if n == 0:
        return Job(None, (0, 0, 0), (0, 0, 0), 0, (), output, handle)
    line = flat_of(target.layout, "out")
    plan = planned(family, items.flat, line, total, init is not None, reverse, items.counter, policy)
    working = plan.working(n)
    captured = () if family.fixed else working.captured(handle)
    sized = working.sized(n)
    payloads = (
        source_packer(items.source, items.flat)(items.source.pointer, items.source.owner),
        (line.pack or target.layout.pack)(target.pointer, target.owner),
        first,
        Use(STATES, plan.states, sized.slots) if sized.slots else plan.no_states,
        sized.count if items.counter is None else items.count_payload,
        *[argument.payload for argument in captured],
    )
    held = (items, target, captured, plan)
    return Job(
        sized.kernel,
        sized.grid,
        sized.block,
        sized.shared,
        payloads,
        output,
        handle,
        visitors,
        held,
        copied=bool(captured),
    )


def refuse_several(name: str, x: Any) -> None:
    """Refuse several arrays."""
    if isinstance(x, tuple | list):
        raise Refused(f"{name}: x must be one array; several are scanned as the fields of a structured array.")


def first_of(family: ScanFamily, total: np.dtype[Any], init: Any) -> Any:
    """Return the payload of what comes before the first item: zero, unread, where nothing does."""
    if init is not None:
        return init_payload(total, initial(family.name, init, total))
    if not family.exclusive:
        return init_payload(total, nothing(total))
    if not family.fixed:
        raise ValueError(f"{family.name}: there is no init, which an operator without a known identity needs.")
    return init_payload(total, identity(family.op, total))


def check_out(name: str, source: Argument, target: Argument, result: np.dtype[Any], n: int) -> None:
    """Refuse an `out` of another size, of a dtype that results do not go into, of several axes that do not line up, or
    that shares memory with x without being x."""
    if target.size not in (n, source.size):
        raise ValueError(f"{name}: out must have {n} elements, as many as are scanned, not shape {target.shape}.")
    check_goes_into(name, "out", result, target.dtype)
    if target.size and flat_of(target.layout, "out").spec.ndim > 1:
        raise Refused(
            f"{name}: out (shape {target.shape}, strides {target.strides}) has axes that do not line up; pass an array "
            "in C order or of one axis."
        )
    check_apart(name, source, target)


def planned(
    family: ScanFamily, flat: Flat, line: Flat, total: Any, starts: bool, reverse: Any, counter: Any, policy: Any
) -> Scanning:
    """Return what was decided for such a call."""
    if policy is not None and not isinstance(policy, ScanPolicy):
        raise Refused(f"{family.name}: policy must be a ScanPolicy, not a {type(policy).__name__}.")
    count = None if counter is None else one_element(counter)
    starts, reverse = starts or family.exclusive, bool(reverse)
    key = (flat.spec, line.spec, total, starts, reverse, count, policy, machine.context_key())
    found = family.plans.get(key)
    if found is None:
        if policy is None:
            policy = policy_for(machine.properties().compute_capability, flat.spec.dtype, total)
        out = array_spec(line.spec.dtype, 1, line.spec.contiguous)
        what = ScanOf(family, flat.spec, out, total, starts, reverse, count)
        found = remember(family.plans, key, Scanning(what, policy))
    return found


class Known(NamedTuple):
    """All that a call with `out` alone takes, for arrays of one layout each: what is left are addresses and a stream.

    low, high: of x from its address on, bytes; out_low, out_high: of out.  pack_x, pack_out: (address, owner) ->
    payload.
    """

    plan: Scanning
    sized: Sized | None
    first: Any
    low: int
    high: int
    out_low: int
    out_high: int
    pack_x: Callable[[int, Any], Any]
    pack_out: Callable[[int, Any], Any]


def run_to(family: ScanFamily, x: Any, out: Any, reverse: Any, stream: Any) -> Any:
    """Scan `x` into `out`: `run` without other options, for operators that are no function of the user's."""
    reader = READERS.get(type(x))
    source = as_argument(x, "x") if reader is None else reader(x, "x")
    reader = READERS.get(type(out))
    target = as_argument(out, "out") if reader is None else reader(out, "out")
    key = source.layout, target.layout, source.device, reverse
    known = family.calls.get(key) or remember(family.calls, key, known_call(family, x, source, target, reverse))
    plan, sized, first, low, high, out_low, out_high, pack_x, pack_out = known
    begin, to = source.pointer, target.pointer
    if begin + low < to + out_high and to + out_low < begin + high:
        check_apart(family.name, source, target)
    handle, visitors = enter(stream, (source, target))
    if sized is None:
        return out
    states = plan.no_states
    if sized.slots:
        memory = scratch(STATES, plan.states, sized.slots, handle)
        states = memory.argument.payload
    payloads = [pack_x(begin, source.owner), pack_out(to, target.owner), first, states, sized.count]
    try:
        sized.kernel.launch(sized.grid, sized.block, sized.shared, handle, payloads)
    except BaseException:
        if sized.slots:
            reset(memory, handle)
        raise
    if visitors:
        keep(visitors, handle)
    return out


def known_call(family: ScanFamily, x: Any, source: Argument, target: Argument, reverse: Any) -> Known:
    """Check what the layouts of the arguments say, and decide all that they decide."""
    refuse_several(family.name, x)
    flat = flat_of(source.layout, "x")
    total, result = dtypes_of(family, source.dtype, None)
    check_out(family.name, source, as_output(target, "out"), result, flat.size)
    line, first = flat_of(target.layout, "out"), first_of(family, total, None)
    plan = planned(family, flat, line, total, False, reverse, None, None)
    sized = plan.working(flat.size).sized(flat.size) if flat.size else None
    packs = source_packer(source, flat), line.pack or target.layout.pack
    return Known(plan, sized, first, *extent_of(source.layout), *extent_of(target.layout), *packs)
