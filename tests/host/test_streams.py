"""Streams: handles of any make, order between them, memory held for work elsewhere, events, pinned memory."""

import gc
import threading
import types
import weakref

import numpy as np
import pytest
from numba import cuda

from warpkit import Event, Refused, Stream, pinned_array, synchronize
from warpkit.host import streams, streams_order
from warpkit.host.arrays import as_argument
from warpkit.host.streams import after_synchronize, as_stream, current_stream, enter, handle_of, keep
from warpkit.simt import machine

from .interop_objects import Capsules, Interface, host_memory_is_device_0

ORDER, FOREIGN = 0x5000, 0x6000  # handles of streams that do not exist: nothing is sent to them here


host = pytest.fixture(autouse=True)(host_memory_is_device_0)


class Watch:
    """What was asked of the machine: (before, after) of every order. Says whether events passed and streams capture."""

    def __init__(self, monkeypatch):
        self.orders, self.passed, self.captures = [], True, {}
        self._recorded = {}
        monkeypatch.setattr(machine, "event_record", self._recorded.__setitem__)
        monkeypatch.setattr(machine, "event_wait", self._wait)
        monkeypatch.setattr(machine, "event_query", lambda event: self.passed)
        monkeypatch.setattr(machine, "capture_id", self.captures.get)
        monkeypatch.setattr(machine, "is_capturing", lambda stream: stream in self.captures)

    def _wait(self, stream, event):
        self.orders.append((self._recorded[event], stream))


@pytest.fixture
def watch(monkeypatch):
    found = Watch(monkeypatch)
    yield found
    found.passed = True
    streams_order.let_go()


def arguments(*arrays):
    """Return what a call has of its arrays."""
    return [as_argument(array, place) for place, array in enumerate(arrays)]


def on_stream(stream, size=3):
    """Return an array whose interface says that its pending work is on `stream`."""
    return Interface(np.zeros(size), stream=stream)


# -- what a stream is --------------------------------------------------------------------------------------------------


class Protocol:
    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle


class OldProtocol:
    __cuda_stream__ = (0, ORDER)


HANDLES = {
    "int": (ORDER, ORDER),
    "numpy int": (np.uint64(ORDER), ORDER),
    "legacy by its number": (1, 0),
    "legacy by null": (0, 0),
    "of the thread": (2, 2),
    "protocol": (Protocol(ORDER), ORDER),
    "protocol, legacy": (Protocol(1), 0),
    "protocol as an attribute": (OldProtocol(), ORDER),
}


@pytest.mark.parametrize(("stream", "handle"), HANDLES.values(), ids=HANDLES.keys())
def test_the_handle_of_a_stream(stream, handle):
    assert as_stream(stream) == handle == as_stream(stream, ())


def test_the_handle_of_a_frameworks_stream(torch, cupy):
    assert as_stream(torch.Stream(ORDER)) == as_stream(cupy.Stream(ORDER)) == ORDER
    subclass = type("ExternalStream", (cupy.Stream,), {})
    assert as_stream(subclass(FOREIGN)) == FOREIGN


def test_the_handle_of_our_stream_and_of_numbas():
    stream = Stream()
    assert as_stream(stream) == int(stream) == stream.handle == Protocol.__cuda_stream__(stream)[1]
    assert as_stream(cuda.default_stream()) == 0
    assert as_stream(cuda.stream()) >= 0


class Closed(Protocol):
    def __cuda_stream__(self):
        raise RuntimeError("Stream has been closed")


GARBAGE = {
    "negative": -1,
    "too large": 2**64,
    "true": True,
    "text": "stream",
    "float": 1.5,
    "list": [1],
    "array": np.zeros(3),
    "event": object(),
    "closed": Closed(1),
    "no handle": Protocol("handle"),
    "negative handle": Protocol(-5),
}


