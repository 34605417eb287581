"""`parallel_for`: a function for every index of a range, at the speed of a hand-written kernel."""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..simt import machine
from ..simt.steps import KernelStep
from .arrays import Argument, as_argument
from .launch import Prepared
from .parallel_calls import Calls, Walked, check_function, enter_with, kernel_of, rebound, walked
from .parallel_kernels import THREADS, TILE, each_item
from .ranges import dimensions_of, num_items
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
    loop = _loop(range, body, args, stream)
    step = loop.step
    if step is not None:
        step.kernel.launch(step.grid, step.block, 0, loop.stream, step.payloads)
        if loop.visitors:
            keep(loop.visitors, loop.stream)


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
    """A call with everything decided; no `step` for an empty range."""

    step: KernelStep | None
    stream: int
    visitors: Any
    arguments: Argument
    captured: list[Argument]


def _loop(range: Any, body: Any, args: tuple[Any, ...], stream: Any) -> Loop:
    dimensions = dimensions_of(range)
    check_function("parallel_for", "the body", body)
    arguments = as_argument(args, "parallel_for: args")
    if not num_items(dimensions):
        return Loop(None, as_stream(stream, [arguments]), (), arguments, [])
    over, calls = walked(dimensions), Calls.of(body)
    specs = (over.counter, over.counter, over.counter, *over.specs, arguments.spec)
    loaded = kernel_of("for", over.form, specs, calls, lambda: each_item(machine.as_device(body), *over.form))
    entered = enter_with(stream, [arguments], calls, loaded.captured)
    step = _step(over, loaded.kernel, [arguments, *entered.captured])
    return Loop(step, entered.stream, entered.visitors, arguments, entered.captured)


def _step(over: Walked, kernel: Any, arguments: list[Argument]) -> KernelStep:
    device, items = machine.properties(), over.walk.num_items
    resident = device.multiprocessors * device.threads_per_multiprocessor
    shape = layout_of(items, resident, device.max_grid)
    counts = over.counts(items, shape.full_items, shape.tile_items)
    payloads = [*counts, *over.payloads, *[argument.payload for argument in arguments]]
    return KernelStep(kernel, shape.grid, (shape.threads, 1, 1), 0, payloads)


def _plan(range: Any, body: Any, *args: Any, stream: Any = None) -> Prepared:
    """Return the `Prepared` of a `parallel_for`; `bind` replaces arguments by the names that the body gives them."""
    loop = _loop(range, body, args, stream)

    def again(replaced: Mapping[str, Any]) -> Prepared:
        given = rebound(body, len(dimensions_of(range)), args, replaced)
        return _plan(range, body, *given, stream=loop.stream)

    steps = [] if loop.step is None else [loop.step]
    return Prepared(steps, loop.stream, (args, loop.arguments, loop.captured, body), again)


parallel_for.plan = _plan  # type: ignore[attr-defined]
