"""What happens on the host when the work of a stream is done: callbacks, in order, on a thread of the stream's own.

The thread waits for an event at a time, so that no Python ever runs on a thread of the driver (which would deadlock
against whoever holds the interpreter's lock inside a call of the driver), and so that a slow callback keeps nothing
from the GPU. What work uses is kept alive by the same queue.
"""

import atexit
import os
import threading
import weakref
from asyncio import wrap_future
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from ..errors import Refused
from ..simt import machine

Callback = Callable[[], Any]
OPEN = 8  # pieces of work without callbacks that share an event
KEPT = 2  # entries without callbacks that wait before finished ones are let go
IDLE_SECONDS = 1.0  # after which the thread ends; the next callback starts another


OWN_STREAM = "synchronize: a callback cannot wait for its own stream: submit to another one, or return."


class Entry(NamedTuple):
    """Work that an event stands for, what then is called, and what must live until then.

    failed: whether the callbacks are to hear of it, and are called, when the work has failed.
    """

    event: int
    callbacks: Sequence[Callback]
    keep: Any
    failed: bool


class Done(Future[None]):
    """A future of `concurrent.futures`, for threads, that a coroutine may await too."""

    worker: Callable[[], "threading.Thread | None"] = staticmethod(lambda: None)

    def result(self, timeout: float | None = None) -> None:
        """Wait; raise the error that there was; Refused in a callback of this very stream, which waits for itself."""
        if not self.done() and threading.current_thread() is self.worker():
            raise Refused(OWN_STREAM)
        return super().result(timeout)

    def __await__(self) -> Generator[Any, None, None]:
        """Wait in a coroutine, while others run."""
        return wrap_future(self).__await__()


