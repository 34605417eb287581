"""Submitting a commit: staging, one graph launch where the list is like one before, completions.

A list is cut at its host calls; every part is a sequence of steps. The first time a sequence of its kind comes, its
steps are sent one after the other; the second time they become a graph, which from then on is updated and launched.
"""

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import Refused
from ..simt import machine
from ..simt.steps import DOWNLOAD, UPLOAD, CopyStep, Step
from .command_list import CommandList, Commit
from .commands import Command, HostCall, StagedDownload, StagedUpload, Work
from .completions import Callback, Completions
from .launch import Prepared
from .streams import Stream, Synchronize, after_synchronize

GRAPHS = 32  # kept for one stream


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


def submission(handle: int) -> "Submission":
    """Return what the stream of this handle keeps for command lists, as long as the process lives."""
    key = machine.context_key(), handle
    return _submissions.get(key) or _submissions.setdefault(key, Submission(handle))


def put(stream: Stream, item: Any) -> None:
    """Do `stream << item`."""
    if isinstance(item, Commit):
        stream.submit(item)
    elif isinstance(item, Prepared):
        item(stream)
    elif isinstance(item, Synchronize):
        stream.synchronize()
    elif isinstance(item, CommandList):
        raise Refused("stream << list: close the list first, as in stream << list.commit().")
    elif item is not None:
        raise Refused(f"stream << takes a commit, a prepared call or synchronize(), not a {type(item).__name__}.")


@after_synchronize
def _finish(handle: int | None) -> None:
    """Have `synchronize` wait for callbacks too; all are waited for before the first error is raised."""
    errors = []
    if handle is None:  # before any is waited for: two callbacks would wait for each other
        for each in list(_submissions.values()):
            each.completions.refuse_own()
    for (_, stream), each in list(_submissions.items()):
        if handle is None or stream == handle:
            try:
                each.completions.wait()
            except Exception as error:
                errors.append(error)
    if errors:
        raise errors[0]


class Submission:
    """What one stream keeps for command lists."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.completions = Completions(handle)
        self._graphs: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.RLock()

    def submit(self, commit: Any, stream: Any) -> None:
        """Do a commit; `stream` is what its host calls receive."""
        if not isinstance(commit, Commit):
            raise Refused(f"submit: a commit comes from CommandList.commit(), and is no {type(commit).__name__}.")
        captured = machine.is_capturing(self._handle)
        if captured and commit.callbacks:
            raise Refused("submit: the stream is being captured, and a graph calls no callbacks: submit elsewhere.")
        if captured and any(isinstance(command, StagedUpload | StagedDownload) for command in commit.commands):
            raise Refused(
                "submit: the stream is being captured, and a graph copies from and to page-locked memory alone: "
                "use pinned_array() for what is uploaded and downloaded."
            )
        commit.take()  # without the lock: what it calls may wait for callbacks, and these may submit
        with self._lock:
            work = staged(commit.commands)
            fetches: list[Callback] = []  # of what was sent: the rest has no data
            try:
                for part in work.parts:
                    if isinstance(part, HostCall):
                        self.call(part, stream)
                    else:
                        self.send(part, captured)
                        fetches += part.fetches
            finally:  # what has begun keeps its memory, and callbacks are owed whatever happens
                if not captured:
                    self.completions.after([*fetches, *commit.callbacks], work.keep)

    def call(self, part: HostCall, stream: Any) -> None:
        """Do a host call; it must not wait for this stream."""
        outer, self.completions.host_call = self.completions.host_call, threading.get_ident()
        try:
            part.function(stream)
        finally:
            self.completions.host_call = outer

    def send(self, steps: "Steps", captured: bool) -> None:
        """Send steps, as a graph when a sequence of this kind was sent before."""
        graphs, kind = self._graphs, steps.kind
        if captured or not (kind in graphs and steps.fits_graph):
            for step in steps.steps:
                machine.run(step, self._handle)
            if not captured:  # a capture leaves the graphs as they are: they may still run
                graphs.setdefault(kind, None)
                while len(graphs) > GRAPHS:
                    self.completions.after((), graphs.popitem(last=False)[1])
            return
        graph = graphs[kind]
        if graph is None:
            graph = graphs[kind] = machine.Graph(steps.steps)
        graphs.move_to_end(kind)
        graph.launch(steps.steps, self._handle)


class Steps:
    """A sequence of steps, its kind, whether a graph can hold it, and what copies its downloads home afterwards."""

    __slots__ = ("fetches", "fits_graph", "kind", "steps")

    def __init__(self, steps: Sequence[Step], fetches: Sequence[Callback] = ()) -> None:
        self.steps, self.fetches = tuple(steps), fetches
        self.kind = tuple([step.topology for step in steps])
        self.fits_graph = all(map(machine.fits_graph, steps))


class Staged(NamedTuple):
    """What commands come to at submit: steps and host calls in order, what to keep."""

    parts: list["Steps | HostCall"]
    keep: list[Any]


def staged(commands: Sequence[Command]) -> Staged:
    """Return what commands come to, with staging of their own where they need it."""
    if isinstance(commands, Ready):  # a replay as it was
        return commands.staged
    parts: list[Any] = [[]]
    fetches: dict[int, list[Callback]] = {}  # by the part that they belong to
    keep: list[Any] = []
    for command in commands:
        if isinstance(command, Work):
            parts[-1].extend(command.steps)
            keep.append(command.keep)
        elif isinstance(command, HostCall):
            parts += [command, []]
        elif isinstance(command, StagedUpload):
            source = command.source
            block = PinnedBlock(source.nbytes)
            block.array(source.shape, source.dtype)[...] = source
            parts[-1].append(CopyStep(command.target, block.address, source.nbytes, UPLOAD))
            keep += [block, command.keep]
        elif isinstance(command, StagedDownload):
            target = command.target
            block = PinnedBlock(target.nbytes)
            parts[-1].append(CopyStep(block.address, command.source, target.nbytes, DOWNLOAD))
            fetches.setdefault(len(parts) - 1, []).append(partial(fetch, target, block))
            keep += [block, command.keep]
    filled = [
        part if isinstance(part, HostCall) else Steps(part, fetches.get(place, ()))
        for place, part in enumerate(parts)
        if part != []
    ]
    return Staged(filled, keep)


class Ready(list[Command]):
    """Commands that come to the same at every submit: nothing is staged."""

    def __init__(self, commands: Sequence[Command]) -> None:
        super().__init__(commands)
        self.staged = staged(list(commands))


def ready(commands: list[Command]) -> list[Command]:
    """Return commands prepared to be submitted again and again."""
    again = all(isinstance(command, Work | HostCall) for command in commands)
    return Ready(commands) if again else commands


def fetch(target: np.ndarray[Any, Any], block: PinnedBlock) -> None:
    """Copy a download from its staging to where it belongs."""
    target[...] = block.array(target.shape, target.dtype)


_submissions: dict[Any, Submission] = {}
