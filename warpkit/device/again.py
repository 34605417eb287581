"""Calls that come again with arrays of known layouts: the little that has to be read of them.

See host/launch_again.py, which does the same for launches of users' kernels: what is not that simple is left to the
slow way, which would give the same answers.
"""

from typing import Any, NamedTuple

from ..host.arrays import QUICK
from ..host.arrays_layout import Layout
from ..host.streams_in import LEGACY, handle_of
from ..simt import machine


class Pair(NamedTuple):
    """An input and an output, read quickly. key: their layouts and device.  stream: the handle of the call's."""

    key: tuple[Layout, Layout, int]
    begin: int
    to: int
    stream: int


def read_again(x: Any, out: Any, stream: Any) -> Pair | None:
    """Return an input and an output of one framework, in the order of its own current stream; None: not so simple."""
    try:
        quick, framework = QUICK[type(x)]
        layout, begin, device = quick(x)  # type: ignore[misc]  # None raises TypeError as well
        quick, home = QUICK[type(out)]
        target, to, where = quick(out)  # type: ignore[misc]
    except (KeyError, TypeError):
        return None
    if home is not framework or where != device:
        return None
    if (device > 0 or machine.device_count() != 1) and device != machine.current_device():
        return None
    if home is None:
        handle = 0 if stream is None else handle_of(stream)
    else:
        current = home.current_stream(device)
        handle = 0 if current == LEGACY else current  # type: ignore[assignment]
        if current is None or (stream is not None and handle_of(stream) != handle):
            return None
    return Pair((layout, target, device), begin, to, handle)
