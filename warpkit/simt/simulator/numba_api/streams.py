"""Numba's own streams, events and waits: all its simulated streams are the legacy default stream."""

from numba.cuda.simulator import api
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray
from numpy.lib.array_utils import byte_bounds

from warpkit.simt.simulator import stream_order
from warpkit.simt.simulator.stream_order import LEGACY, READ

_copy_to_host = FakeCUDAArray.copy_to_host


def handle_of(stream):
    """Return the handle of a stream; that of the legacy default stream for numba's own, which have none."""
    handle = getattr(stream, "handle", stream)
    return handle if type(handle) is int else LEGACY


def synchronize():
    """Wait for all work."""
    stream_order.synchronized()


def _stream_synchronize(self):
    stream_order.synchronized(LEGACY)


def _event_record(self, stream=0):
    self.knows = stream_order.recorded(handle_of(stream))


def _event_wait(self, stream=0):
    stream_order.waited(handle_of(stream), self.__dict__.get("knows", {}))


def _event_synchronize(self):
    stream_order.host_knows(self.__dict__.get("knows", {}))


def copy_to_host(self, ary=None, stream=0):
    """Copy the array to the host, in the order of a stream, which is waited for."""
    result = _copy_to_host(self, ary, stream)
    handle, held = handle_of(stream), self._ary
    if held.size and stream_order.watching():
        low, high = byte_bounds(held)
        stream_order.done(handle, "copy_to_host", [stream_order.at(READ, low, high - low)])
        stream_order.synchronized(handle)
    return result


def teach():
    """Give numba's classes their order, in place."""
    api.stream.synchronize = _stream_synchronize
    api.Event.record, api.Event.wait, api.Event.synchronize = _event_record, _event_wait, _event_synchronize
    FakeCUDAArray.copy_to_host = copy_to_host
