"""Streams and events by their handles: 0 is the legacy default stream, 1 too, 2 the default stream of the thread."""

import functools
from typing import Any

from cuda.bindings import driver

from .calls import answer, call, failure

DEFAULT_STREAMS = (0, 1, 2)
NOT_READY, NO_TIMING, SLEEPING = 600, 2, 1
_capture_status = driver.cuStreamIsCapturing
_exchange_mode = driver.cuThreadExchangeStreamCaptureMode
_RELAXED = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
_gone: set[int] = set()


def stream_create(nonblocking: bool = True) -> int:
    """Return a new stream of the current device; `nonblocking`: it does not wait for the legacy default stream."""
    stream = int(call(driver.cuStreamCreate, int(nonblocking)))
    _gone.discard(stream)
    return stream


def stream_destroy(stream: int) -> None:
    """Destroy a stream; the work that it has is done nevertheless."""
    _gone.add(stream)
    call(driver.cuStreamDestroy, stream)


def stream_is_gone(stream: int) -> bool:
    """Return whether `stream_destroy` has destroyed this stream."""
    return stream in _gone


def stream_synchronize(stream: int) -> None:
    """Wait for the work that `stream` has so far; errors of earlier launches are raised here."""
    call(driver.cuStreamSynchronize, stream)


def stream_id(stream: int) -> int:
    """Return the number of a stream that no other stream of this process has, had, or will have, as handles do.

    The driver gives none of a stream that is being captured: ask for `capture_id` there.
    """
    return int(call(driver.cuStreamGetId, stream))


def stream_query(stream: int) -> bool:
    """Return whether the work of `stream` is done; asking spoils no capture that is under way."""
    with relaxed():
        return _done(answer(driver.cuStreamQuery, stream), "cuStreamQuery")


def synchronize() -> None:
    """Wait for all work of the current device."""
    call(driver.cuCtxSynchronize)


def is_capturing(stream: int) -> bool:
    """Return whether a graph is being captured from `stream`."""
    result = _capture_status(stream)
    if result[0]:
        if 900 <= int(result[0]) <= 908:  # the legacy default stream, asked while another one captures
            return stream == 2
        return bool(int(call(_capture_status, stream)))
    return bool(int(result[1]))


def capture_id(stream: int) -> int | None:
    """Return the number of the capture that `stream` takes part in; None outside of one."""
    if not is_capturing(stream):
        return None
    return int(call(driver.cuStreamGetCaptureInfo, stream)[1])


class relaxed:
    """Let this thread load kernels and allocate while a stream is captured: none of it becomes part of the graph."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = call(_exchange_mode, _RELAXED)

    def __exit__(self, *error: object) -> None:
        call(_exchange_mode, self._before)


@functools.cache
def side_stream(device: int) -> int:
    """Return the stream for the few things that must not wait for, nor be captured with, anybody's work."""
    return stream_create()


def event_create(timing: bool = False, blocking: bool = False) -> int:
    """Return a new event; who waits for a `blocking` one sleeps, instead of asking again and again."""
    return int(call(driver.cuEventCreate, (0 if timing else NO_TIMING) | (SLEEPING if blocking else 0)))


def event_destroy(event: int) -> None:
    """Destroy an event; waits that were asked for still happen."""
    call(driver.cuEventDestroy, event)


def event_record(event: int, stream: int) -> None:
    """Make the event stand for the work that `stream` has so far."""
    call(driver.cuEventRecord, event, stream)


def event_wait(stream: int, event: int) -> None:
    """Make later work of `stream` wait for the event; the host does not."""
    call(driver.cuStreamWaitEvent, stream, event, 0)


def event_query(event: int) -> bool:
    """Return whether what the event stands for is done; one that was never recorded is. Spoils no capture either."""
    with relaxed():
        return _done(answer(driver.cuEventQuery, event), "cuEventQuery")


def event_synchronize(event: int) -> None:
    """Wait for the event; this too spoils nobody's capture."""
    with relaxed():
        call(driver.cuEventSynchronize, event)


def event_elapsed(first: int, second: int) -> float:
    """Return the milliseconds between two events that record times and are done."""
    return float(call(driver.cuEventElapsedTime, first, second))


def _done(result: Any, name: str) -> bool:
    code = int(result[0])
    if code not in (0, NOT_READY):
        raise failure(code, name)
    return code == 0
