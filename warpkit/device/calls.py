"""Calls of array functions whose result is an array: read once, then launched, or kept as a `Prepared`.

Such a function has a *reader* with the parameters of the function itself, which decides everything and returns a `Job`.
The function launches it; what `prepare` calls keeps it.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ..errors import Refused
from ..host.arrays import Argument, as_argument, as_output
from ..host.launch import Prepared
from ..host.parallel_calls import settle
from ..host.scratch import own_scratch, reset, scratch
from ..host.streams_in import enter, keep
from ..simt import machine
from ..simt.specs import ArraySpec, Spec
from ..simt.steps import KernelStep, Triple
from .reduce_arguments import counted, line_of
from .reduce_plan import COUNT, Flat, flat_of

Function = TypeVar("Function", bound=Callable[..., Any])
Reader = Callable[..., "Job"]


class Use(NamedTuple):
    """Scratch that a launch takes: see `host.scratch`."""

    what: str
    spec: ArraySpec
    slots: int


class Port(NamedTuple):
    """An array of a call as its kernel takes it. place: among the call's.  pack: (address, owner) -> payload."""

    place: int
    spec: Spec
    pack: Callable[[int, Any], Any]


class Rules(NamedTuple):
    """What addresses have to be like for a call to be the same again with other arrays of the same layouts.

    apart: (place, place, whether they may be one array) of arrays that share no memory.  aligned: (place, bits of the
    address that are zero).
    """

    apart: Sequence[tuple[int, int, bool]] = ()
    aligned: Sequence[tuple[int, int]] = ()


class Job(NamedTuple):
    """A call with everything decided. kernel: None where there is nothing to do.

    payloads: one of them may be a `Use`, for which the scratch itself stands in the launch, and those of arrays may be
    `Port`s.  result: the output.  stream: its handle.  visitors: what has to be held while the work runs.  held: what a
    prepared call keeps alive.
    outputs: arguments that a prepared call has from now on; None: `out` is the result.
    copied: arrays that the user's functions capture have been copied for it.
    arguments: what ports stand for.  rules: of a call that their layouts decide but for addresses, which is remembered
    by again.py: no other payload depends on one; None: no such call.
    """

    kernel: machine.Kernel | None
    grid: Triple
    block: Triple
    shared: int
    payloads: Sequence[Any]
    result: Any
    stream: int
    visitors: Sequence[Argument] = ()
    held: Any = None
    outputs: Mapping[str, Any] | None = None
    copied: bool = False
    arguments: Sequence[Argument] = ()
    rules: Rules | None = None


class Items(NamedTuple):
    """The items of an input. size: how many there are, at most.  counter: the argument that says so on the device."""

    source: Argument
    flat: Flat
    size: int
    counter: Argument | None

    @property
    def payload(self) -> Any:
        """What the kernel gets for the array."""
        return self.source.payload if self.flat.pack is None else self.flat.pack(self.source.pointer, self.source.owner)

    @property
    def count_payload(self) -> Any:
        """What the kernel gets for their number."""
        return machine.scalar_payload(COUNT, self.size) if self.counter is None else line_of(self.counter)


def items_of(name: str, x: Any, num_items: Any, what: str = "x") -> Items:
    """Return the items of an argument of the array function `name`."""
    source = as_argument(x, what)
    flat = flat_of(source.layout, what)
    size, count = (flat.size, None) if num_items is None else counted(name, num_items, flat)
    return Items(source, flat, size, count)


def output_of(out: Any, shape: tuple[int, ...], dtype: Any, stream: int) -> tuple[Any, Argument]:
    """Return (`out`, its argument), or for None a new array with its."""
    result = machine.device_array(shape, dtype, stream) if out is None else out
    return result, as_output(result, "out")


def check_shape(name: str, out: Argument, shape: tuple[int, ...]) -> None:
    """Refuse an `out` of another shape."""
    if out.shape != shape:
        raise ValueError(f"{name}: out must have shape {shape}, as the result has, not {out.shape}.")


def entered(stream: Any, *arguments: Argument | None) -> tuple[int, Sequence[Argument]]:
    """Do `enter` with the arguments that there are."""
    return enter(stream, [argument for argument in arguments if argument is not None])


def launched(job: Job) -> Any:
    """Launch what was decided; return the output."""
    if job.kernel is not None:
        use = use_of(job)
        memory = None if use is None else scratch(use.what, use.spec, use.slots, job.stream)
        try:
            job.kernel.launch(job.grid, job.block, job.shared, job.stream, _filled(job, memory))
        except BaseException:
            if memory is not None:
                reset(memory, job.stream)
            raise
        if job.visitors:
            keep(job.visitors, job.stream)
    return job.result


def use_of(job: Job) -> Use | None:
    """Return the scratch that a job takes, if any."""
    return next((payload for payload in job.payloads if type(payload) is Use), None)


def _filled(job: Job, memory: Any) -> Sequence[Any]:
    """Return the payloads with scratch and arrays in their places."""
    payloads = []
    for payload in job.payloads:
        kind = type(payload)
        if kind is Port:
            argument = job.arguments[payload.place]
            payloads.append(payload.pack(argument.pointer, argument.owner))
        else:
            payloads.append(memory.argument.payload if kind is Use else payload)
    return payloads


def bound(name: str, parameters: inspect.Signature, args: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name; refuse those that the function does not take."""
    try:
        return dict(parameters.bind(*args, **options).arguments)
    except TypeError as error:
        raise Refused(f"{name}: {error}; it is called as {name}{parameters_of(parameters)}.") from None


def parameters_of(signature: inspect.Signature) -> str:
    """Return a function's parameters as a user writes them."""
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(inspect.Signature(plain))


def explained(function: Function) -> Function:
    """Let a function's docstring end with what its module says of all its functions, which `help` would not show."""
    own, shared = function.__doc__, function.__globals__["__doc__"]
    if own and shared and "share what follows" in shared:  # python -OO keeps neither
        function.__doc__ = f"{inspect.cleandoc(own)}\n\n{shared}"
    return function


def prepares(reader: Reader, *replaceable: str) -> Callable[[Function], Function]:
    """Give an array function its planning half, which `prepare` calls; `bind` replaces the named arguments."""

    def decorate(function: Function) -> Function:
        parameters = inspect.signature(function)

        def plan(*args: Any, **options: Any) -> Prepared:
            return _prepared(
                function.__name__, reader, bound(function.__name__, parameters, args, options), replaceable
            )

        function.plan = plan  # type: ignore[attr-defined]
        return explained(function)

    return decorate


def _prepared(name: str, reader: Reader, given: dict[str, Any], replaceable: tuple[str, ...]) -> Prepared:
    job = reader(**given)
    outputs = {"out": job.result} if job.outputs is None else job.outputs
    if job.copied or any(given.get(name) is None for name in outputs):
        settle(job.stream)
    given = given | dict(outputs) | {"stream": job.stream}

    def again(replaced: Mapping[str, Any]) -> Prepared:
        unknown = sorted(set(replaced) - set(replaceable))
        if unknown:
            raise Refused(f"bind: {name} has no argument {unknown[0]!r} to replace, only {', '.join(replaceable)}.")
        return _prepared(name, reader, given | dict(replaced), replaceable)

    if job.kernel is None:
        return Prepared([], job.stream, given, again, job.result)
    use = use_of(job)
    memory = None if use is None else own_scratch(use.spec, use.slots, job.stream)
    step = KernelStep(job.kernel, job.grid, job.block, job.shared, _filled(job, memory))
    return Prepared([step], job.stream, (given, job, memory), again, job.result)
