"""Launching a kernel at the cost of the driver's own call, once or again and again."""

from collections.abc import Mapping, Sequence
from inspect import signature
from types import FunctionType
from typing import Any

import numpy as np

from ..errors import Refused
from ..simt import machine
from ..simt.specs import Spec
from ..simt.steps import KernelStep
from .arrays import Argument, as_argument
from .identity import Identity
from .launch_again import launched_again, remember_launch
from .prepared import Prepared
from .program import Program, check_number
from .streams import enter, keep

Extent = int | tuple[int, ...]
Triple = tuple[int, int, int]


def launch(kernel: Any, grid: Extent, block: Extent, *args: Any, stream: Any = None, shared: int = 0) -> None:
    """Launch a kernel of yours on a stream, for about two raw launches: `kernel[grid, block, stream, shared](*args)`.

    Called by: host code, from any thread; also while the stream is captured into a graph.
    Args: kernel: decorated with `cuda.jit`, or a plain Python function of the same form.  grid, block: blocks and
    threads, an int or a tuple of up to three.  args: device arrays (numba, CuPy, torch, JAX, anything with
    `__cuda_array_interface__` or DLPack), numbers, tuples, records.  stream: any stream object or handle; None: the
    current stream of the first argument's framework, else the legacy default stream.  shared: bytes of dynamic shared
    memory, up to what the GPU has.
    Order: after the work that the stream has; an empty grid launches nothing.
    Cost: compiles once for each set of argument types, and again only when a global or captured value that the kernel
    reads has changed. Captured arrays are read at every launch, not frozen; NumPy ones are uploaded each time.
    Errors: Refused or ValueError for what cannot be an argument, a grid or a block; nothing is launched then.
    """
    whole = (grid, 1, 1) if type(grid) is int and grid > 0 else extent("grid", grid)
    size = (block, 1, 1) if type(block) is int and block > 0 else extent("block", block)
    if type(shared) is not int or shared < 0:
        shared = dynamic_bytes(shared)
    try:
        program = kernel._warpkit_program
    except AttributeError:
        program = program_of(kernel)
    if program is not None and launched_again(program, whole, size, shared, stream, args):
        return
    arguments = arguments_of(args)
    if program is None:
        check_number(machine.decorated(kernel)[0], len(args))
        handle, _ = enter(stream, arguments)
        if 0 not in whole:
            machine.launch_by_numba(kernel, whole, size, shared, handle, args)
        return
    compiled, known = program.compiled(tuple([argument.spec for argument in arguments]))
    payloads = [argument.payload for argument in arguments]
    if compiled.captured:
        handle, captured, visitors = enter_with(stream, arguments, known.arrays, compiled.captured)
        payloads += [argument.payload for argument in captured]
    else:
        handle, visitors = enter(stream, arguments)
        remember_launch(program, compiled, args, arguments)
    if 0 in whole:
        return
    compiled.kernel.launch(whole, size, shared, handle, payloads)
    if visitors:
        keep(visitors, handle)


def prepare(function: Any, *args: Any, **options: Any) -> Prepared:
    """Decide a call once and return it as a `Prepared`, which repeats it.

    Args: function: a kernel, followed by grid, block and its arguments as for `launch` (options: stream, shared); or an
    array function or parallel form of warpkit, followed by its own arguments and options.
    Returns: a `Prepared`; nothing has been launched.
    Cost: compiles. A call of the result packs nothing, allocates nothing, never waits, and may be captured.
    Errors: those of the call itself.
    Example: `p = prepare(kernel, 8, 256, x, y); p(); p(stream); p.bind(x=other)()`
    """
    plan = getattr(function, "plan", None)
    if plan is not None:
        return plan(*args, **options)
    if len(args) < 2:
        raise Refused("prepare: a kernel is followed by grid, block and its arguments.")
    return prepare_kernel(function, *args, **options)


def prepare_kernel(
    kernel: Any, grid: Extent, block: Extent, *args: Any, stream: Any = None, shared: int = 0
) -> Prepared:
    """Return the `Prepared` of a kernel."""
    whole, size, shared = extent("grid", grid), extent("block", block), dynamic_bytes(shared)
    arguments = arguments_of(args)
    program = program_of(kernel)
    if program is None:
        raise Refused(
            f"prepare: {kernel_name(kernel)} has options of cuda.jit that need numba's own launch: use launch()."
        )

    def again(replaced: Mapping[str, Any]) -> Prepared:
        names = list(signature(program.function).parameters)
        unknown = sorted(set(replaced) - set(names))
        if unknown:
            raise Refused(f"bind: {program.function.__name__} has no argument {unknown[0]!r}, only {', '.join(names)}.")
        given = [replaced.get(name, arg) for name, arg in zip(names, args)]
        new = arguments_of(given)
        for name, was, now in zip(names, arguments, new):
            same_spec("bind", name, was.spec, now.spec)
        return prepare_kernel(kernel, grid, block, *given, stream=handle, shared=shared)

    compiled, known = program.compiled(tuple(argument.spec for argument in arguments))
    handle, captured, _ = enter_with(stream, arguments, known.arrays, compiled.captured)
    if captured and not machine.is_capturing(handle):
        machine.stream_synchronize(handle)  # what was copied is there for work on any stream
    payloads = [argument.payload for argument in (*arguments, *captured)]
    steps = [] if 0 in whole else [KernelStep(compiled.kernel, whole, size, shared, payloads)]
    return Prepared(steps, handle, (args, arguments, captured), again)


