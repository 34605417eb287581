"""A reduction over a range, decided: dtypes, kernel, shape of the launch, arguments."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..block.states import HEAD
from ..errors import Refused
from ..simt import machine, ops
from ..simt.rules import check_operand
from ..simt.specs import ArraySpec, Spec, array_spec
from ..simt.states import state_dtype
from ..simt.steps import KernelStep
from .arrays import Argument, as_argument, as_output
from .dtypes import as_dtype, initial, kind_of, packed, single, spec_of, type_of, widened
from .parallel_calls import Calls, Loaded, Walked, check_function, enter_with, kernel_of, walked
from .parallel_reduce_kernels import ROW, THREADS, TILE, WARPS, first_value, free_kernel, ordered_kernel, write_kernel
from .ranges import dimensions_of, num_items
from .scratch import Scratch, reset, scratch

MOST_DTYPES = 1024
_dtypes: dict[Any, np.dtype[Any]] = {}


ZERO: Any = object()  # the `init` of sums: 0 in any dtype


class Request(NamedTuple):
    """A call as the user wrote it."""

    name: str
    range: Any
    body: Any
    args: tuple[Any, ...]
    op: Any
    init: Any
    out: Any
    dtype: Any
    stream: Any


class Reduction(NamedTuple):
    """A call with everything decided but two places of memory: where the blocks' totals go, and the result.

    payloads: of the arguments before these two.  store: spec of the totals; None for a kernel that takes none.  given:
    the arguments that a launch works on.  target: the one for `out`.
    """

    kernel: machine.Kernel
    shape: "Layout"
    payloads: list[Any]
    store: ArraySpec | None
    result: np.dtype[Any]
    stream: int
    captured: list[Argument]
    visitors: Sequence[Argument]
    given: list[Argument]
    target: Argument | None

    @property
    def slots(self) -> int:
        """How many elements of memory for totals it takes; 0 for a single block."""
        return self.shape.blocks + HEAD if self.shape.blocks > 1 else 0

    def step(self, memory: Scratch | None, out: Any) -> KernelStep:
        """Return the launch, given the memory for totals and the payload of the result's place."""
        captured = [argument.payload for argument in self.captured]
        between = []
        if self.store is not None:
            between = [_no_totals(self.store) if memory is None else memory.argument.payload]
        payloads = [*self.payloads, *between, out, *captured]
        return KernelStep(self.kernel, (self.shape.blocks, 1, 1), (self.shape.threads, 1, 1), 0, payloads)

    def launch(self, out: Any) -> None:
        """Launch, with the memory for totals that the stream has."""
        stream, memory = self.stream, None
        if self.store is not None and self.slots:
            memory = scratch("totals", self.store, self.slots, stream)
        step = self.step(memory, out)
        try:
            step.kernel.launch(step.grid, step.block, 0, stream, step.payloads)
        except BaseException:
            if memory is not None:
                reset(memory, stream)
            raise


@functools.cache
def _no_totals(spec: ArraySpec) -> Any:
    return machine.array_payload(0, (0,), None, spec.dtype)


def decided(request: Request) -> Reduction:
    """Decide a call, compiling what it needs; nothing is launched."""
    name, dimensions = request.name, dimensions_of(request.range)
    check_function(name, "the body", request.body)
    op = _operator(name, request.op)
    arguments = as_argument(request.args, f"{name}: args")
    target = None if request.out is None else _target(name, request.out)
    given = [arguments] if target is None else [arguments, target]
    if not num_items(dimensions):
        return _nothing(request, given, target)
    over, free = walked(dimensions), ops.known(op) is not None
    calls = Calls.of(request.body) if free else Calls.of(request.body, op)
    total = _total(request, over, calls, arguments, target, op)
    result = total if target is None else target.dtype
    init = _payload(total, _initial(request, total))
    store = array_spec(state_dtype(total), 1)
    specs = (
        over.counter, over.counter, *over.specs, spec_of(total), arguments.spec, store, array_spec(result, 1)
    )  # fmt: skip
    loaded = _kernel(request.body, op if free else machine.as_device(op), free, over, calls, total, specs)
    entered = enter_with(request.stream, given, calls, loaded.captured)
    items = over.walk.num_items
    shape = layout_of(items, _resident(loaded.kernel), free)
    payloads = [*over.counts(items, shape.run), *over.payloads, init, arguments.payload]
    return Reduction(loaded.kernel, shape, payloads, store, result, *entered, given, target)