@pytest.mark.parametrize("stream", GARBAGE.values(), ids=GARBAGE.keys())
def test_what_is_no_stream_is_refused(stream):
    with pytest.raises(Refused) as caught:
        as_stream(stream)
    sentence = str(caught.value)
    assert sentence.startswith("stream: ")
    assert "\n" not in sentence


def test_a_closed_stream_says_so():
    with pytest.raises(Refused, match="closed"):
        as_stream(Closed(1))


@pytest.mark.parametrize("package", ["cuda.core", "cuda.bindings"])
def test_streams_of_cuda_python(package):
    if package == "cuda.core":
        from cuda.core import Stream as Theirs

        ours = Stream()
        stream = Theirs.from_handle(ours.handle)
        assert as_stream(stream) == ours.handle
        stream.close()
        with pytest.raises(Refused, match="closed"):
            as_stream(stream)
    else:
        from cuda.bindings.driver import CUstream

        assert as_stream(CUstream(ORDER)) == ORDER


# -- the stream of a call without one ----------------------------------------------------------------------------------


def test_none_is_the_current_stream_of_torch(torch, watch):
    torch.current = {0: ORDER}
    assert as_stream(None, arguments(torch.Tensor(np.zeros(3)))) == ORDER


def test_none_is_the_current_stream_of_cupy(cupy, watch):
    cupy.current = cupy.Stream(ORDER)
    assert as_stream(None, arguments(cupy.ndarray(np.zeros(3)))) == ORDER


def test_none_is_the_legacy_stream_for_all_others(watch):
    assert as_stream(None) == 0
    assert as_stream(None, arguments(3, cuda.to_device(np.zeros(3)), Interface(np.zeros(3)))) == 0


def test_the_first_framework_decides(torch, cupy, watch):
    torch.current, cupy.current = {0: ORDER}, cupy.Stream(FOREIGN)
    tensor, array = torch.Tensor(np.zeros(3)), cupy.ndarray(np.zeros(3))
    assert as_stream(None, arguments(1, array, tensor)) == FOREIGN
    assert watch.orders == [(ORDER, FOREIGN)], "what torch has queued comes first"
    assert current_stream(arguments(tensor, array)) == ORDER


def test_a_tuple_counts_by_its_parts(torch, watch):
    torch.current = {0: ORDER}
    assert as_stream(None, arguments((1, (2, torch.Tensor(np.zeros(3)))))) == ORDER


# -- order -------------------------------------------------------------------------------------------------------------


def test_p17_a_call_comes_after_the_stream_that_an_array_names(watch):
    as_stream(ORDER, arguments(on_stream(FOREIGN), on_stream(FOREIGN), on_stream(2), on_stream(ORDER)))
    assert watch.orders == [(FOREIGN, ORDER), (2, ORDER)], "once for each stream"


def test_p17_no_stream_in_the_interface_asks_for_no_order(watch):
    as_stream(ORDER, arguments(Interface(np.zeros(3)), on_stream(None), cuda.to_device(np.zeros(3))))
    assert watch.orders == []


def test_p17_older_interfaces_have_no_stream(watch):
    as_stream(ORDER, arguments(Interface(np.zeros(3), stream=FOREIGN, version=2)))
    assert watch.orders == []


def test_p17_the_legacy_stream_has_two_names(watch):
    as_stream(None, arguments(on_stream(1)))
    as_stream(1, arguments(on_stream(1)))
    assert watch.orders == []


def test_an_array_of_dlpack_comes_after_the_legacy_stream(watch):
    as_stream(ORDER, arguments(Capsules(np.zeros(3))))
    assert watch.orders == [(0, ORDER)]


def test_a_device_array_bound_to_a_stream_names_it(watch):
    array = cuda.to_device(np.zeros(3))
    array.stream = FOREIGN
    as_stream(ORDER, arguments(array))
    assert watch.orders == [(FOREIGN, ORDER)]


