"""What the commands of a list come to when it is submitted: sequences of steps, with page-locked staging."""

import math
from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..simt import machine
from ..simt.steps import DOWNLOAD, UPLOAD, CopyStep, Step
from .commands import Command, HostCall, StagedDownload, StagedUpload, Work
from .completions import Callback


class PinnedBlock:
    """Page-locked memory of a power of two of bytes, which goes back to the pool when nobody holds it."""

    _free: ClassVar[dict[int, deque[int]]] = {}

    def __init__(self, nbytes: int) -> None:
        self.size = 1 << max(nbytes - 1, 4095).bit_length()
        try:
            self.address = self._free.setdefault(self.size, deque()).pop()
        except IndexError:
            self.address = machine.pinned(self.size)

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Return the beginning of the block as an array."""
        return machine.host_bytes(self.address, dtype.itemsize * math.prod(shape)).view(dtype).reshape(shape)

    def __del__(self) -> None:
        if "address" in self.__dict__:
            self._free[self.size].append(self.address)


class Steps:
    """A sequence of steps, its kind, whether a graph can hold it, and what copies its downloads home afterwards.

    graph: the one that it was sent as, by the stream `graph_of`.
    """

    __slots__ = ("fetches", "fits_graph", "graph", "graph_of", "kind", "steps")

    def __init__(self) -> None:
        self.steps: Any = []
        self.kind: Any = []
        self.fetches: list[Callback] = []
        self.fits_graph = True
        self.graph_of: Any = None
        self.graph: Any = None

    def add(self, step: Step) -> None:
        """Append one."""
        self.steps.append(step)
        self.kind.append(step.topology)

    def close(self) -> "Steps":
        """Return it as it will stay."""
        self.steps, self.kind = tuple(self.steps), tuple(self.kind)
        return self


class Staged(NamedTuple):
    """What commands come to at submit: steps and host calls in order, what to keep."""

    parts: list["Steps | HostCall"]
    keep: Any


def staged(commands: Sequence[Command]) -> Staged:
    """Return what commands come to, with staging of their own where they need it."""
    parts: list[Steps | HostCall] = []
    keep: list[Any] = []
    steps = Steps()
    for command in commands:
        if type(command) is Work:
            steps.steps += command.steps
            steps.kind += command.kind
            keep.append(command.keep)
            if not command.fits_graph:
                steps.fits_graph = False
        elif isinstance(command, HostCall):
            if steps.steps:
                parts.append(steps.close())
            parts.append(command)
            steps = Steps()
        elif isinstance(command, StagedUpload):
            source = command.source
            block = PinnedBlock(source.nbytes)
            block.array(source.shape, source.dtype)[...] = source
            steps.add(CopyStep(command.target, block.address, source.nbytes, UPLOAD))
            keep += [block, command.keep]
        elif isinstance(command, StagedDownload):
            target = command.target
            block = PinnedBlock(target.nbytes)
            steps.add(CopyStep(block.address, command.source, target.nbytes, DOWNLOAD))
            steps.fetches.append(Fetch(target, block))
            keep.append(command.keep)
    if steps.steps:
        parts.append(steps.close())
    return Staged(parts, keep)


arriving: dict[int, tuple[int, int]] = {}  # of downloads that have no data yet: first byte, last + 1


class Fetch:
    """Copies a download from its staging to where it belongs; until it is gone, the data are under way."""

    __slots__ = ("block", "target")

    def __init__(self, target: np.ndarray[Any, Any], block: PinnedBlock) -> None:
        self.target, self.block = target, block
        arriving[id(self)] = np.lib.array_utils.byte_bounds(target)

    def __call__(self) -> None:
        self.target[...] = self.block.array(self.target.shape, self.target.dtype)
        arriving.pop(id(self), None)

    def __del__(self, forget: Any = arriving.pop) -> None:  # not the global, which may be gone before the last of them
        forget(id(self), None)  # of a list that failed


def refuse_arriving(commands: Sequence[Command]) -> None:
    """Refuse to read host memory now into which a list that was submitted before has yet to bring its data."""
    for command in commands:
        if isinstance(command, StagedUpload):
            first, end = np.lib.array_utils.byte_bounds(command.source)
            if any(first < last and begin < end for begin, last in list(arriving.values())):
                raise ValueError(
                    "upload: a list that was submitted before downloads into the same host memory, and the data are "
                    "not there yet: wait for its stream or its callback first."
                )


class Ready(list[Command]):
    """Commands that come to the same at every submit: nothing is staged."""

    def __init__(self, commands: Sequence[Command]) -> None:
        super().__init__(commands)
        self.staged = staged(list(commands))


def ready(commands: list[Command]) -> list[Command]:
    """Return commands prepared to be submitted again and again."""
    again = all(isinstance(command, Work | HostCall) for command in commands)
    return Ready(commands) if again else commands
