"""From a user's call of a scan to a launch: arguments read and checked, the kernel found, the result returned."""

from functools import partial
from typing import Any

import numpy as np

from ..errors import Refused
from ..host.arrays import Argument, as_output
from ..host.arrays_layout import remember
from ..host.dtypes import initial
from ..simt import machine
from ..simt.specs import array_spec
from . import again
from .calls import Job, Port, Rules, Use, entered, items_of, launched, output_of
from .overlap import check_apart, check_beside, share
from .reduce_arguments import init_payload, one_element
from .reduce_plan import Flat, flat_of
from .reduce_rules import check_goes_into
from .scan_families import ScanFamily, dtypes_of, identity, nothing
from .scan_plan import Scanning, ScanOf, source_packer, source_spec
from .scan_policy import ScanPolicy, policy_for

STATES = "tile states"
NEW = "a new array"


def run(
    family: ScanFamily, x: Any, out: Any, dtype: Any, init: Any, reverse: Any, num_items: Any, stream: Any, policy: Any
) -> Any:
    """Scan `x`; return `out`, or a new array."""
    simple = dtype is init is num_items is policy is None
    if simple and out is None:
        out = again.new_output(family.calls, (x,), NEW, stream)
    if simple and out is not None:
        arrays, options = (x, out), (bool(reverse), x is out)
        if not again.launched_again(family.calls, arrays, options, stream):
            decide = partial(read, family, x, out, None, None, reverse, None, stream, None)
            again.run(family.calls, arrays, options, stream, decide)
        return out
    job = read(family, x, out, dtype, init, reverse, num_items, stream, policy)
    if simple and job.arguments:
        again.remember_output(family.calls, job.arguments[:1], NEW, job.arguments[1])
    return launched(job)


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
    apart = not share(items.source, target)
    plan = planned(family, items.flat, line, total, init is not None, reverse, items.counter, policy)
    working = plan.working(n, apart)
    captured = () if family.fixed else working.captured(handle)
    sized = working.sized(n)
    payloads = (
        Port(0, source_spec(items.flat.spec), source_packer(items.source, items.flat)),
        Port(1, line.spec, line.pack or target.layout.pack),
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
        arguments=(items.source, target),
        rules=None if captured else rules_of(x is out, apart),
    )


def rules_of(one: bool, apart: bool) -> Rules | None:
    """Return when a call comes again: with one array again, or with two that share no memory again."""
    return Rules() if one else Rules([(0, 1, False)]) if apart else None


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
