"""Scratch memory: whose it is, that it stays as it is, grows, comes back, and survives failures."""

import gc
import os
import threading
import time

import numpy as np
import pytest

from tests.room import no_room
from warpkit import device
from warpkit.host import scratch as module
from warpkit.host.arrays import device_argument
from warpkit.host.scratch import forget_captures, held_bytes, own_scratch, reset, scratch
from warpkit.simt import machine
from warpkit.simt.specs import array_spec

SPEC, OTHER = array_spec(np.int64, 1), array_spec(np.int32, 1)


@pytest.fixture
def streams():
    """Make streams, and destroy them after the test."""
    made = []

    def stream():
        made.append(machine.stream_create())
        return made[-1]

    yield stream
    machine.synchronize()
    for one in made:
        machine.stream_destroy(one)


def contents(memory, stream=0):
    """Return what scratch memory holds."""
    out = np.full(memory.slots, 77, memory.argument.dtype)
    machine.stream_synchronize(stream)
    machine.copy_to_host(out.ctypes.data, memory.pointer, out.nbytes, stream)
    machine.stream_synchronize(stream)
    return out


def test_it_is_made_of_zeros_once(streams):
    stream = streams()
    memory = scratch("zeros", SPEC, 100, stream)
    assert memory.slots >= 100
    assert not contents(memory, stream).any()
    machine.fill(memory.pointer, 5, 8, stream)
    assert scratch("zeros", SPEC, 100, stream) is memory
    assert contents(memory, stream)[0] == 0x0505050505050505


def test_its_array_has_all_its_slots(streams):
    memory = scratch("array", SPEC, 3, streams())
    assert memory.argument.spec is SPEC
    assert memory.argument.shape == (memory.slots,)
    assert memory.argument.pointer == memory.pointer


def test_every_use_has_its_own(streams):
    first, second = streams(), streams()
    uses = [("a", SPEC, first), ("b", SPEC, first), ("a", OTHER, first), ("a", SPEC, second), ("a", SPEC, 0)]
    assert len({scratch(what, spec, 10, stream).pointer for what, spec, stream in uses}) == len(uses)


def await_end_of(threads):
    """Wait until the system has no more of threads that have been joined: the driver still takes their streams down."""
    while any(os.path.exists(f"/proc/self/task/{thread.native_id}") for thread in threads):
        time.sleep(0.001)


def test_the_default_stream_of_a_thread_is_each_threads_own():
    mine, found, barrier = scratch("thread", SPEC, 10, 2), [], threading.Barrier(3)

    def ask():
        found.append(scratch("thread", SPEC, 10, 2))
        barrier.wait()  # all of them live at once

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    await_end_of(threads)
    assert scratch("thread", SPEC, 10, 2) is mine
    assert len({memory.pointer for memory in (mine, *found)}) == 4


def test_a_stream_that_gets_the_handle_of_another_one_gets_none_of_its_memory(streams, monkeypatch):
    stream = streams()
    before = scratch("handle", SPEC, 10, stream)
    monkeypatch.setattr(machine, "stream_id", lambda stream: -1)  # a new stream, under the old handle
    assert scratch("handle", SPEC, 10, stream) is not before


def test_it_grows_by_doubling_and_keeps_what_a_launch_may_be_about_to_name(streams):
    stream = streams()
    small = scratch("growth", SPEC, 10, stream)
    machine.fill(small.pointer, 1, small.nbytes, stream)
    large = scratch("growth", SPEC, small.slots + 1, stream)
    assert large.slots == 2 * small.slots
    assert large.earlier is small
    assert not contents(large, stream).any()
    assert contents(small, stream).all()  # still there
    assert scratch("growth", SPEC, 10, stream) is large
    huge = scratch("growth", SPEC, 100 * small.slots, stream)
    assert huge.slots >= 100 * small.slots


def test_what_is_released_with_all_that_it_has_outgrown(streams, monkeypatch):
    stream = streams()
    small = scratch("release", SPEC, 10, stream)
    large = scratch("release", SPEC, small.slots + 1, stream)
    released = []
    monkeypatch.setattr(machine, "release", lambda pointer, stream: released.append(pointer))
    large.release(stream)
    assert released == [large.pointer, small.pointer]


def test_in_steady_state_nothing_is_allocated(streams, monkeypatch):
    stream = streams()
    wanted = [("steady", SPEC, 100, stream), ("steady", SPEC, 7, stream), ("steady", OTHER, 100, stream)]
    first = [scratch(*use) for use in wanted]
    for name in ("allocate", "release", "fill", "synchronize", "stream_synchronize"):
        monkeypatch.setattr(machine, name, lambda *given: pytest.fail("asked the machine for something"))
    before = held_bytes()
    for _ in range(1000):
        assert [scratch(*use) for use in wanted] == first
    assert held_bytes() == before


def test_memory_of_streams_that_are_gone_comes_back(monkeypatch):
    monkeypatch.setattr(module, "MOST_STREAMS", 8)
    scratch("warm", SPEC, 10, 0)
    sizes = []
    for _ in range(60):
        stream = machine.stream_create()
        scratch("gone", SPEC, 10, stream)
        machine.stream_destroy(stream)
        sizes.append(held_bytes())
    assert max(sizes[30:]) <= sizes[29] + 16 * module.LEAST_BYTES
    assert scratch("warm", SPEC, 10, 0)


def test_a_stream_that_is_used_all_the_time_keeps_its_memory(monkeypatch, streams):
    monkeypatch.setattr(module, "MOST_STREAMS", 8)
    mine = streams()
    memory = scratch("kept", SPEC, 10, mine)
    for _ in range(60):
        scratch("passing", SPEC, 10, streams())
        assert scratch("kept", SPEC, 10, mine) is memory


