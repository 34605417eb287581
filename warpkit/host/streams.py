"""Streams and events for users; and what `stream=` means everywhere (streams_in.py)."""

import weakref
from collections import deque
from collections.abc import Callable, Generator
from typing import Any

from ..errors import Refused
from ..simt import machine
from .completions import Done
from .streams_in import STREAMS, as_stream, current_stream, enter, handle_of, keep
from .streams_order import LASTING, hold, let_go, order

_idle: dict[Any, deque[int]] = {}  # context: handles without a Stream
_after: list[Callable[[int | None], None]] = []


class Stream:
    """A queue of work on the current device; it does not wait for the legacy default stream, nor that for it.

    Goes wherever a stream does: here, in numba, cuda.core, CuPy and torch (`__cuda_stream__`, `int(stream)`).
    Its handle outlives it and is used again by a later Stream, never destroyed: scratch memory and allocators that know
    the handle stay right, and work that is still pending is not disturbed.
    """

    def __init__(self) -> None:
        context = machine.context_key()
        idle = _idle.setdefault(context, deque())
        try:
            handle = idle.popleft()
        except IndexError:
            handle = machine.stream_create(True)
            LASTING.add(handle)
        self._set(handle, None)
        weakref.finalize(self, idle.append, handle).atexit = False

    def _set(self, handle: int, owner: Any) -> None:
        self.handle, self.device, self._owner = handle, machine.current_device(), owner

    @classmethod
    def wrap(cls, foreign: Any) -> "Stream":
        """Return a Stream for a stream of another library, or a handle, of the current device; `foreign` is kept."""
        if isinstance(foreign, cls):
            return foreign
        if foreign is None:
            raise Refused("Stream.wrap: None is no stream: pass a stream object or a handle.")
        stream = cls.__new__(cls)
        stream._set(handle_of(foreign), foreign)
        return stream

    def record(self, event: "Event | None" = None) -> "Event":
        """Make the event (None: a new one) stand for the work that the stream has so far; return it."""
        event = Event() if event is None else event
        if not isinstance(event, Event):
            raise Refused(f"Stream.record: a {type(event).__name__} is no Event.")
        event.record(self)
        return event

    def wait(self, other: Any) -> None:
        """Make later work of this stream wait for an event, or for the work that another stream has so far.

        The host does not wait.
        """
        if isinstance(other, Event):
            other.wait(self)
        elif other is None:
            raise Refused("Stream.wait: None is no event: pass an Event, or a stream.")
        else:
            order(handle_of(other), self.handle)

    def query(self) -> bool:
        """Return whether the work of the stream is done."""
        return machine.stream_query(self.handle)

    def synchronize(self) -> None:
        """Wait for the work of the stream and for what depends on its end; raise the first error of either."""
        machine.stream_synchronize(self.handle)
        _synchronized(self.handle)

    def submit(self, commit: Any) -> "Stream":
        """Do what a `CommandList` holds after the work that this stream has; return at once. See `CommandList`.

        Args: commit: from `CommandList.commit()`; it is used up.
        Errors: Refused for anything else, or a second time. An error of a callback is raised by `synchronize()`.
        """
        _submission(self.handle).submit(commit, self)
        return self

    def replay(self, commands: Any, callbacks: Any, dtor_callbacks: Any) -> None:
        """Submit the commands of a compiled list; for `Replay` alone."""
        _submission(self.handle).replay(commands, callbacks, dtor_callbacks, self)

    def __lshift__(self, item: Any) -> "Stream":
        """Submit a commit, repeat a prepared call here, or wait (`stream << commit << synchronize()`)."""
        from .submission import put

        put(self, item)
        return self

    def done(self) -> Done:
        """Return a future that is done when the work that the stream has so far is, and its callbacks.

        Threads ask for its `result()`, coroutines await it. It has the first error among them, which `synchronize()`
        then does not raise again.
        """
        return _submission(self.handle).completions.future()

    def __await__(self) -> Generator[Any, None, None]:
        """Wait in a coroutine as `await stream`, while others run."""
        return self.done().__await__()

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return (version of the protocol, handle)."""
        return 0, self.handle

    def __int__(self) -> int:
        return self.handle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.handle == self.handle and other.device == self.device

    def __hash__(self) -> int:
        return hash((self.handle, self.device))

    def __repr__(self) -> str:
        return f"<Stream {self.handle:#x} of device {self.device}>"


def _submission(handle: int) -> Any:
    """Return what a stream keeps for command lists, which stand on streams: they are imported at their first use."""
    global _submission
    from .submission import submission

    _submission = submission
    return submission(handle)


class Event:
    """A point in a stream's work, to wait for on another stream or on the host.

    Args: timing: record the time too, for `elapsed`; costs a little.
    """

    def __init__(self, timing: bool = False) -> None:
        self.timing = bool(timing)
        self.handle = machine.event_create(self.timing)
        self._recorded = False
        weakref.finalize(self, machine.event_destroy, self.handle).atexit = False

    def record(self, stream: Any = None) -> None:
        """Stand for the work that the stream (None: the legacy default stream) has so far; earlier records are gone."""
        machine.event_record(self.handle, as_stream(stream))
        self._recorded = True

    def wait(self, stream: Any = None) -> None:
        """Make later work of the stream (None: the legacy default stream) wait for the event; the host does not.

        An event that was never recorded makes nobody wait.
        """
        machine.event_wait(as_stream(stream), self.handle)

    def query(self) -> bool:
        """Return whether what the event stands for is done; True for one that was never recorded."""
        return machine.event_query(self.handle)

    def synchronize(self) -> None:
        """Wait, on the host, until what the event stands for is done."""
        machine.event_synchronize(self.handle)
        let_go()

    def elapsed(self, other: "Event") -> float:
        """Return the milliseconds from this event to `other`, a later one; waits for both. Each needs `timing=True`."""
        if not isinstance(other, Event):
            raise Refused(f"Event.elapsed: a {type(other).__name__} is no Event: pass the later Event.")
        if not (self.timing and other.timing):
            raise Refused("Event.elapsed: both events need Event(timing=True).")
        if not (self._recorded and other._recorded):
            raise Refused("Event.elapsed: both events have to be recorded first.")
        self.synchronize()
        other.synchronize()
        return machine.event_elapsed(self.handle, other.handle)

    def __repr__(self) -> str:
        return f"<Event {self.handle:#x}{', timing' if self.timing else ''}>"


class Synchronize:
    """What `stream << synchronize()` finds on its right."""


def synchronize() -> Synchronize:
    """Wait for all work of the current device and for what depends on its end; raise the first error of either.

    Returns: a mark, so that `stream << commit << synchronize()` reads as it does.
    """
    machine.synchronize()
    _synchronized(None)
    return Synchronize()


def after_synchronize(function: Callable[[int | None], None]) -> Callable[[int | None], None]:
    """Have `function(handle)` called when the GPU work of a stream (None: of all) has been waited for; it may raise."""
    _after.append(function)
    return function


def _synchronized(handle: int | None) -> None:
    let_go()
    for function in _after:
        function(handle)


STREAMS[Stream] = lambda stream: stream.handle

__all__ = [
    "Event", "Stream", "Synchronize", "after_synchronize", "as_stream", "current_stream", "enter", "handle_of", "hold",
    "keep", "synchronize",
]  # fmt: skip
