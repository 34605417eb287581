"""Command lists: GPU work recorded first, submitted at once, with callbacks when it is done."""

import warnings
from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction
from typing import Any

from ..errors import Refused
from . import commands, commands_copies
from .commands import Command, Deferred, HostCall, Slot, Work, refuse_stale, slots
from .launch import Extent, Prepared
from .parallel import parallel_for
from .parallel_reductions import parallel_reduce_sum
from .staged import ready

Callback = Callable[[], Any]


class CommandList:
    """GPU work in the order in which it is to be done, recorded without touching the GPU, submitted by one call.

    Called by: host code; one thread at a time.
    Order: that of recording: each command sees what those before it did; no barriers are needed. A list belongs to one
    submission, to one stream.
    Cost: a submission of a list like one before (the same commands with whatever arguments) is one graph launch.
    Errors: what cannot be done is refused when it is recorded; nothing is lost. A list with commands in it that is
    dropped without commit() warns (ResourceWarning).
    Example: `stream << (CommandList() << upload(x, a) << prepared << download(b, y)).commit()`
    """

    def __init__(self) -> None:
        self._commands: list[Command] = []
        self._callbacks: list[Callback] = []
        self._dtor_callbacks: list[Callback] = []
        self._open = True
        self._plain = True  # nothing but work on the device so far

    def launch(self, kernel: Any, grid: Extent, block: Extent, *args: Any, shared: int = 0) -> "CommandList":
        """Append a launch of a kernel of yours; arguments as for `warpkit.launch`."""
        return self._append(commands.deferred(commands.kernel, kernel, grid, block, *args, shared=shared))

    def parallel_for(self, range: Any, body: Any, *args: Any) -> "CommandList":
        """Append a `warpkit.parallel_for`."""
        return self._append(commands.deferred(commands.form, parallel_for, range, body, *args))

    def parallel_reduce_sum(self, range: Any, body: Any, *args: Any, out: Any, dtype: Any = None) -> "CommandList":
        """Append a `warpkit.parallel_reduce_sum`; `out`, a device array of one element, gets the sum."""
        if out is None:
            raise Refused("parallel_reduce_sum: in a list the sum goes to a device array: pass out=.")
        form = commands.deferred(commands.form, parallel_reduce_sum, range, body, *args, out=out, dtype=dtype)
        return self._append(form)

    def upload(self, dst: Any, src: Any) -> "CommandList":
        """Append a copy of a host array to a device array: see `warpkit.upload`."""
        return self._append(commands_copies.upload(dst, src))

    def download(self, dst: Any, src: Any) -> "CommandList":
        """Append a copy of a device array to a host array: see `warpkit.download`."""
        return self._append(commands_copies.download(dst, src))

    def copy(self, dst: Any, src: Any) -> "CommandList":
        """Append a copy between device arrays."""
        return self._append(commands_copies.copy(dst, src))

    def fill(self, dst: Any, value: Any) -> "CommandList":
        """Append setting every item of a device array."""
        return self._append(commands_copies.fill(dst, value))

    def call(self, fn: Callable[[Any], Any]) -> "CommandList":
        """Append `fn(stream)`, called at submit on the submitting thread: for array functions with `out=`."""
        if not callable(fn):
            raise Refused(f"call: a function of the stream, not a {type(fn).__name__}.")
        return self._append(HostCall(fn))

    def __lshift__(self, item: Any) -> "CommandList":
        """Append a prepared call, `upload(…)`, `download(…)`, `copy(…)`, `fill(…)`, another list, or nothing (None)."""
        if isinstance(item, Prepared):
            return self._append(item.command or commands.prepared(item))
        if item is None:
            return self
        if isinstance(item, CommandList):
            return self.extend(item)
        if isinstance(item, Command):
            return self._append(item)
        raise Refused(
            f"CommandList << takes prepared calls, upload(), download(), copy(), fill() or a list, not a "
            f"{type(item).__name__}."
        )

    def extend(self, other: "CommandList") -> "CommandList":
        """Append what `other` holds, callbacks too; `other` is used up."""
        self._writable()
        if not isinstance(other, CommandList):
            raise Refused(f"extend: a CommandList, not a {type(other).__name__}.")
        if other is self:
            raise Refused("extend: a list cannot be appended to itself.")
        other._writable()
        refuse_stale(self._commands, other._commands)
        other._close()
        self._commands += other._commands
        self._plain = self._plain and other._plain
        self._callbacks += other._callbacks
        self._dtor_callbacks += other._dtor_callbacks
        return self

    def add_callback(self, fn: Callback) -> "CommandList":
        """Have `fn()` called once all GPU work of the list is done: once, in the order of submissions, on a thread of
        the stream. It sees what was downloaded, and keeps nothing from the GPU while it runs.
        """
        return self._add(self._callbacks, fn)

    def add_dtor_callback(self, fn: Callback) -> "CommandList":
        """Have `fn()` called at submit, by the thread that submits, before any GPU work starts; also when the commit is
        dropped instead. If it raises, so does submit: nothing is sent then, and the list is used up.
        """
        return self._add(self._dtor_callbacks, fn)

    def __len__(self) -> int:
        """Return how many commands there are; callbacks do not count."""
        return len(self._commands)

    def commit(self) -> "Commit":
        """Close the list and return it ready for `stream.submit()`, once."""
        names = () if self._plain else sorted(slots(self._commands))
        if names:
            raise Refused(f"commit: slot {names[0]!r} has no value: compile() the list, and replay it with values.")
        self._close()
        return Commit(self._commands, self._callbacks, self._dtor_callbacks)

    def compile(self) -> "Replay":
        """Close the list and return a function of the stream and the slots' values, which submits it at every call."""
        self._close()
        return Replay(self._commands, self._callbacks, self._dtor_callbacks)

    def _append(self, command: Command) -> "CommandList":
        if not self._open:
            self._writable()
        if type(command) is not Work or command.moves:
            if not self._plain:
                refuse_stale(self._commands, [command])
            self._plain = False
        self._commands.append(command)
        return self

    def _add(self, callbacks: list[Callback], fn: Callback) -> "CommandList":
        self._writable()
        if not callable(fn):
            raise Refused(f"a callback is a function without arguments, not a {type(fn).__name__}.")
        if iscoroutinefunction(fn):
            raise Refused(
                "a callback is a plain function, for no event loop runs where it is called: await the stream."
            )
        callbacks.append(fn)
        return self

    def _writable(self) -> None:
        if not self._open:
            raise Refused("this CommandList was committed, compiled or appended to another: record a new one.")

    def _close(self) -> None:
        self._writable()
        self._open = False

    def __del__(self) -> None:
        if self.__dict__.get("_open") and self._commands:
            lost = f"a CommandList with {len(self)} commands was never committed"
            warnings.warn(lost, ResourceWarning, stacklevel=2, source=self)


