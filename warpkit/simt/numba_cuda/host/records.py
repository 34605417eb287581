"""Records as kernel arguments: a kernel reads one through a pointer, so it needs memory that outlives the launch.

Records are values, so equal ones share their memory. What was used lately is kept; whoever holds an argument (a
prepared call, a graph's owner) keeps its record too.
"""

import threading
from collections import OrderedDict
from typing import Any

from cuda.bindings import driver

from .calls import call
from .devices import current_device
from .memory import allocate, release
from .streams import relaxed, side_stream, stream_synchronize

MOST_KEPT = 256
_kept: "OrderedDict[tuple[int, bytes], Held]" = OrderedDict()
_lock = threading.Lock()


class Held:
    """The bytes of a record in device memory."""

    def __init__(self, data: bytes, device: int) -> None:
        self._stream = side_stream(device)
        with relaxed():
            self.pointer = allocate(len(data), self._stream)
            call(driver.cuMemcpyHtoDAsync, self.pointer, data, len(data), self._stream)
            stream_synchronize(self._stream)

    def __del__(self) -> None:
        try:
            with relaxed():
                call(driver.cuCtxSynchronize)  # a launch on any stream may still read it
                release(self.pointer, self._stream)
        except Exception:
            pass  # it was never made, or the driver is going down


def record_payload(value: Any) -> tuple[bytes, object]:
    """Return (the slot of a record, what keeps its memory). Cost: an upload for a value that is new."""
    key = current_device(), value.tobytes()
    with _lock:
        held = _kept.get(key)
        if held is None:
            held = _kept[key] = Held(key[1], key[0])
        _kept.move_to_end(key)
        oldest = _kept.popitem(last=False)[1] if len(_kept) > MOST_KEPT else None
    del oldest  # outside of the lock: its end may wait for the device
    return held.pointer.to_bytes(8, "little"), held
