"""Simulated streams and events: numbers with an order. Work is done when its call returns, so nothing ever waits.

What a GPU would be free to do in another order is found all the same: see stream_order.py.
"""

import itertools
import time

from ....errors import Refused
from .. import stream_order

DEFAULT_STREAMS = (0, 1, 2)
_numbers = itertools.count(0x1000, 16)
_streams: set[int] = set()
_events: dict[int, tuple[float, stream_order.Clock] | None] = {}  # when it was recorded, and after what; None: never


def _known(stream: int) -> int:
    if stream not in DEFAULT_STREAMS and stream not in _streams:
        raise Refused(f"stream {stream:#x} does not exist (any more): keep its object while work is sent to it.")
    return stream


def stream_create(nonblocking: bool = True) -> int:
    """Return a new stream."""
    stream = next(_numbers)
    _streams.add(stream)
    stream_order.created(stream, nonblocking)
    return stream


def stream_destroy(stream: int) -> None:
    """Destroy a stream."""
    _streams.remove(stream)
    stream_order.destroyed(stream)


def stream_synchronize(stream: int) -> None:
    """Nothing is pending."""
    stream_order.synchronized(_known(stream))


def stream_id(stream: int) -> int:
    """Return the stream's own number: the simulator hands out each once."""
    return _known(stream)


def stream_query(stream: int) -> bool:
    """Return True: nothing is pending."""
    stream_order.synchronized(_known(stream))
    return True


def synchronize() -> None:
    """Nothing is pending."""
    stream_order.synchronized()


def is_capturing(stream: int) -> bool:
    """Return False: the simulator captures no graphs."""
    return False


def capture_id(stream: int) -> int | None:
    """Return None."""
    return None


def event_create(timing: bool = False, blocking: bool = False) -> int:
    """Return a new event."""
    event = next(_numbers)
    _events[event] = None
    return event


def event_destroy(event: int) -> None:
    """Destroy an event."""
    del _events[event]


def event_record(event: int, stream: int) -> None:
    """Note the time."""
    _events[event] = time.perf_counter(), stream_order.recorded(_known(stream))


def event_wait(stream: int, event: int) -> None:
    """Nothing is pending."""
    found = _events[event]
    if found is not None:
        stream_order.waited(_known(stream), found[1])


def event_query(event: int) -> bool:
    """Return True."""
    event_synchronize(event)
    return True


def event_synchronize(event: int) -> None:
    """Nothing is pending."""
    found = _events[event]
    if found is not None:
        stream_order.host_knows(found[1])


def event_elapsed(first: int, second: int) -> float:
    """Return the milliseconds between the calls that recorded two events."""
    began, ended = _events[first], _events[second]
    if began is None or ended is None:
        raise Refused("elapsed: both events must have been recorded.")
    return (ended[0] - began[0]) * 1e3
