"""Streams in: the handle of any stream object, the stream that a call means, and its order after what made its arrays.

A call without `stream=` means the current stream of the first argument whose framework has one (torch, CuPy), else the
legacy default stream. A call's work comes after what its arrays' producers have queued:

- an array may carry its stream (`stream` of `__cuda_array_interface__` version 3, a numba array bound to a stream, or
  DLPack): the call's stream waits for that one by an event, the host never waits;
- for torch and CuPy arrays it is the framework's current stream, so `with torch.cuda.stream(s):` or `with cupy_stream:`
  around the call says that there is nothing to wait for.

A stream that is being captured can only wait for streams of the same capture. For a stream that an array carries that
is refused; a framework's current stream outside of the capture is passed over: its work comes before the graph, and the
order of replays is the caller's.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import Refused
from ..simt import machine
from .arrays_layout import Argument
from .arrays_values import PARTS
from .streams_order import hold, order

LEGACY = 1  # another name of stream 0

STREAMS: dict[type, Callable[[Any], int]] = {}  # exact type: how to get its handle


def as_stream(stream: Any, arguments: Sequence[Argument] = ()) -> int:
    """Return the handle of the stream that a call means, ordered after the work that made its arguments.

    Args: stream: of warpkit, numba, cuda.core, CuPy, torch, anything with `__cuda_stream__`, a handle; or None.
    Errors: Refused, one sentence, for what is no stream, is closed, or cannot be waited for under capture.
    """
    return enter(stream, arguments)[0]


def enter(stream: Any, arguments: Sequence[Argument] = ()) -> tuple[int, Sequence[Argument]]:
    """Return `as_stream`, and those of the arguments that `keep` has to hold while the call's work runs: mostly ().

    Errors: as `as_stream`; also for an array on another device than the current one.
    """
    home, place = None, -1
    for _, _, _, _, where, bound, framework, _ in arguments:  # one loop: this is a part of what every call costs
        if framework is None or (framework is home and where == place and bound is None):
            continue
        if home is not None or bound is not None or framework is PARTS:
            return _enter_any(stream, arguments)
        home, place = framework, where
    if place > 0 or machine.device_count() != 1:
        return _enter_any(stream, arguments)
    if home is None:  # nothing but numba's own arrays and numbers
        return (0 if stream is None else handle_of(stream)), ()
    current = home.current_stream(place)  # of the one framework, as in most calls
    if current is not None:
        current = 0 if current == LEGACY else current
        if stream is None or handle_of(stream) == current:
            return current, ()
    return _enter_any(stream, arguments)


def _enter_any(stream: Any, arguments: Sequence[Argument]) -> tuple[int, Sequence[Argument]]:
    """Do `enter` for arrays of several frameworks or devices, with streams of their own, or for another stream."""
    handle = current_stream(arguments) if stream is None else handle_of(stream)
    device = machine.current_device()
    visitors: list[Argument] = []
    home = None
    for argument in arguments:
        framework = argument.framework
        if framework is PARTS:
            return enter(handle, _flat(arguments))
        if argument.device != device and argument.device >= 0:
            raise Refused(_elsewhere(argument, device))
        if framework is None or (framework is home and argument.stream is None):
            continue
        if _produced_by(argument) != handle:
            visitors.append(argument)
        elif argument.stream is None:
            home = framework  # its current stream is this one: no need to ask for every array
    return (handle, _order_visitors(visitors, handle)) if visitors else (handle, ())


def keep(arguments: Sequence[Argument], stream: int) -> None:
    """Hold the memory of arguments that live in the order of another stream until the work that `stream` has is done.

    Called by: whoever launched work on `stream`, right after; `enter` says which arguments.
    """
    owners = [
        argument.owner
        for argument in _flat(arguments)
        if argument.framework is not None and _produced_by(argument) != stream
    ]
    if owners and not machine.is_capturing(stream):
        hold(owners, stream)


def current_stream(arguments: Sequence[Argument]) -> int:
    """Return the current stream of the first argument whose framework has one; 0 without."""
    for argument in arguments:
        framework = argument.framework
        if framework is not None:
            if framework is PARTS:
                found: int | None = current_stream(argument.owner)
            else:
                found = framework.current_stream(argument.device)
            if found is not None:
                return 0 if found == LEGACY else found
    return 0


def handle_of(stream: Any) -> int:
    """Return the handle of a stream object or of a handle; 0 for the legacy default stream by either of its names."""
    kind = type(stream)
    try:
        reader = STREAMS.get(kind) or _meet(kind)
        handle = reader(stream)
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"stream: this {kind.__name__} gives no handle, is it closed? ({error})") from None
    if handle < 0 or handle >= 2**64:
        raise Refused(f"stream: {handle} is no stream's handle.")
    return 0 if handle == LEGACY else handle


def _produced_by(argument: Argument) -> int | None:
    """Return the stream in whose order an argument's memory is written and freed; None when nothing is known."""
    if argument.stream is not None or argument.framework is None:
        return argument.stream
    return argument.framework.current_stream(argument.device)


