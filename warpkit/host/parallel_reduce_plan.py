"""A reduction over a range, planned: dtypes, kernel, shape of the launch. What a repeated call looks up."""

import functools
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..block.states import HEAD
from ..errors import Refused
from ..simt import machine, ops
from ..simt.rules import check_operand
from ..simt.specs import ArraySpec, Spec, array_spec, tuple_spec
from ..simt.states import state_dtype
from .arrays import Argument
from .dtypes import as_dtype, initial, kind_of, packed, single, spec_of, type_of, widened
from .parallel_calls import Calls, Loaded, Walked, check_arguments, kernel_of, walked
from .parallel_reduce_kernels import ROW, THREADS, TILE, WARPS, first_value, free_kernel, ordered_kernel, write_kernel
from .ranges import Dimensions, num_items
from .returned import returned_by

MOST_PLANS = 1024
ZERO: Any = object()  # the `init` of sums: 0 in any dtype
_plans: "dict[Hashable, Plan]" = {}


class Meaning(NamedTuple):
    """What a user asked for, apart from range, body and arrays. op: a built-in operator, or the user's function."""

    name: str
    op: Any
    init: Any
    dtype: Any

    @property
    def free(self) -> bool:
        """Whether the operands may change places."""
        return ops.known(self.op) is not None


class Plan(NamedTuple):
    """A reduction of one range, with arguments of one kind.

    before: payloads of the arguments before the body's.  store: spec of the blocks' totals; None for the kernel that
    writes the result of no items, which takes none.  slots: how many totals; 0 for a single block.
    """

    loaded: Loaded
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    before: list[Any]
    store: ArraySpec | None
    slots: int
    result: np.dtype[Any]


def plan_of(
    meaning: Meaning, dimensions: Dimensions, body: Any, calls: Calls, arguments: Sequence[Argument], to: Any
) -> Plan:
    """Return the plan of a call, made before or now. to: dtype of `out`; None without.

    Errors: Refused for what does not go together.
    """
    specs = tuple([argument.spec for argument in arguments])
    op = meaning.op if meaning.free else None  # a function of the user's is among the calls
    key = (
        meaning.name,
        op,
        _typed(meaning.init),
        meaning.dtype,
        dimensions,
        calls.keys,
        specs,
        to,
        machine.current_device(),
    )
    try:
        found = _plans.get(key)
    except TypeError:  # an init or a dtype that has no hash
        return _new_plan(meaning, dimensions, body, calls, arguments, to)
    if found is None:
        found = _new_plan(meaning, dimensions, body, calls, arguments, to)
        if len(_plans) >= MOST_PLANS:
            _plans.clear()
        _plans[key] = found
    return found


def _typed(value: Any) -> Hashable:
    """Return a key for an `init`: 1, 1.0 and True are different ones, and so are 0.0 and −0.0; NaN is one."""
    if isinstance(value, tuple):
        return tuple(map(_typed, value))
    return type(value), repr(value) if isinstance(value, float | complex | np.inexact) else value


def _new_plan(
    meaning: Meaning, dimensions: Dimensions, body: Any, calls: Calls, arguments: Sequence[Argument], to: Any
) -> Plan:
    if not num_items(dimensions):
        return _nothing(meaning, to)
    over = walked(dimensions)
    check_arguments(meaning.name, "the body", body, len(dimensions), len(arguments))
    if not meaning.free:
        check_arguments(meaning.name, "op", meaning.op, 2)
    total = _total(meaning, over, body, arguments, to)
    init = _payload(total, _initial(meaning, total))
    store, result = array_spec(state_dtype(total), 1), total if to is None else to
    given = tuple_spec(tuple(argument.spec for argument in arguments))
    specs = (over.counter, over.counter, *over.specs, spec_of(total), given, store, array_spec(result, 1))
    loaded = _kernel(meaning, over, body, calls, total, specs)
    shape = layout_of(over.walk.num_items, _resident(loaded.kernel), meaning.free)
    before = [*over.counts(over.walk.num_items, shape.run), *over.payloads, init]
    slots = shape.blocks + HEAD if shape.blocks > 1 else 0
    return Plan(loaded, (shape.blocks, 1, 1), (shape.threads, 1, 1), before, store, slots, result)