def _kernel(
    body: Any, op: Any, free: bool, over: Walked, calls: Calls, total: np.dtype[Any], specs: tuple[Spec, ...]
) -> Loaded:
    """Return the kernel for a body and an operator."""
    ndim, stepped, _ = over.form

    def template() -> tuple[Any, tuple[Spec, ...]]:
        function = machine.as_device(body)
        if free:
            return free_kernel(function, op, ndim, stepped, type_of(total)), specs
        return ordered_kernel(function, op, ndim, stepped), specs

    return kernel_of(("reduce", op if free else None, total, over.form, specs), calls, template)


def _nothing(request: Request, given: list[Argument], target: Argument | None) -> Reduction:
    """Decide a call over an empty range: `init` is the result."""
    total = as_dtype(request.name, request.dtype) if target is None else packed(target.dtype)
    init = _payload(total, _initial(request, total))
    none, specs = Calls((), ()), (spec_of(total), array_spec(total, 1))
    loaded = kernel_of(("write", specs), none, lambda: (write_kernel(), specs))
    entered = enter_with(request.stream, given, none, ())
    return Reduction(loaded.kernel, Layout(0, 1, 32), [init], None, total, *entered, given, target)


def _initial(request: Request, total: np.dtype[Any]) -> Any:
    """Return the value that comes first."""
    return initial(request.name, np.zeros((), total)[()] if request.init is ZERO else request.init, total)


def _operator(name: str, op: Any) -> Any:
    """Return the built-in operator that `op` stands for, else the function itself."""
    known = ops.known(op)
    if known is None:
        check_function(name, "op", op)
    if isinstance(op, np.ufunc) and known is None:
        raise Refused(f"{name}: the ufunc {op.__name__} is not known on the GPU: pass a function that does the same.")
    return op if known is None else known


def _target(name: str, out: Any) -> Argument:
    """Return the argument for `out`; refuse what does not have one element."""
    target = as_output(out, f"{name}: out")
    if target.size != 1:
        raise ValueError(f"{name}: out must have one element, not shape {target.shape}.")
    return target


def _total(
    request: Request, over: Walked, calls: Calls, arguments: Argument, target: Argument | None, op: Any
) -> np.dtype[Any]:
    """Return the dtype in which the values are combined."""
    if request.dtype is not None:
        total = as_dtype(request.name, request.dtype)
    elif target is not None:
        total = single(packed(target.dtype))
    else:
        key = over.form, over.counter, over.specs, arguments.spec, calls.keys
        found = _dtypes.get(key)
        if found is None:
            ndim, stepped, _ = over.form
            specs = (over.counter, *over.specs, arguments.spec)
            payloads = [*over.counts(over.walk.num_items), *over.payloads, arguments.payload]
            function = first_value(machine.as_device(request.body), ndim, stepped)
            if len(_dtypes) >= MOST_DTYPES:
                _dtypes.clear()
            found = _dtypes[key] = packed(machine.returned_by(function, specs, payloads))
        total = widened(found) if op in (ops.add, ops.mul) else found
    if ops.known(op) is not None:
        check_operand(op, kind_of(total), request.name)
    return total


@functools.lru_cache(1024)
def _resident(kernel: machine.Kernel) -> int:
    """Return how many blocks of a kernel the device holds at once."""
    return machine.occupancy(kernel, THREADS, 0) * machine.properties().multiprocessors


class Layout(NamedTuple):
    """The shape of a launch. run: items of a block in the free kernel, of a warp in the ordered one."""

    run: int
    blocks: int
    threads: int


@functools.lru_cache(512)
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


def _payload(dtype: np.dtype[Any], value: Any) -> Any:
    """Return the payload of a value of `initial`."""
    if not dtype.names:
        return machine.scalar_payload(spec_of(dtype), value)  # type: ignore[arg-type]
    return machine.tuple_payload([_payload(dtype[name], part) for name, part in zip(dtype.names, value)])
