"""`parallel_for`: a function for every index of a range, at the speed of a hand-written kernel."""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..simt import machine
from ..simt.specs import Spec, tuple_spec
from ..simt.steps import KernelStep
from .arrays import Argument, as_argument
from .launch import Prepared, enter_with
from .parallel_calls import (
    Calls,
    Loaded,
    check_arguments,
    check_function,
    kernel_of,
    rebound,
    settle,
    walked,
)
from .parallel_kernels import THREADS, TILE, each_item
from .ranges import Dimensions, dimensions_of, num_items
from .streams import as_stream, keep

Triple = tuple[int, int, int]
WARP = 32


def parallel_for(range: Any, body: Any, *args: Any, stream: Any = None) -> None:
    """Call `body(i, …, *args)` for every index of a range, on the GPU; the calls may run in any order, all at once.

    Called by: host code, from any thread; also while the stream is captured into a graph (`prepare` it before, so that
    nothing is left to compile).
    Args: range: an integer n; a Python `range`; a `Range(begin, end, step)`; or a tuple with one entry per dimension (1
    to 4, the last index fastest), each an integer, a Python `range` or (begin, end[, step]). So (3, 5) is 3 × 5, and
    range(3, 5) goes from 3 to 4. Each dimension means what Python's `range` means, negative steps too.
    body: a device function, a Python function or a lambda, called with one int64 per dimension and then `args`; what it
    returns is dropped. A lambda cannot assign: use `def`, or `operator.setitem(y, i, value)`.
    args: device arrays, numbers, tuples, records, as for `launch`.
    stream: any stream object or handle; None: the current stream of the first array's framework, else the legacy one.
    Order: after the work that the stream has. An empty range launches nothing.
    Cost: compiles once for what the body is, the number of dimensions and the types of `args`. Arrays that the body
    captures are arguments: other arrays and other contents are seen and compile nothing anew; a captured number is a
    constant, and a changed one compiles again. NumPy arrays that are captured are copied to the GPU for each call.
    Errors: ValueError for a step of 0, more than four dimensions or 2**63 items; TypeError for what is no integer;
    Refused for what cannot be an argument or a body. Nothing is launched then.
    Example: `parallel_for(y.size, lambda i: operator.setitem(y, i, 2 * x[i]))`
    """
    loop = _loop_over(range)
    arguments: list[Argument] = []
    specs: list[Any] = []
    payloads: list[Any] = []
    for place, arg in enumerate(args):  # one loop: this is what a call costs
        argument = as_argument(arg, place)
        arguments.append(argument)
        specs.append(argument.spec)
        payloads.append(argument.payload)
    check_function("parallel_for", "the body", body)
    if loop is None:
        as_stream(stream, arguments)
        return
    calls = Calls.of(body)
    loaded = _kernel(loop, tuple(specs), calls, body)
    handle, captured, visitors = enter_with(stream, arguments, calls.arrays, loaded.captured)
    given = [*loop.payloads, machine.tuple_payload(payloads)]
    if captured:
        given += [argument.payload for argument in captured]
    loaded.kernel.launch(loop.grid, loop.block, 0, handle, given)
    if visitors:
        keep(visitors, handle)


class Layout(NamedTuple):
    """The shape of a launch.

    full_items: how many items are in full tiles, which no thread asks about.  tile_items: of a block.
    """

    grid: Triple
    threads: int
    full_items: int
    tile_items: int


@functools.lru_cache(512)
def layout_of(items: int, resident: int, most: Triple) -> Layout:
    """Return the shape of a launch over `items` items.

    Args: resident: how many threads run at once; so many items are one a thread, for then latency counts.  most: blocks
    along each axis of a grid.
    """
    if items <= resident:
        threads = min(THREADS, -(-items // WARP) * WARP)
        return Layout(_grid(-(-items // threads), most), threads, 0, threads)
    return Layout(_grid(-(-items // TILE), most), THREADS, items // TILE * TILE, TILE)


def _grid(blocks: int, most: Triple) -> Triple:
    columns = min(blocks, most[0])
    rows = min(-(-blocks // columns), most[1])
    return columns, rows, -(-blocks // (columns * rows))


class Loop(NamedTuple):
    """Everything about a range that is not empty: the shape of its launch, and the arguments before the body's."""

    form: tuple[int, bool, bool]
    grid: Triple
    block: Triple
    specs: tuple[Spec, ...]
    payloads: list[Any]


def _loop_over(given: Any) -> Loop | None:
    """Return what a range that a user wrote means on the current device; None for an empty one."""
    kind = type(given)
    if kind is int or kind is range or (kind is tuple and {*map(type, given)} == {int}):
        return _plain_loop(given, machine.current_device())
    return _loop(dimensions_of(given), machine.current_device())


@functools.lru_cache(512)
def _plain_loop(given: int | range | tuple[int, ...], device: int) -> Loop | None:
    return _loop(dimensions_of(given), device)


@functools.lru_cache(512)
def _loop(dimensions: Dimensions, device: int) -> Loop | None:
    items = num_items(dimensions)
    if not items:
        return None
    over, limits = walked(dimensions), machine.properties(device)
    shape = layout_of(items, limits.multiprocessors * limits.threads_per_multiprocessor, limits.max_grid)
    counts = over.counts(items, shape.full_items, shape.tile_items)
    specs = (over.counter, over.counter, over.counter, *over.specs)
    return Loop(over.form, shape.grid, (shape.threads, 1, 1), specs, [*counts, *over.payloads])


def _kernel(loop: Loop, specs: tuple[Spec, ...], calls: Calls, body: Any) -> Loaded:
    """Return the kernel for a body and the types of its arguments."""

    def template() -> tuple[Any, tuple[Spec, ...]]:
        check_arguments("parallel_for", "the body", body, loop.form[0], len(specs))
        return each_item(machine.as_device(body), *loop.form), (*loop.specs, tuple_spec(specs))

    return kernel_of(("for", loop.form, loop.specs, specs), calls, template)


def _plan(range: Any, body: Any, *args: Any, stream: Any = None) -> Prepared:
    """Return the `Prepared` of a `parallel_for`; `bind` replaces arguments by the names that the body gives them."""
    loop = _loop_over(range)
    check_function("parallel_for", "the body", body)
    arguments = [as_argument(arg, place) for place, arg in enumerate(args)]
    ndim = len(dimensions_of(range))
    steps: list[KernelStep] = []
    captured: list[Argument] = []
    if loop is None:
        handle = as_stream(stream, arguments)
    else:
        calls = Calls.of(body)
        loaded = _kernel(loop, tuple(argument.spec for argument in arguments), calls, body)
        handle, captured, _ = enter_with(stream, arguments, calls.arrays, loaded.captured)
        given = machine.tuple_payload([argument.payload for argument in arguments])
        payloads = [*loop.payloads, given, *[argument.payload for argument in captured]]
        steps = [KernelStep(loaded.kernel, loop.grid, loop.block, 0, payloads)]
        if captured:
            settle(handle)

    def again(replaced: Mapping[str, Any]) -> Prepared:
        return _plan(range, body, *rebound(body, ndim, args, replaced), stream=handle)

    return Prepared(steps, handle, (args, arguments, captured, body), again)


parallel_for.plan = _plan  # type: ignore[attr-defined]