def _nothing(meaning: Meaning, to: Any) -> Plan:
    """Return the plan for an empty range: `init` is the result."""
    total = as_dtype(meaning.name, meaning.dtype) if to is None else packed(to)
    specs = (spec_of(total), tuple_spec(()), array_spec(total, 1))
    loaded = kernel_of(("write", specs), Calls((), ()), lambda: (write_kernel(), specs))
    return Plan(loaded, (1, 1, 1), (32, 1, 1), [_payload(total, _initial(meaning, total))], None, 0, total)


def _kernel(
    meaning: Meaning, over: Walked, body: Any, calls: Calls, total: np.dtype[Any], specs: tuple[Spec, ...]
) -> Loaded:
    """Return the kernel for a body and an operator."""
    ndim, stepped, _ = over.form

    def template() -> tuple[Any, tuple[Spec, ...]]:
        function = machine.as_device(body)
        if meaning.free:
            return free_kernel(function, meaning.op, ndim, stepped, type_of(total)), specs
        return ordered_kernel(function, machine.as_device(meaning.op), ndim, stepped), specs

    what = "reduce", meaning.op if meaning.free else None, total, over.form, specs
    return kernel_of(what, calls, template)


def _total(meaning: Meaning, over: Walked, body: Any, arguments: Sequence[Argument], to: Any) -> np.dtype[Any]:
    """Return the dtype in which the values are combined."""
    if meaning.dtype is not None:
        total = as_dtype(meaning.name, meaning.dtype)
    elif to is not None:
        total = single(packed(to))
    else:
        ndim, stepped, _ = over.form
        specs = (over.counter, *over.specs, tuple_spec(tuple(argument.spec for argument in arguments)))
        given = machine.tuple_payload([argument.payload for argument in arguments])
        payloads = [*over.counts(over.walk.num_items), *over.payloads, given]
        total = packed(returned_by(first_value(machine.as_device(body), ndim, stepped), specs, payloads))
        if meaning.op in (ops.add, ops.mul):
            total = widened(total)
    if meaning.free:
        check_operand(meaning.op, kind_of(total), meaning.name)
    return total


def _initial(meaning: Meaning, total: np.dtype[Any]) -> Any:
    """Return the value that comes first."""
    return initial(meaning.name, np.zeros((), total)[()] if meaning.init is ZERO else meaning.init, total)


def _payload(dtype: np.dtype[Any], value: Any) -> Any:
    """Return the payload of a value of `initial`."""
    if not dtype.names:
        return machine.scalar_payload(spec_of(dtype), value)  # type: ignore[arg-type]
    return machine.tuple_payload([_payload(dtype[name], part) for name, part in zip(dtype.names, value)])


@functools.lru_cache(1024)
def _resident(kernel: machine.Kernel) -> int:
    """Return how many blocks of a kernel the device holds at once."""
    return machine.occupancy(kernel, THREADS, 0) * machine.properties().multiprocessors


class Layout(NamedTuple):
    """The shape of a launch. run: items of a block in the free kernel, of a warp in the ordered one."""

    run: int
    blocks: int
    threads: int


def layout_of(items: int, resident: int, free: bool) -> Layout:
    """Return the shape of a launch: no more blocks than are resident, with even shares, or a single one."""
    runs, least, most = (1, THREADS, TILE) if free else (WARPS, ROW, ROW)
    if items <= most * runs:
        warps = -(-items // (32 if free else ROW))
        return Layout(most, 1, 32 * min(warps, WARPS))
    share = -(-items // (resident * runs))
    unit = most if share >= most else least
    run = -(-share // unit) * unit
    return Layout(run, -(-items // (run * runs)), THREADS)


def operator_of(name: str, op: Any) -> Any:
    """Return the built-in operator that `op` stands for, else the function itself; refuse other ufuncs."""
    known = ops.known(op)
    if known is None and isinstance(op, np.ufunc):
        raise Refused(f"{name}: the ufunc {op.__name__} is not known on the GPU: pass a function that does the same.")
    return op if known is None else known