def test_no_room(streams):
    stream = streams()
    small = scratch("room", SPEC, 10, stream)
    with no_room():
        with pytest.raises(MemoryError, match=r"^allocation of \d+ bytes: "):
            scratch("room", SPEC, small.slots + 1, stream)
        assert scratch("room", SPEC, 10, stream) is small
    assert scratch("room", SPEC, small.slots + 1, stream).slots == 2 * small.slots


def test_after_a_failure_it_is_as_new(streams):
    stream = streams()
    memory = scratch("failure", SPEC, 10, stream)
    machine.fill(memory.pointer, 3, 64, stream)
    reset(memory, stream)
    assert not contents(memory, stream).any()
    assert scratch("failure", SPEC, 10, stream) is memory


def test_what_cannot_be_made_as_new_is_never_handed_out_again(streams, monkeypatch):
    stream = streams()
    memory = scratch("lost", SPEC, 10, stream)

    def fails(*given):
        raise RuntimeError("the context is gone")

    with monkeypatch.context() as broken:
        broken.setattr(machine, "fill", fails)
        reset(memory, stream)
    assert scratch("lost", SPEC, 10, stream) is not memory


def test_own_scratch_lives_as_long_as_it_is_held(monkeypatch):
    released = []
    release = machine.release
    monkeypatch.setattr(machine, "release", lambda *given: (released.append(given[0]), release(*given)))
    memory = own_scratch(SPEC, 10, 0)
    pointer = memory.pointer
    assert not contents(memory).any()
    assert released == []
    del memory
    gc.collect()
    assert released == [pointer]


def test_under_capture_memory_is_the_captures_own(streams, monkeypatch):
    stream = streams()
    forget_captures()  # those of earlier tests
    outside = scratch("capture", SPEC, 10, stream)
    captures = {}
    for number in (7, 8):
        monkeypatch.setattr(machine, "capture_id", lambda stream, number=number: number)
        monkeypatch.setattr(machine, "stream_id", pytest.fail)  # the driver refuses to say, and that ends the capture
        captures[number] = scratch("capture", SPEC, 10, stream)
        assert scratch("capture", SPEC, 10, stream) is captures[number]  # one launch after the other
    monkeypatch.undo()
    assert scratch("capture", SPEC, 10, stream) is outside
    assert len({memory.pointer for memory in (outside, *captures.values())}) == 3
    before = held_bytes()
    forget_captures()
    assert held_bytes() == before - sum(memory.nbytes for memory in captures.values())


def test_eight_threads_at_once_get_the_same(streams):
    stream, found = streams(), []
    barrier = threading.Barrier(8)

    def ask(slots):
        barrier.wait()
        for _ in range(200):
            found.append(scratch("threads", SPEC, slots, stream))

    threads = [threading.Thread(target=ask, args=(10 * 2**k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = scratch("threads", SPEC, 1, stream)
    assert last.slots >= 1280
    assert all(memory.slots <= last.slots for memory in found)


# ------------------------------------------------------------------ with reductions, which use it

POLICY = device.ReducePolicy(threads=32, loads=1, least_loads=1, single_loads=1, single_threads=32)


def line(values):
    """Return values in device memory of ours."""
    values = np.ascontiguousarray(values)
    pointer = machine.allocate(values.nbytes, 0)
    machine.copy_from_host(pointer, values.ctypes.data, values.nbytes, 0)
    machine.stream_synchronize(0)
    return device_argument(pointer, values.shape, values.dtype)


def test_grids_of_many_sizes_one_after_the_other_leave_the_counter_at_zero(streams):
    stream = streams()
    for n in (1000, 3, 129, 2000, 258):
        assert device.sum(line(np.ones(n, np.int32)), stream=stream, policy=POLICY) == n


def test_streams_take_turns(streams):
    mine, x = [streams() for _ in range(4)], line(np.arange(900))
    for _ in range(5):
        for stream in mine:
            assert device.sum(x, stream=stream, policy=POLICY) == np.arange(900).sum()


@pytest.mark.gpu
def test_streams_at_once(streams):
    """S13: one plan on four streams, interleaved, with different data; nothing waits in between."""
    n, rounds = 1 << 20, 50
    mine = [streams() for _ in range(4)]
    arrays = [line(np.full(n, k + 1, np.int32)) for k in range(4)]
    outs = [line(np.zeros(rounds, np.int64)) for _ in range(4)]
    for turn in range(rounds):
        for stream, x, out in zip(mine, arrays, outs):
            target = device_argument(out.pointer + 8 * turn, (1,), np.int64)
            device.sum(x, out=target, stream=stream)
    for k, (stream, out) in enumerate(zip(mine, outs)):
        found = np.zeros(rounds, np.int64)
        machine.stream_synchronize(stream)
        machine.copy_to_host(found.ctypes.data, out.pointer, found.nbytes, stream)
        machine.stream_synchronize(stream)
        assert (found == n * (k + 1)).all()


@pytest.mark.gpu
def test_a_hundred_thousand_calls_leave_memory_flat(streams):
    stream, x, out = streams(), line(np.ones(1 << 18, np.float32)), line(np.zeros(1, np.float32))
    device.sum(x, out=out, stream=stream)
    before = held_bytes()
    for _ in range(100_000):
        device.sum(x, out=out, stream=stream)
    machine.stream_synchronize(stream)
    assert held_bytes() == before
    assert device.sum(x, stream=stream) == 1 << 18
