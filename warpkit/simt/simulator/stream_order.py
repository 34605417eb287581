"""Who knows of whose work: vector clocks of streams, and what work did to memory.

In the simulator work is done when its call returns, whatever its stream. What a GPU would be free to do is found by
what *orders* the work: every stream, event and the host have a clock, the last piece of work of each stream that they
come after. Two pieces of work on two streams that touch the same bytes, one of them writing, and neither coming after
the other, are a race. The host is one for all its threads: it may know too much, so that a race is missed where a
callback came between, and never reports one that is none.

Nothing is noted as long as there is no stream but the default one, and nothing kept that the host has waited for.
"""

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from warpkit.errors import RaceFault

from .spans import Spans

LEGACY, LEGACY_TOO, THREAD_DEFAULT = 0, 1, 2
READ, WRITE, ATOMIC, ASK = "reads", "writes", "atomically updates", "asks for"  # the last: an ordered read
RACES = {
    READ: (WRITE, ATOMIC),
    WRITE: (READ, WRITE, ATOMIC, ASK),
    ATOMIC: (READ, WRITE),
    ASK: (WRITE,),
}

Stream = Any  # a handle; (THREAD_DEFAULT, thread) for the default stream of a thread
Clock = dict[Stream, int]


class Touch(NamedTuple):
    """What a piece of work did to a piece of memory, which is forgotten with its owner."""

    verb: str
    spans: Spans
    what: str = "memory"
    owner: Any = None  # a weak reference; None: memory that nobody frees without saying so


class Access(NamedTuple):
    """A touch by a piece of work; `tick`: the number of the work on its stream."""

    stream: Stream
    tick: int
    name: str
    touch: Touch


_lock = threading.RLock()
_clocks: dict[Stream, Clock] = {}
_host: Clock = {}
_blocking: set[Stream] = set()  # streams that the legacy default stream waits for, and that wait for it
_created: set[int] = set()
_accesses: list[Access] = []
_roots: "weakref.WeakValueDictionary[int, np.ndarray]" = weakref.WeakValueDictionary()
_local = threading.local()


def created(stream: int, nonblocking: bool) -> None:
    """Note a new stream."""
    with _lock:
        _created.add(stream)
        if not nonblocking:
            _blocking.add(stream)


def destroyed(stream: int) -> None:
    """Note the end of a stream; its work stays what it was."""
    with _lock:
        _created.discard(stream)


def watching() -> bool:
    """Return whether there is anything to order: another stream than the default one."""
    return bool(_created) and not getattr(_local, "ignored", False)


@contextmanager
def ignored() -> Iterator[None]:
    """Let this thread do what is no work of the user's."""
    _local.ignored = True
    try:
        yield
    finally:
        _local.ignored = False


def recorded(stream: int) -> Clock:
    """Return what an event knows that is recorded now."""
    with _lock:
        return dict(_enter(_key(stream)))


def waited(stream: int, clock: Clock) -> None:
    """Make later work of a stream come after what an event knows."""
    with _lock:
        _join(_enter(_key(stream)), clock)


def host_knows(clock: Clock) -> None:
    """Make everything later come after what an event knows: the host has waited for it."""
    with _lock:
        _join(_host, clock)
        _accesses[:] = [each for each in _accesses if _host.get(each.stream, 0) < each.tick]


def synchronized(stream: int | None = None) -> None:
    """Make everything later come after the work that a stream (None: every stream) has."""
    with _lock:
        if stream is not None:
            host_knows(_enter(_key(stream)))
            return
        for clock in _clocks.values():
            _join(_host, clock)
        _accesses.clear()


def done(stream: int, name: str, touched: Sequence[Touch]) -> None:
    """Note a piece of work and what it touched.

    Errors: RaceFault, when work on another stream touched the same and nothing orders the two.
    """
    with _lock:
        key = _key(stream)
        clock = _enter(key)
        tick = clock[key] = clock.get(key, 0) + 1
        new = [Access(key, tick, name, touch) for touch in touched]
        _accesses[:] = [old for old in _accesses if old.touch.owner is None or old.touch.owner() is not None]
        for mine in new:
            for other in _accesses:
                if other.touch.verb in RACES[mine.touch.verb] and clock.get(other.stream, 0) < other.tick:
                    byte = mine.touch.spans.shared(other.touch.spans)
                    if byte is not None:
                        raise RaceFault(_told(mine, other, byte))
        _accesses[:] = [old for old in _accesses if not any(_replaces(mine, old) for mine in new)]
        _accesses.extend(new)


def forgotten(pointer: int, nbytes: int) -> None:
    """Forget what was done to memory that has become other memory."""
    if _accesses:
        with _lock:
            fresh = Spans([pointer], [nbytes])
            _accesses[:] = [each for each in _accesses if each.touch.spans.shared(fresh) is None]


def root_of(data: np.ndarray) -> np.ndarray:
    """Return the array that owns the memory of `data`, as far as NumPy knows."""
    while isinstance(data.base, np.ndarray):
        data = data.base
    return data


def met(root: np.ndarray) -> None:
    """Remember an array that owns memory, so that copies and fills, which have addresses alone, find it."""
    with _lock:
        _roots[root.__array_interface__["data"][0]] = root


def at(verb: str, pointer: int, nbytes: int) -> Touch:
    """Return the touch of all bytes from an address on."""
    with _lock:
        roots = list(_roots.items())
    for start, root in roots:
        if start <= pointer < start + root.nbytes:
            what = f"a global array of {root.dtype}, shape {root.shape}"
            return Touch(verb, Spans([pointer], [nbytes]), what, weakref.ref(root))
    return Touch(verb, Spans([pointer], [nbytes]))


def _replaces(new: Access, old: Access) -> bool:
    """Return whether whoever races with `old` races with `new` too, or is known not to."""
    if new.touch.verb != WRITE and (new.touch.verb != old.touch.verb or new.stream != old.stream):
        return False
    return new.touch.spans.covers(old.touch.spans)


def _key(stream: int) -> Stream:
    if stream == THREAD_DEFAULT:
        key = (THREAD_DEFAULT, threading.get_ident())
        _blocking.add(key)
        return key
    return LEGACY if stream == LEGACY_TOO else stream


def _enter(key: Stream) -> Clock:
    """Return a stream's clock, with what it waits for unasked."""
    clock = _clocks.setdefault(key, {})
    _join(clock, _host)
    if key == LEGACY:
        for other in _blocking:
            _join(clock, _clocks.get(other, {}))
    elif key in _blocking:
        _join(clock, _clocks.get(LEGACY, {}))
    return clock


def _join(clock: Clock, other: Clock) -> None:
    for key, tick in other.items():
        if clock.get(key, 0) < tick:
            clock[key] = tick


def _told(mine: Access, other: Access, byte: int) -> str:
    return (
        f"race between two streams: {mine.name} on {_named(mine.stream)} {mine.touch.verb} {mine.touch.what}, at byte "
        f"{byte:#x}, {other.name} on {_named(other.stream)} {other.touch.verb} it too, and nothing orders the two: let "
        "the later one's stream wait for an event that is recorded after the earlier one, or for its stream."
    )


def _named(stream: Stream) -> str:
    if stream == LEGACY:
        return "the legacy default stream"
    return "a thread's default stream" if isinstance(stream, tuple) else f"stream {stream:#x}"