class Completions:
    """The queue of one stream.

    Work without callbacks is only kept alive, so that it need not be known exactly when it is done: some of it stays
    open until there is enough for an event, or something follows that has callbacks.
    """

    def __init__(self, stream: int) -> None:
        self._stream = stream
        self._process = _forks
        self._waiting: deque[Entry] = deque()
        self._open: list[Any] = []  # what work that no event stands for keeps
        self._asked = self._done = 0
        self._changed = threading.Condition()
        self._worker: threading.Thread | None = None
        self._errors: list[BaseException] = []
        self._events: list[int] = []  # to be used again
        self.host_call: int | None = None  # the thread that is in one
        _all.add(self)

    def after(self, callbacks: Sequence[Callback], keep: Any = None, failed: bool = False) -> None:
        """Call `callbacks` when the work that the stream has so far is done; keep `keep` alive until then.

        Args: failed: call them when that work has failed, too.
        Order: that of the calls of this function, also when callbacks are slow.
        """
        self._refuse_after_fork()
        with self._changed:
            kept = self._open
            if not kept or kept[-1] is not keep:  # a list that is replayed is kept already
                kept.append(keep)
            if not callbacks and len(kept) < OPEN:
                return
            event = self._events.pop() if self._events else machine.event_create(blocking=True)
            machine.event_record(event, self._stream)
            self._waiting.append(Entry(event, tuple(callbacks), kept, failed))
            self._open = []
            self._asked += 1
            if callbacks and self._worker is None:
                self._start()
            elif self._worker is not None:
                self._changed.notify_all()
            elif len(self._waiting) > KEPT:
                self._let_go()

    def _start(self) -> None:
        worker = threading.Thread(target=self._work, name=f"warpkit callbacks {self._stream:#x}", daemon=True)
        try:
            self._worker = worker
            worker.start()
        except RuntimeError:  # the interpreter is ending, and starts no more threads: whoever waits does the work
            self._worker = None

    def wait(self) -> None:
        """Wait for the stream, and for everything that was to be called after its work; raise the first error of it.

        Errors: the first exception of a callback since the last wait (the others are its notes); Refused in a callback
        of this very stream, which would wait for itself.
        """
        self._refuse_after_fork()
        self.refuse_own()
        with self._changed:
            asked = self._asked
            kept, self._open = self._open, []
        machine.stream_synchronize(self._stream)
        kept.clear()
        with self._changed:
            if self._worker is not None:
                self._changed.wait_for(lambda: self._done >= asked)
            while self._done < asked:
                entry = self._waiting.popleft()
                if entry.callbacks:  # the interpreter is ending, and there is no thread to call them
                    self._finish(entry)
                else:
                    self._events.append(entry.event)
                self._done += 1
        self._raise()

    def refuse_own(self) -> None:
        """Refuse a callback of this stream, or a host call of a list on it, that is about to wait for the stream."""
        if threading.current_thread() is self._worker:
            raise Refused(OWN_STREAM)
        if self.host_call == threading.get_ident():  # callbacks that submit to the stream wait for this submission
            raise Refused("synchronize: a host call of a list cannot wait for its own stream: wait after submit().")

    def future(self) -> Done:
        """Return a future that is done when the work and the callbacks that the stream has so far are."""
        future = Done()
        future.set_running_or_notify_cancel()
        future.worker = lambda: self._worker

        def resolve() -> None:
            try:
                self._raise()
                future.set_result(None)
            except BaseException as error:
                future.set_exception(error)

        self.after([resolve], failed=True)
        return future

    def owes(self) -> bool:
        """Return whether there is something to wait for, or an error that nobody has heard of."""
        return self._process == _forks and bool(self._asked > self._done or self._errors or self._open)

    def __del__(self) -> None:
        for event in self.__dict__.get("_events", ()):
            try:
                machine.event_destroy(event)
            except Exception:
                pass  # the interpreter is going down, and the driver with it

    def _raise(self) -> None:
        with self._changed:
            errors, self._errors = self._errors, []
        for other in errors[1:]:
            errors[0].add_note(f"after it, another callback failed: {type(other).__name__}: {other}")
        if errors:
            raise errors[0]

    def _refuse_after_fork(self) -> None:
        if self._process != _forks:
            raise RuntimeError(
                "this stream was made before the process was forked, and does not work after it: make streams in the "
                'process that uses them, and start processes by "spawn".'
            )

    def _let_go(self) -> None:
        """Forget the older half, where no thread does, when it is done: one question answers for all of it."""
        half = len(self._waiting) // 2
        if machine.event_query(self._waiting[half - 1].event):
            self._forget(half)

    def _forget(self, number: int) -> None:
        for _ in range(number):
            self._events.append(self._waiting.popleft().event)
        self._done += number

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._changed.wait_for(lambda: self._waiting, IDLE_SECONDS):
                    self._worker = None
                    return
                entry = self._waiting.popleft()
            self._finish(entry)
            del entry  # and with it what it kept alive, before anybody hears that it is done
            with self._changed:
                self._done += 1
                self._changed.notify_all()

    def _finish(self, entry: Entry) -> None:
        try:
            machine.event_synchronize(entry.event)
            self._events.append(entry.event)
        except Exception as error:  # a kernel failed: callbacks must not take what is there for a result
            self._errors.append(error)
            if not entry.failed:
                return
        for callback in entry.callbacks:
            try:
                callback()
            except BaseException as error:
                self._errors.append(error)


_all: "weakref.WeakSet[Completions]" = weakref.WeakSet()
_forks = 0  # that lie between the first process and this one


def _after_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _drain() -> None:
    """Let callbacks finish before the interpreter goes; an error that nobody waited for is shown, not lost."""
    errors: list[BaseException] = []
    while waiting := [each for each in _all if each.owes()]:  # callbacks may submit to other streams
        for completions in waiting:
            try:
                completions.wait()
            except BaseException as error:
                errors.append(error)
    for other in errors[1:]:
        errors[0].add_note(f"and on another stream: {type(other).__name__}: {other}")
    if errors:
        raise errors[0]
