"""From a user's call to a launch: arguments read and checked, the plan found, the result brought back or left.

A result that the user wants as a number is written by the kernel straight into page-locked host memory: no copy follows
the launch, only the wait for it.
"""

import ctypes
import operator
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import Refused
from ..host.arrays import Argument, as_argument, as_output
from ..host.launch import Prepared
from ..host.scratch import own_scratch
from ..host.streams_in import enter, keep
from ..simt import machine
from ..simt.specs import ArraySpec, Spec, array_spec, scalar_spec, tuple_spec
from ..simt.steps import KernelStep
from .reduce_families import Family
from .reduce_meaning import result_after
from .reduce_plan import NO_INIT, Flat, Reduction, Sized, flat_of
from .reduce_policy import ReducePolicy, policy_for
from .reduce_rules import as_dtype, check_goes_into, initial

Options = Mapping[str, Any]


def run(
    family: Family, x: Any, out: Any, dtype: Any, init: Any, num_items: Any, stream: Any, policy: ReducePolicy | None
) -> Any:
    """Reduce `x`; return the result as a NumPy scalar, or None where it goes to `out`."""
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
    return None


def planned(
    family: Family, flat: Flat, target: Argument | None, dtype: Any, init: Any, counter: Argument | None, policy: Any
) -> Reduction:
    """Return what was compiled for such a call, compiling it where it is the first."""
    if dtype is not None:
        dtype = as_dtype(family.name, dtype)
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
    elif not isinstance(policy, ReducePolicy):
        raise Refused(f"{family.name}: policy must be a ReducePolicy, not a {type(policy).__name__}.")
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


def counted(name: str, num_items: Any, flat: Flat) -> tuple[int, Argument | None]:
    """Return (how many items, None), or (how many there can be, the argument that says on the device how many)."""
    if hasattr(num_items, "__index__") and getattr(num_items, "ndim", 0) == 0 and not hasattr(num_items, "data_ptr"):
        n = operator.index(num_items)
        if not 0 <= n <= flat.size:
            raise ValueError(f"{name}: num_items must be 0 to {flat.size}, the items of x, not {n}.")
        return n, None
    counter = as_argument(num_items, "num_items")
    if not counter.is_array or counter.size != 1 or counter.dtype.kind not in "iu":
        raise Refused(
            f"{name}: num_items must be an int or a device array of one integer, not {counter.dtype} of shape "
            f"{counter.shape}."
        )
    return flat.size, counter


def one_element(argument: Argument) -> ArraySpec:
    """Return the spec of `line_of`."""
    return array_spec(argument.dtype, 1)


def line_of(argument: Argument) -> Any:
    """Return the payload of a contiguous array as one axis."""
    if len(argument.layout.shape) == 1:
        return argument.payload
    layout = argument.layout
    return machine.array_payload(argument.pointer, (layout.size,), None, layout.dtype, argument.owner)


def out_payload(family: Family, target: Argument) -> Any:
    """Return the payload of `out` as one axis; refuse another number of elements."""
    if target.layout.size != family.parts or target.layout.strides is not None:
        raise ValueError(
            f"{family.name}: out must have {family.parts} neighbouring element{'s' * (family.parts > 1)}, not shape "
            f"{target.shape}."
        )
    return line_of(target)


def init_spec(total: np.dtype[Any]) -> Spec:
    """Return how a kernel takes a value of a total: a structured one as a tuple."""
    return tuple_spec(tuple(init_spec(total[name]) for name in total.names)) if total.names else scalar_spec(total)


def init_payload(total: np.dtype[Any], value: Any) -> Any:
    """Return the payload of a value of `initial`."""
    if not total.names:
        return machine.scalar_payload(scalar_spec(total), value)
    return machine.tuple_payload([init_payload(total[name], part) for name, part in zip(total.names, value)])


class Landing(threading.local):
    """Page-locked memory of this thread, for every dtype of a result: (payload, NumPy view)."""

    def __init__(self) -> None:
        self.places: dict[Any, tuple[Any, np.ndarray[Any, Any]]] = {}

    def place(self, dtype: np.dtype[Any], parts: int) -> tuple[Any, np.ndarray[Any, Any]]:
        """Return where a result of so many elements arrives."""
        found = self.places.get((dtype, parts))
        if found is None:
            nbytes = dtype.itemsize * parts
            pointer = machine.pinned(nbytes)
            view = np.frombuffer(memoryview((ctypes.c_char * nbytes).from_address(pointer)), dtype)
            weakref.finalize(view, machine.unpin, pointer).atexit = False
            payload = machine.array_payload(pointer, (parts,), None, dtype)
            found = self.places[dtype, parts] = payload, view
        return found


_landing = Landing()


def fetched(
    family: Family, plan: Reduction, given: tuple[Sized, Any, Any, Any], captured: Sequence[Argument], stream: int
) -> Any:
    """Launch with what is `given`, wait, and return the result: a NumPy scalar, of two elements a tuple of them."""
    if stream and machine.is_capturing(stream):
        raise Refused(f"{family.name}: a result on the host has to be waited for, which no graph can; pass out=.")
    payload, view = _landing.place(plan.result, family.parts)
    try:
        plan.launch(*given, payload, captured, stream)
        machine.stream_synchronize(stream)
    except BaseException:
        _landing.places.pop((plan.result, family.parts), None)  # the kernel may still write there
        raise
    results = view.copy()
    return results[0] if family.parts == 1 else tuple(results)


def prepared(
    family: Family, x: Any, out: Any, dtype: Any, init: Any, num_items: Any, stream: Any, policy: ReducePolicy | None
) -> Prepared:
    """Return the call as a `Prepared`; without `out` its result is a new device array of one element (or two)."""
    source = as_argument(x, "x")
    flat = flat_of(source.layout, "x")
    n, counter = (flat.size, None) if num_items is None else counted(family.name, num_items, flat)
    target = None if out is None else as_output(out, "out")
    plan = planned(family, flat, target, dtype, init, counter, policy)
    if n == 0 or counter is not None:
        check_items(family, plan, init, counter)
    arguments = [argument for argument in (source, target, counter) if argument is not None]
    handle, _ = enter(stream, arguments)
    result = out
    if target is None:
        result = machine.device_array((family.parts,), plan.result, handle)
        target = as_output(result, "out")
        plan = planned(family, flat, target, dtype, init, counter, policy)

    def again(replaced: Mapping[str, Any]) -> Prepared:
        given = {"x": x, "out": result, "init": init, "num_items": num_items}
        unknown = sorted(set(replaced) - set(given))
        if unknown:
            raise Refused(f"bind: {family.name} has no argument {unknown[0]!r}, only {', '.join(given)}.")
        given |= replaced
        return prepared(family, given["x"], given["out"], dtype, given["init"], given["num_items"], handle, policy)

    captured = plan.captured(handle)
    sized = plan.sized(n, flat.extents)
    store = own_scratch(plan.store, sized.slots, handle) if sized.slots else None
    payloads = [
        source.payload if flat.pack is None else flat.pack(source.pointer, source.owner),
        sized.count if counter is None else line_of(counter),
        sized.inverses,
        NO_INIT if init is None else init_payload(plan.total, initial(family.name, init, plan.total)),
        plan.no_store if store is None else store.argument.payload,
        out_payload(family, target),
        *[argument.payload for argument in captured],
    ]
    step = KernelStep(plan.kernel, sized.grid, sized.block, 0, payloads)
    return Prepared([step], handle, (x, result, num_items, arguments, captured, store, plan), again, result)
