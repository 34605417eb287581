"""Submitting a commit: staging, one graph launch where the list is like one before, completions.

A list is cut at its host calls; every part is a sequence of steps. The first time a sequence of its kind comes, its
steps are sent one after the other; the second time they become a graph, which from then on is updated and launched.
"""

import ctypes
import math
import threading
from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

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
        nbytes = dtype.itemsize * math.prod(shape)
        return np.frombuffer((ctypes.c_char * nbytes).from_address(self.address), dtype).reshape(shape)

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
        self._graphs: OrderedDict[Hashable, machine.Graph | None] = OrderedDict()
        self._lock = threading.RLock()

    def submit(self, commit: Commit, stream: Any) -> None:
        """Do a commit; `stream` is what its host calls receive."""
        if not isinstance(commit, Commit):
            raise Refused(f"submit: a commit comes from CommandList.commit(), and is no {type(commit).__name__}.")
        with self._lock:
            captured = machine.is_capturing(self._handle)
            if captured and commit.callbacks:
                raise Refused("submit: the stream is being captured, and a graph calls no callbacks: submit elsewhere.")
            commit.take()
            parts, callbacks, keep = staged(commit.commands)
            try:
                for part in parts:
                    if isinstance(part, HostCall):
                        part.function(stream)
                    else:
                        self.send(part, captured)
            finally:  # what has begun keeps its memory, and callbacks are owed whatever happens
                if not captured:
                    self.completions.after([*callbacks, *commit.callbacks], keep)

    def send(self, steps: Sequence[Step], captured: bool) -> None:
        """Send steps, as a graph when a sequence of this kind was sent before."""
        kind = tuple([step.topology for step in steps])
        if captured or not all(map(machine.fits_graph, steps)):
            for step in steps:
                machine.run(step, self._handle)
        elif kind not in self._graphs:
            self._graphs[kind] = None
            for step in steps:
                machine.run(step, self._handle)
        else:
            graph = self._graphs[kind]
            if graph is None:
                graph = self._graphs[kind] = machine.Graph(steps)
            graph.launch(steps, self._handle)
            self._graphs.move_to_end(kind)
        while len(self._graphs) > GRAPHS:
            self._graphs.popitem(last=False)


def staged(commands: Sequence[Command]) -> tuple[list[Any], list[Callback], list[Any]]:
    """Return the steps between host calls and the calls, what copies downloads to their places, and what to keep."""
    parts: list[Any] = [[]]
    callbacks: list[Callback] = []
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
            callbacks.append(lambda target=target, block=block: fetch(target, block))  # type: ignore[misc]
            keep.append(command.keep)
    return [part for part in parts if part != []], callbacks, keep


def fetch(target: np.ndarray[Any, Any], block: PinnedBlock) -> None:
    """Copy a download from its staging to where it belongs."""
    target[...] = block.array(target.shape, target.dtype)


_submissions: dict[Any, Submission] = {}
