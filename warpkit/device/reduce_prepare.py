"""Reductions prepared: the planning half of a call, kept."""

from collections.abc import Mapping
from typing import Any

from ..errors import Refused
from ..host.arrays import as_argument, as_output
from ..host.dtypes import initial
from ..host.launch import Prepared
from ..host.scratch import own_scratch
from ..host.streams_in import enter
from ..simt import machine
from ..simt.steps import KernelStep
from .reduce_arguments import counted, init_payload, line_of, out_payload
from .reduce_call import check_items, planned
from .reduce_families import Family
from .reduce_plan import NO_INIT, flat_at
from .reduce_policy import ReducePolicy
from .reduce_rules import check_holds


def prepared(
    family: Family, x: Any, out: Any, dtype: Any, init: Any, num_items: Any, stream: Any, policy: ReducePolicy | None
) -> Prepared:
    """Return the call as a `Prepared`; without `out` its result is a new device array of one element (or two)."""
    source = as_argument(x, "x")
    flat = flat_at(source, "x")
    n, counter = (flat.size, None) if num_items is None else counted(family.name, num_items, flat)
    target = None if out is None else as_output(out, "out")
    if family.finds and target is not None:
        check_holds(family.name, target.dtype, n - 1, "the last place")
    plan = planned(family, flat, target, dtype, init, counter, policy)
    if n == 0 or counter is not None:
        check_items(family, plan, init, counter)
    arguments = [argument for argument in (source, target, counter) if argument is not None]
    handle, _ = enter(stream, arguments)
    result = out
    if target is None:
        result = machine.device_array((family.parts,), plan.result, handle)
        if not machine.is_capturing(handle):
            machine.stream_synchronize(handle)  # from now on it is there for work on any stream
        target = as_output(result, "out")
        plan = planned(family, flat, target, dtype, init, counter, policy)

    def again(replaced: Mapping[str, Any]) -> Prepared:
        given = {"x": x, "out": result, "init": init, "num_items": num_items}
        unknown = sorted(set(replaced) - set(given))
        if unknown:
            raise Refused(f"bind: {family.name} has no argument {unknown[0]!r}, only {', '.join(given)}.")
        given |= replaced
        return prepared(family, given["x"], given["out"], dtype, given["init"], given["num_items"], handle, policy)

    working = plan.working(n)
    captured = working.captured(handle)
    sized = working.sized(n, flat.extents)
    store = own_scratch(working.store, sized.slots, handle) if sized.slots else None
    payloads = [
        sized.count if counter is None else line_of(counter),
        source.payload if flat.pack is None else flat.pack(source.pointer, source.owner),
        out_payload(family, target),
        sized.inverses,
        NO_INIT if init is None else init_payload(plan.total, initial(family.name, init, plan.total)),
        working.no_store if store is None else store.argument.payload,
        *[argument.payload for argument in captured],
    ]
    step = KernelStep(sized.kernel, sized.grid, sized.block, 0, payloads)
    return Prepared([step], handle, (x, result, num_items, arguments, captured, store, plan), again, result)