def test_another_stream_than_the_frameworks_own_waits_for_it(torch, cupy, watch):
    torch.current, cupy.current = {0: FOREIGN}, cupy.Stream(FOREIGN)
    as_stream(ORDER, arguments(torch.Tensor(np.zeros(3)), cupy.ndarray(np.zeros(3)), torch.Tensor(np.zeros(4))))
    assert watch.orders == [(FOREIGN, ORDER)]
    watch.orders.clear()
    as_stream(FOREIGN, arguments(torch.Tensor(np.zeros(3)), cupy.ndarray(np.zeros(3))))
    assert watch.orders == []


def test_parts_of_tuples_are_ordered(watch):
    as_stream(ORDER, arguments((1, (on_stream(FOREIGN),)), on_stream(2)))
    assert watch.orders == [(FOREIGN, ORDER), (2, ORDER)]


def test_p16_an_array_on_another_device_is_refused(torch, watch):
    with pytest.raises(Refused, match=r"float64, shape \(3,\)\) is on device 1, and device 0 is current"):
        as_stream(None, arguments(torch.Tensor(np.zeros(3), device=1)))
    with pytest.raises(Refused, match="on device 1"):
        as_stream(None, arguments((1, torch.Tensor(np.zeros(3), device=1))))


def test_each_thread_orders_with_an_event_of_its_own(monkeypatch):
    """Two threads must not record one event between the record and the wait of the other."""
    events = []
    monkeypatch.setattr(machine, "event_record", lambda event, stream: events.append(event))
    monkeypatch.setattr(machine, "event_wait", lambda stream, event: None)
    for _ in range(2):
        streams_order.order(FOREIGN, ORDER)
    thread = threading.Thread(target=streams_order.order, args=(FOREIGN, ORDER))
    thread.start()
    thread.join()
    assert events[0] == events[1] != events[2]


# -- capture -----------------------------------------------------------------------------------------------------------


def test_a_captured_stream_does_not_wait_for_one_outside(watch):
    watch.captures[ORDER] = 7
    with pytest.raises(Refused, match="being captured"):
        as_stream(ORDER, arguments(on_stream(FOREIGN)))
    assert watch.orders == []


def test_streams_of_one_capture_wait_for_each_other(watch):
    watch.captures.update({ORDER: 7, FOREIGN: 7})
    assert enter(ORDER, arguments(on_stream(FOREIGN))) == (ORDER, ())
    assert watch.orders == [(FOREIGN, ORDER)]


def test_under_capture_a_frameworks_stream_outside_is_passed_over(torch, watch):
    watch.captures[ORDER] = 7
    assert enter(ORDER, arguments(torch.Tensor(np.zeros(3)), Interface(np.zeros(3)))) == (ORDER, ())
    assert watch.orders == []


def test_under_capture_nothing_is_held(torch, watch):
    watch.captures[ORDER], watch.passed = 7, False
    keep(arguments(torch.Tensor(np.zeros(3))), ORDER)
    assert not streams_order.held()


# -- memory ------------------------------------------------------------------------------------------------------------


def kept(watch, stream, make, *args):
    """Return whether `make(*args)` outlives its last reference while work on `stream` that uses it is pending."""
    watch.passed = False
    array = make(*args)
    alive = weakref.ref(array)
    handle, visitors = enter(stream, arguments(array))
    keep(visitors, handle)
    del array, visitors
    gc.collect()
    lived = alive() is not None
    watch.passed = True
    streams_order.let_go()
    gc.collect()
    assert alive() is None, "and goes when the work is done"
    return lived


def test_p20_memory_is_held_while_another_stream_uses_it(torch, cupy, watch):
    assert kept(watch, ORDER, torch.Tensor, np.zeros(3))
    assert kept(watch, ORDER, cupy.ndarray, np.zeros(3))
    assert kept(watch, ORDER, on_stream, FOREIGN)


