"""The commands of a list: what each needs to become steps, decided when it is recorded.

Most are steps at once. Transfers (commands_copies.py) from and to pageable memory go through page-locked staging that
is taken at submit; what names a slot waits for the slot's value.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import Refused
from ..simt import machine
from ..simt.steps import DOWNLOAD, ON_DEVICE, UPLOAD, CopyStep, Step
from .launch import Extent, Prepared, prepare_kernel


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a compiled list that each replay fills."""

    name: str


def slot(name: str) -> Any:
    """Return a placeholder for an argument of a `CommandList` that is to be compiled: `replay(stream, name=value)`."""
    if not isinstance(name, str):
        raise Refused(f"slot: a name is a string, not {name!r}.")
    return Slot(name)


class Work:
    """Steps, and what must live until they are done; one object may be in many lists.

    kind: what must agree for another list to take the place of this one in a graph.  fits_graph: whether a graph can
    hold them.  moves: whether host memory is among what they copy.
    """

    __slots__ = ("fits_graph", "keep", "kind", "moves", "steps")

    def __init__(self, steps: Sequence[Step], keep: Any = None) -> None:
        self.steps, self.keep = steps, keep
        self.kind = [step.topology for step in steps]
        self.fits_graph = all(map(machine.fits_graph, steps))
        self.moves = any(isinstance(step, CopyStep) and step.direction != ON_DEVICE for step in steps)


@dataclass(slots=True)
class StagedUpload:
    """An upload from pageable memory, which is read at submit."""

    target: int
    source: np.ndarray[Any, Any]
    keep: Any


@dataclass(slots=True)
class StagedDownload:
    """A download into pageable memory, which is written before the callbacks of the list."""

    target: np.ndarray[Any, Any]
    source: int
    keep: Any


@dataclass(slots=True)
class HostCall:
    """`function(stream)`, called at submit."""

    function: Callable[[Any], Any]


@dataclass(slots=True)
class Deferred:
    """A command whose slots have no values yet."""

    names: frozenset[str]
    build: Callable[[Mapping[str, Any]], "Command"]


Command = Work | StagedUpload | StagedDownload | HostCall | Deferred


def deferred(build: Callable[..., Command], *args: Any, **options: Any) -> Command:
    """Return `build(*args, **options)`, now or, where arguments are slots, when they have values."""
    names = frozenset(each.name for each in (*args, *options.values()) if isinstance(each, Slot))
    if not names:
        return build(*args, **options)

    def later(values: Mapping[str, Any]) -> Command:
        def filled(given: Any) -> Any:
            return values[given.name] if isinstance(given, Slot) else given

        return build(*map(filled, args), **{name: filled(value) for name, value in options.items()})

    return Deferred(names, later)


def prepared(call: Prepared) -> Command:
    """Return a prepared call as a command."""
    command: Command | None = call.command
    if command is None:
        command = call.command = Work(call.steps, (call.keep, call.result))
    return command


def kernel(function: Any, grid: Extent, block: Extent, *args: Any, shared: int = 0) -> Command:
    """Return a launch as a command."""
    return prepared(prepare_kernel(function, grid, block, *args, shared=shared))


def form(function: Any, *args: Any, **options: Any) -> Command:
    """Return a parallel form or array function as a command."""
    return prepared(function.plan(*args, **options))


def host_ranges(commands: Sequence[Command], downloads: bool) -> Iterator[tuple[int, int]]:
    """Yield (first, last + 1) of the host memory that commands write (downloads) or read (uploads)."""
    direction, kind = (DOWNLOAD, StagedDownload) if downloads else (UPLOAD, StagedUpload)
    for command in commands:
        if isinstance(command, kind):
            yield np.lib.array_utils.byte_bounds(command.target if downloads else command.source)  # type: ignore[arg-type]
        elif isinstance(command, Work):
            for step in command.steps:
                if isinstance(step, CopyStep) and step.direction == direction:
                    first = step.target if downloads else step.source
                    yield first, first + step.nbytes


def refuse_stale(earlier: Sequence[Command], later: Sequence[Command]) -> None:
    """Refuse uploads of host memory into which an earlier command downloads: they may read it before."""
    for first, end in host_ranges(later, downloads=False):
        for begin, last in host_ranges(earlier, downloads=True):
            if first < last and begin < end:
                raise ValueError(
                    "upload: an earlier command of this list downloads into the same host memory, and the upload may "
                    "read it before: submit the download, wait for it, and upload in another list."
                )


def slots(recorded: list[Command]) -> set[str]:
    """Return the names of the slots in commands."""
    return {name for command in recorded if isinstance(command, Deferred) for name in command.names}
