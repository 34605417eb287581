"""Submitting a commit: staging, one graph launch where the list is like one before, completions.

A list is cut at its host calls; every part is a sequence of steps. The first time a sequence of its kind comes, its
steps are sent one after the other; the second time they become a graph, which from then on is updated and launched.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any

from ..errors import Refused
from ..simt import machine
from .command_list import CommandList, Commit, call_all
from .commands import Command, HostCall, StagedDownload, StagedUpload
from .completions import Callback, Completions
from .launch import Prepared
from .staged import Ready, Steps, arriving, refuse_arriving, staged
from .streams import Stream, Synchronize, after_synchronize

GRAPHS = 32  # kept for one stream


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
        captured = self.captured(commit.commands, commit.callbacks)
        commit.take()  # without the lock: what it calls may wait for callbacks, and these may submit
        self.do(commit.commands, commit.callbacks, stream, captured)

    def replay(
        self, commands: Sequence[Command], callbacks: Sequence[Callback], dtor_callbacks: list[Callback], stream: Any
    ) -> None:
        """Do the commands of a compiled list, as for a commit of them."""
        captured = self.captured(commands, callbacks)
        if dtor_callbacks:
            call_all(dtor_callbacks)
        self.do(commands, callbacks, stream, captured)

    def captured(self, commands: Sequence[Command], callbacks: Sequence[Callback]) -> bool:
        """Return whether the stream is being captured; refuse what no graph can hold, and data that is under way."""
        if arriving:
            refuse_arriving(commands)
        captured = machine.is_capturing(self._handle)
        if captured and callbacks:
            raise Refused("submit: the stream is being captured, and a graph calls no callbacks: submit elsewhere.")
        if captured and any(isinstance(command, StagedUpload | StagedDownload) for command in commands):
            raise Refused(
                "submit: the stream is being captured, and a graph copies from and to page-locked memory alone: "
                "use pinned_array() for what is uploaded and downloaded."
            )
        return captured

    def do(self, commands: Sequence[Command], callbacks: Sequence[Callback], stream: Any, captured: bool) -> None:
        """Do commands in order, and have the callbacks called when they are done."""
        with self._lock:
            work = commands.staged if type(commands) is Ready else staged(commands)
            fetches: list[Callback] = []  # of what was sent: the rest has no data
            try:
                for part in work.parts:
                    if type(part) is Steps:
                        self.send(part, captured)
                        fetches += part.fetches
                    else:
                        self.call(part, stream)  # type: ignore[arg-type]
            finally:  # what has begun keeps its memory, and callbacks are owed whatever happens
                if not captured:
                    self.completions.after([*fetches, *callbacks], work.keep)

    def call(self, part: HostCall, stream: Any) -> None:
        """Do a host call; it must not wait for this stream."""
        outer, self.completions.host_call = self.completions.host_call, threading.get_ident()
        try:
            part.function(stream)
        finally:
            self.completions.host_call = outer

    def send(self, steps: Steps, captured: bool) -> None:
        """Send steps, as a graph when a sequence of this kind was sent before."""
        if steps.graph_of is self and not captured:  # a replay: nothing to look up
            steps.graph.launch(steps.steps, self._handle)
            return
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
        steps.graph_of, steps.graph = self, graph


_submissions: dict[Any, Submission] = {}