class Commit:
    """A closed list, to be submitted once: `stream.submit(commit)` or `stream << commit`."""

    def __init__(self, recorded: list[Command], callbacks: list[Callback], dtor_callbacks: list[Callback]) -> None:
        self.commands, self.callbacks, self._dtor_callbacks = recorded, callbacks, dtor_callbacks
        self._right = [True]  # to be submitted: of two threads one takes it

    def take(self) -> None:
        """Use the commit up, and call what is to be called before the GPU begins."""
        try:
            self._right.pop()
        except IndexError:
            raise Refused("submit: this commit was submitted already; record another list, or compile() it.") from None
        call_all(self._dtor_callbacks)

    def __del__(self) -> None:
        if self.__dict__.get("_right"):
            call_all(self._dtor_callbacks)


class Replay:
    """A compiled list: `replay(stream, name=value, …)` submits it; values stay until they are replaced."""

    def __init__(self, recorded: list[Command], callbacks: list[Callback], dtor_callbacks: list[Callback]) -> None:
        self._recorded, self._callbacks, self._dtor_callbacks = recorded, callbacks, dtor_callbacks
        self._commands = list(recorded)
        self._values: dict[str, Any] = {}
        self._names = slots(recorded)
        self._fresh = True

    def __call__(self, stream: Any, /, **values: Any) -> None:
        """Submit the list to a warpkit `Stream`, with slots filled by name."""
        try:
            replay = stream.replay
        except AttributeError:
            raise Refused(f"replay: a warpkit Stream, not a {type(stream).__name__}: see Stream.wrap().") from None
        now = self._filled(values) if values or self._fresh else self._commands
        replay(now, self._callbacks, self._dtor_callbacks)

    def _filled(self, values: dict[str, Any]) -> list[Command]:
        """Return the commands with these values in their slots, the others as they were; keep them for later."""
        unknown, changed = values.keys() - self._names, values.keys()
        missing = self._names - self._values.keys() - values.keys()
        if unknown or missing:
            what = f"no slot {min(unknown)!r}" if unknown else f"no value for slot {min(missing)!r}"
            raise Refused(f"replay: {what}; the slots are {', '.join(sorted(self._names)) or 'none'}.")
        merged: Mapping[str, Any] = self._values | values
        now = [
            command.build(merged) if isinstance(command, Deferred) and command.names & changed else built
            for command, built in zip(self._recorded, self._commands)  # a replay in another thread may replace them
        ]
        if any(commands.host_ranges(now, downloads=True)):
            for place, command in enumerate(now):
                refuse_stale(now[:place], [command])
        now = ready(now)
        self._commands, self._values, self._fresh = now, dict(merged), False
        return now


def call_all(callbacks: list[Callback]) -> None:
    """Call every function; raise the first error when all were called."""
    errors = []
    for callback in callbacks:
        try:
            callback()
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


__all__ = ["CommandList", "Commit", "Replay", "Slot"]
