"""From a user's call of a scan to a launch: arguments read and checked, the kernel found, the result returned."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused
from ..host.arrays import Argument, as_argument, as_output
from ..host.arrays_layout import remember
from ..host.dtypes import initial
from ..host.scratch import reset, scratch
from ..host.streams_in import enter, keep
from ..simt import machine
from ..simt.specs import ArraySpec, ScalarSpec, array_spec
from .again import read_again
from .calls import Job, Use, entered, items_of, launched, output_of
from .overlap import check_apart, check_beside, extent_of, in_one_place
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
        check_beside(family.name, target, num_items=items.counter)
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
        init_payload(total, first),
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
    """Return what comes before the first item: zero, unread, where nothing does."""
    if init is not None:
        return initial(family.name, init, total)
    if not family.exclusive:
        return nothing(total)
    if not family.fixed:
        raise ValueError(f"{family.name}: there is no init, which an operator without a known identity needs.")
    return identity(family.op, total)


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

    first: what comes before the first item.  low, high: of x from its address on, bytes; out_low, out_high: of out.
    in_one_place: at one address, they are one array.  pack_x, pack_out: (address, owner) -> payload.
    templates: of launches, by the number of tile states.
    """

    plan: Scanning
    sized: Sized | None
    first: Any
    low: int
    high: int
    out_low: int
    out_high: int
    in_one_place: bool
    pack_x: Callable[[int, Any], Any]
    pack_out: Callable[[int, Any], Any]
    templates: dict[int, Any]


def run_to(family: ScanFamily, x: Any, out: Any, reverse: Any, stream: Any) -> Any:
    """Scan `x` into `out`: `run` without other options, for operators that are no function of the user's."""
    calls = family.calls.setdefault(bool(reverse), {})
    if run_again(calls, x, out, stream):
        return out
    source, target = as_argument(x, "x"), as_argument(out, "out")
    key = source.layout, target.layout, source.device
    known = calls.get(key) or remember(calls, key, known_call(family, x, source, target, reverse))
    check_apart(family.name, source, target)
    handle, visitors = enter(stream, (source, target))
    sized, plan = known.sized, known.plan
    if sized is None:
        return out
    memory = scratch(STATES, plan.states, sized.slots, handle) if sized.slots else None
    payloads = [
        known.pack_x(source.pointer, source.owner),
        known.pack_out(target.pointer, target.owner),
        init_payload(plan.total, known.first),
        plan.no_states if memory is None else memory.argument.payload,
        sized.count,
    ]
    try:
        sized.kernel.launch(sized.grid, sized.block, sized.shared, handle, payloads)
    except BaseException:
        if memory is not None:
            reset(memory, handle)
        raise
    if visitors:
        keep(visitors, handle)
    return out


def run_again(calls: dict[Any, Known], x: Any, out: Any, stream: Any) -> bool:
    """Do `run_to` for arrays of known layouts at the cost of the driver's own call; False: nothing done."""
    pair = read_again(x, out, stream)
    known = None if pair is None else calls.get(pair.key)
    if pair is None or known is None:
        return False
    plan, sized, first, low, high, out_low, out_high, in_one_place, _, _, templates = known
    _, begin, to, handle = pair
    if sized is None:
        return False
    if begin + low < to + out_high and to + out_low < begin + high and (begin != to or not in_one_place):
        return False
    memory, slots, states = None, 0, 0
    if sized.slots:
        memory = scratch(STATES, plan.states, sized.slots, handle)
        slots, states = memory.slots, memory.pointer
    template = templates.get(slots)
    if template is None:
        template = templates[slots] = template_of(known, slots)
    try:
        return template and template(
            sized.grid,
            sized.block,
            sized.shared,
            handle,
            (begin, to, first, states, sized.n),
            (x, out, None, None, None),
        )
    except BaseException:
        if memory is not None:
            reset(memory, handle)
        raise


def template_of(known: Known, slots: int) -> Any:
    """Return the template of launches with so many tile states; False for arguments of more than one slot each."""
    specs = known.plan.specs
    if known.sized is None or not all(isinstance(spec, ArraySpec | ScalarSpec) for spec in specs):
        return False
    states = machine.array_packer((slots,), None, known.plan.states.dtype)
    packs = known.pack_x, known.pack_out, states, states, states  # those of numbers mean nothing
    return machine.template(known.sized.kernel, specs, packs) or False


def known_call(family: ScanFamily, x: Any, source: Argument, target: Argument, reverse: Any) -> Known:
    """Check what the layouts of the arguments say, and decide all that they decide."""
    refuse_several(family.name, x)
    flat = flat_of(source.layout, "x")
    total, result = dtypes_of(family, source.dtype, None)
    check_out(family.name, source, as_output(target, "out"), result, flat.size)
    line, first = flat_of(target.layout, "out"), first_of(family, total, None)
    plan = planned(family, flat, line, total, False, reverse, None, None)
    sized = plan.working(flat.size).sized(flat.size) if flat.size else None
    spans = *extent_of(source.layout), *extent_of(target.layout), in_one_place(source, target)
    return Known(plan, sized, first, *spans, source_packer(source, flat), line.pack or target.layout.pack, {})