def _flat(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments with the parts of tuples in place of tuples."""
    found: list[Argument] = []
    for argument in arguments:
        if argument.framework is PARTS:
            found += _flat(argument.owner)
        else:
            found.append(argument)
    return found


def _order_visitors(visitors: list[Argument], handle: int) -> Sequence[Argument]:
    """Make `handle` wait for the streams that the visitors come from; return those to hold."""
    capture = machine.capture_id(handle)
    for producer in dict.fromkeys(_produced_by(visitor) for visitor in visitors):
        if producer is None:
            continue
        if capture is None or machine.capture_id(producer) == capture:
            order(producer, handle)
            continue
        bound = [visitor for visitor in visitors if visitor.stream == producer]
        if bound:
            raise Refused(
                f"stream {handle:#x} is being captured, and cannot wait for stream {producer:#x}, which an array "
                f"({bound[0].dtype}, shape {bound[0].shape}) says its pending work is on: wait for that stream before "
                "the capture, and pass the array without a stream of its own."
            )
    return visitors if capture is None else ()


def _elsewhere(argument: Argument, device: int) -> str:
    return (
        f"an array ({argument.dtype}, shape {argument.shape}) is on device {argument.device}, and device {device} is "
        f"current: call inside `with numba.cuda.gpus[{argument.device}]:`, or copy the array."
    )


def _meet(kind: type) -> Callable[[Any], int]:
    """Return the reader of a type of stream seen for the first time; those of known packages are remembered."""
    for base in kind.__mro__:
        package = base.__module__.partition(".")[0]
        if package == "cupy" and hasattr(base, "use"):
            return STREAMS.setdefault(kind, operator.attrgetter("ptr"))
        if package == "torch" and "Stream" in base.__name__:
            name = "cuda_stream" if hasattr(kind, "cuda_stream") else "native_handle"
            return STREAMS.setdefault(kind, operator.attrgetter(name))
        if package == "numba" and base.__name__.lower() == "stream":
            return STREAMS.setdefault(kind, _numba)
    if hasattr(kind, "__cuda_stream__"):
        return _protocol
    if kind is not bool and hasattr(kind, "__index__"):
        return operator.index
    if kind.__module__.partition(".")[0] == "cuda" and hasattr(kind, "__int__"):
        return int
    raise Refused(
        f"stream: a {kind.__name__} is no stream: pass a stream of warpkit, numba, cuda.core, CuPy or torch, an object "
        "with __cuda_stream__, a handle, or None for the current one."
    )


def _numba(stream: Any) -> int:
    """Return a numba stream's handle; its simulated ones have none, and order nothing."""
    return int(getattr(stream, "handle", 0) or 0)


def _protocol(stream: Any) -> int:
    """Return what `__cuda_stream__` says: a method, in early versions an attribute; (version, handle)."""
    said = stream.__cuda_stream__
    _, handle = said() if callable(said) else said
    return operator.index(handle)


STREAMS[int] = operator.index