def same_spec(operation: str, name: str, was: Spec, now: Spec) -> None:
    """Refuse an argument of another type than the one that a call was prepared for."""
    if was is not now:
        raise Refused(f"{operation}: {name} was prepared as {was}, and cannot be {now}: prepare another call.")


def arguments_of(args: Sequence[Any]) -> list[Argument]:
    """Return what a launch needs of each argument."""
    return [as_argument(arg, index) for index, arg in enumerate(args)]


def enter_with(
    stream: Any, arguments: list[Argument], arrays: Sequence[Any], which: Sequence[int]
) -> tuple[int, list[Argument], Sequence[Argument]]:
    """Return (the stream of a call, the captured arrays that a kernel takes, what must be held while it runs).

    The stream is ordered after what made the arguments and the arrays. One of NumPy's is copied, for each call anew.
    """
    if not which:
        handle, visitors = enter(stream, arguments)
        return handle, [], visitors
    taken = [arrays[place] for place in which]
    there = [None if isinstance(array, np.ndarray) else as_argument(array, "a captured array") for array in taken]
    handle, visitors = enter(stream, arguments + [argument for argument in there if argument is not None])
    captured = [
        as_argument(on_device(array, handle), "a captured array") if argument is None else argument
        for argument, array in zip(there, taken)
    ]
    return handle, captured, visitors


def captured_arguments(known: Identity, which: Sequence[int], stream: int) -> list[Argument]:
    """Return the captured arrays that a kernel takes after its explicit arguments; NumPy ones as fresh copies."""
    return [as_argument(on_device(known.arrays[index], stream), "a captured array") for index in which]


def on_device(array: Any, stream: int) -> Any:
    """Return a device array as it is, a NumPy array as a copy that is there for work on `stream`."""
    if not isinstance(array, np.ndarray):
        return array
    if machine.is_capturing(stream):
        raise Refused(
            "a NumPy array that a function captures is copied for each call, and a graph would repeat a copy of memory "
            "that is gone: capture a device array while the stream is captured, or prepare() before."
        )
    source = np.asarray(array, order="C")  # ascontiguousarray would give an array without dimensions one
    target = machine.device_array(source.shape, source.dtype, stream)
    machine.copy_from_host(as_argument(target, "a captured array").pointer, source.ctypes.data, source.nbytes, stream)
    return target


def program_of(kernel: Any) -> Program | None:
    """Return the program of a kernel, one for each kernel object; None for one that only numba can launch."""
    try:
        return kernel._warpkit_program
    except AttributeError:
        pass
    if not callable(kernel):
        raise Refused(f"launch: a kernel is a function decorated with cuda.jit, not a {type(kernel).__name__}.")
    function, options = machine.decorated(kernel)
    if not isinstance(function, FunctionType):
        raise Refused(f"launch: a kernel is a function, not a {type(kernel).__name__}: write a def that calls it.")
    program = None if options is None else Program(function, options)
    kernel._warpkit_program = program
    return program


def kernel_name(kernel: Any) -> str:
    """Return a kernel's name for messages."""
    return getattr(kernel, "__name__", type(kernel).__name__)


def extent(what: str, given: Extent) -> Triple:
    """Return a grid or a block as three ints."""
    if type(given) is int and given > 0:
        return given, 1, 1
    sizes = given if isinstance(given, tuple) else (given,)
    try:
        whole = [int(size.__index__()) for size in sizes]
    except (AttributeError, TypeError):
        raise Refused(f"launch: {what} is an int or a tuple of up to three, not {given!r}.") from None
    if not 1 <= len(whole) <= 3 or any(size < 0 for size in whole) or (what == "block" and 0 in whole):
        raise ValueError(f"launch: {what} is an int or a tuple of up to three, none negative, not {given!r}.")
    return tuple([*whole, 1, 1][:3])  # type: ignore[return-value]


def dynamic_bytes(given: Any) -> int:
    """Return the bytes of dynamic shared memory as an int."""
    if type(given) is int and given >= 0:
        return given
    if not hasattr(given, "__index__") or given.__index__() < 0:
        raise Refused(f"launch: shared is a number of bytes, not {given!r}.")
    return int(given.__index__())