def test_p20_memory_of_unknown_owners_is_held(watch):
    assert kept(watch, ORDER, Interface, np.zeros(3))
    assert kept(watch, 0, Interface, np.zeros(3))


def test_memory_that_is_freed_in_the_order_of_the_stream_is_not_held(torch, cupy, watch):
    assert not kept(watch, None, torch.Tensor, np.zeros(3))
    assert not kept(watch, None, cupy.ndarray, np.zeros(3))
    assert not kept(watch, FOREIGN, on_stream, FOREIGN)


def test_memory_of_numba_is_not_held(watch):
    assert enter(ORDER, arguments(cuda.to_device(np.zeros(3)), 3)) == (ORDER, ())


def test_what_is_held_goes_in_order_and_events_are_used_again(monkeypatch, watch):
    passed = set()
    monkeypatch.setattr(machine, "event_query", passed.__contains__)
    made = []
    create = machine.event_create
    monkeypatch.setattr(machine, "event_create", lambda *timing: made.append(create(*timing)) or made[-1])
    streams_order._spare.clear()
    for number in range(3):
        streams_order.hold(number, ORDER)
    streams_order.hold("elsewhere", FOREIGN)
    passed.update(made[1:])
    streams_order.let_go()
    assert list(streams_order.held()) == [0, 1, 2], "a stream's work is done in order"
    passed.update(made)
    streams_order.let_go()
    assert not streams_order.held()
    streams_order.hold("again", ORDER)
    assert len(made) == 4


def test_an_owner_may_launch_when_it_goes(watch):
    class Launches:
        def __del__(self):
            streams_order.hold("last", ORDER)

    streams_order.hold(Launches(), ORDER)
    gc.collect()
    streams_order.let_go()
    assert not streams_order.held()


def test_keep_takes_any_arguments(torch, watch):
    watch.passed = False
    tensor, ours = torch.Tensor(np.zeros(3)), cuda.to_device(np.zeros(3))
    keep(arguments(tensor, ours, (1, tensor)), 0)
    assert not streams_order.held(), "torch's own stream"
    keep(arguments(3, ours, (1, tensor)), ORDER)
    assert list(streams_order.held()) == [[tensor]]


# -- Stream ------------------------------------------------------------------------------------------------------------


def test_streams_differ_and_handles_are_used_again():
    first, second = Stream(), Stream()
    assert first != second
    assert first.handle > 2
    handles = {first.handle, second.handle}
    del first, second
    for _ in range(50):
        Stream()
    idle = streams._idle[machine.context_key()]
    assert handles <= set(idle)
    assert len(set(idle)) == len(idle)


def test_a_stream_shows_itself_to_others():
    stream = Stream()
    assert stream.__cuda_stream__() == (0, stream.handle)
    assert stream.device == machine.current_device()
    assert f"{stream.handle:#x}" in repr(stream)


def test_work_of_a_stream():
    stream, other = Stream(), Stream()
    event = stream.record()
    other.wait(event)
    other.wait(stream)
    stream.wait(0)
    stream.synchronize()
    other.synchronize()
    assert stream.query()
    assert event.query()


def test_wrap_keeps_the_foreign_stream(torch):
    foreign = Protocol(ORDER)
    stream = Stream.wrap(foreign)
    assert (stream.handle, handle_of(stream)) == (ORDER, ORDER)
    assert Stream.wrap(stream) is stream
    assert stream == Stream.wrap(torch.Stream(ORDER)) == Stream.wrap(ORDER)
    assert len({stream, Stream.wrap(ORDER)}) == 1
    alive = weakref.ref(foreign)
    del foreign
    gc.collect()
    assert alive() is not None


def test_a_wrapped_stream_is_not_ours_to_use_again():
    context = machine.context_key()
    Stream.wrap(FOREIGN)
    gc.collect()
    assert FOREIGN not in streams._idle.get(context, ())


