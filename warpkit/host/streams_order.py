"""Order between streams, and memory held while work on another stream than its own uses it.

Whether an array may be dropped right after a launch depends on who frees its memory, and when:

- numba's own release waits for all work in flight: nothing to do;
- torch, CuPy and our own pool hand memory on in the order of one stream: nothing to do for work on that stream; work on
  another one has to be over first, so the array is held until an event of that stream has passed;
- of other owners nothing is known: their arrays are held in any case.

torch's `record_stream` would do the same, but goes on to use the stream's handle when the tensor is freed, possibly
after the stream's end, and knows no memory that torch did not allocate. Under capture nothing is held: what a graph
works on belongs to the one who replays it.
"""

import threading
from collections import deque
from collections.abc import Iterable
from typing import Any

from ..simt import machine

LASTING: set[int] = set()  # streams that are never destroyed: their handles say which they are
_local = threading.local()
_lock = threading.RLock()  # an owner's end may launch something in its turn
_held: dict[tuple[Any, int], deque[tuple[int, Any]]] = {}  # (context, stream): events in order, each with owners
_spare: dict[Any, list[int]] = {}  # context: events that have passed


def order(before: int, after: int) -> None:
    """Make later work of stream `after` wait for the work that stream `before` has so far; the host does not wait."""
    events = _local.__dict__
    context = machine.context_key()
    event = events.get(context)
    if event is None:
        event = events[context] = machine.event_create()
    machine.event_record(event, before)
    machine.event_wait(after, event)


def hold(owners: Any, stream: int) -> None:
    """Keep `owners` alive until the work that `stream` has so far is done; let go of what is done by now."""
    context = machine.context_key()
    with _lock:
        spare = _spare.setdefault(context, [])
        event = spare.pop() if spare else machine.event_create()
        machine.event_record(event, stream)
        _held.setdefault((context, stream), deque()).append((event, owners))
    let_go()


def let_go() -> None:
    """Drop the owners whose work is done."""
    done = []
    with _lock:
        for (context, stream), waiting in list(_held.items()):
            while waiting and machine.event_query(waiting[0][0]):
                event, owners = waiting.popleft()
                _spare[context].append(event)
                done.append(owners)
            if not waiting:
                _held.pop((context, stream), None)
    done.clear()  # outside of the lock, and only here: an owner's end may run anything


def held() -> Iterable[Any]:
    """Return what is held at present."""
    with _lock:
        return [owners for waiting in _held.values() for _, owners in waiting]