@pytest.mark.parametrize(
    "call", [lambda stream: Stream.wrap(None), lambda stream: stream.wait(None)], ids=["wrap", "wait"]
)
def test_none_is_no_stream_to_wait_for(call):
    with pytest.raises(Refused, match="None is no"):
        call(Stream())


def test_p31_a_temporary_stream():
    for _ in range(20):
        as_stream(Stream())
        Stream().record().synchronize()
    gc.collect()
    synchronize()


# -- Event -------------------------------------------------------------------------------------------------------------


def test_an_event_on_any_stream():
    event = Event()
    event.wait(Stream())
    assert event.query(), "never recorded: nobody waits"
    event.record()
    event.record(Stream())
    event.wait()
    event.synchronize()
    assert event.query()


def test_elapsed_is_the_time_between():
    stream, first, second = Stream(), Event(timing=True), Event(timing=True)
    stream.record(first)
    stream.record(second)
    assert 0 <= first.elapsed(second) < 10_000


def test_elapsed_needs_two_timing_events_that_were_recorded():
    plain, timing, recorded = Event(), Event(timing=True), Event(timing=True)
    for event in (plain, recorded):
        event.record()
    for other, what in ((plain, "timing=True"), (timing, "recorded first"), (3, "no Event")):
        with pytest.raises(Refused, match=what):
            recorded.elapsed(other)


def test_events_are_destroyed(monkeypatch):
    destroyed = []
    real = machine.event_destroy
    monkeypatch.setattr(machine, "event_destroy", lambda event: (destroyed.append(event), real(event)))
    event = Event()
    handle = event.handle
    del event
    gc.collect()
    assert destroyed == [handle]


# -- synchronize -------------------------------------------------------------------------------------------------------


def test_synchronize_waits_for_what_others_add(monkeypatch):
    monkeypatch.setattr(streams, "_after", [])
    stream, seen = Stream(), []
    after_synchronize(seen.append)
    stream.synchronize()
    synchronize()
    assert seen == [stream.handle, None]

    @after_synchronize
    def fails(handle):
        raise ValueError("a callback's own error")

    with pytest.raises(ValueError, match="callback's own"):
        stream.synchronize()


def test_synchronize_lets_go(watch, monkeypatch):
    monkeypatch.setattr(machine, "synchronize", lambda: None)
    watch.passed = False
    streams_order.hold("owner", ORDER)
    watch.passed = True
    synchronize()
    assert not streams_order.held()


# -- pinned memory -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [5, (5,), (2, 3), (), (0, 3), np.int64(4)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, "i8", [("a", "i1"), ("b", "f8")]], ids=str)
def test_a_pinned_array_is_a_numpy_array(shape, dtype):
    array = pinned_array(shape, dtype)
    assert array.shape == np.empty(shape).shape
    assert array.dtype == np.dtype(dtype)
    assert array.flags.c_contiguous
    assert array.flags.writeable
    array[...] = np.zeros((), dtype)
    assert (array == np.zeros((), dtype)).all()


def test_p23_pinned_memory_goes_with_the_last_view(monkeypatch):
    freed = []
    real = machine.unpin
    monkeypatch.setattr(machine, "unpin", lambda pointer: (freed.append(pointer), real(pointer)))
    array = pinned_array((4, 4))
    pointer = array.ctypes.data
    view = array[1:].T
    del array
    gc.collect()
    assert freed == []
    view[...] = 3
    del view
    gc.collect()
    assert freed == [pointer]


def test_pinned_memory_refuses_what_it_cannot_hold():
    with pytest.raises(Refused, match="Python objects"):
        pinned_array(3, object)
    with pytest.raises(ValueError, match="no shape"):
        pinned_array((3, -1))
    with pytest.raises(TypeError):
        pinned_array(2.5)


def test_a_namespace_is_no_stream():
    with pytest.raises(Refused, match="SimpleNamespace is no stream"):
        as_stream(types.SimpleNamespace(handle=1))
