"""Command lists, streams and reductions in the hands of somebody who wants to break them."""

import functools
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit.errors import Refused
from warpkit.simt import machine

ROOT, N = Path(__file__).parents[2], 100


def device(values):
    """Return a device array with these values."""
    return machine.to_device(np.asarray(values))


def floats(n):
    """Return n random float32."""
    return np.random.default_rng(0).random(n, dtype=np.float32)


def test_a_list_that_cannot_be_extended_is_as_it_was():
    x, host = device(floats(N)), np.zeros(N, np.float32)
    first, second = wk.CommandList().download(host, x), wk.CommandList().fill(x, 1).upload(x, host)
    with pytest.raises(ValueError, match="wait for it"):
        first.extend(second)
    assert (len(first), len(second)) == (1, 2)
    with pytest.raises(Refused, match="a CommandList, not a int"):
        first.extend(5)
    for commands in (first, second):
        commands.commit()


def test_a_replay_refuses_to_upload_what_it_downloads():
    x, host = device(floats(N)), np.zeros(N, np.float32)
    replay = wk.CommandList().download(wk.slot("back"), x).upload(x, wk.slot("there")).compile()
    with pytest.raises(ValueError, match="wait for it"):
        replay(wk.Stream(), back=host, there=host)


def test_slots_may_have_any_name_and_replays_want_a_stream():
    x, stream = device(floats(N)), wk.Stream()
    replay = wk.CommandList().fill(wk.slot("stream"), 7).fill(wk.slot("self"), 7).compile()
    replay(stream, stream=x, self=x)
    stream.synchronize()
    assert (x.copy_to_host() == 7).all()
    with pytest.raises(Refused, match="a warpkit Stream, not a int"):
        replay(0)
    with pytest.raises(Refused, match="a name is a string, not 3"):
        wk.slot(3)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("i1", 300), ("u1", -1), ("i4", 1.5), ("i4", np.nan), ("i8", 2**70), ("f4", 1j), ("f4", "abc"), ("i4", None)],
)
def test_fill_refuses_what_would_be_another_number(dtype, value):
    with pytest.raises((Refused, ValueError), match=r"^fill: .*(does not go into|is outside of)"):
        wk.fill(device(np.zeros(4, dtype)), value)


def test_fill_takes_whole_floats_for_integers():
    x, stream = device(np.zeros(4, np.int32)), wk.Stream()
    stream << wk.CommandList().fill(x, 2.0).commit() << wk.synchronize()
    assert x.copy_to_host().tolist() == [2] * 4


def test_downloads_that_never_ran_leave_their_targets_alone():
    x, first, second, stream = device(floats(N)), np.full(N, -1, np.float32), np.full(N, -1, np.float32), wk.Stream()
    commands = wk.CommandList().download(first, x).call(lambda stream: 1 / 0).download(second, x)
    with pytest.raises(ZeroDivisionError):
        stream << commands.commit()
    stream.synchronize()
    assert (first == x.copy_to_host()).all()
    assert (second == -1).all()


def test_a_captured_stream_refuses_pageable_copies(monkeypatch):
    x, host, stream = device(floats(N)), np.zeros(N, np.float32), wk.Stream()
    with monkeypatch.context() as patched:
        patched.setattr(machine, "is_capturing", lambda handle: True)
        for command in (wk.upload(x, host), wk.download(host, x)):
            commit = (wk.CommandList() << command).commit()
            with pytest.raises(Refused, match="page-locked"):
                stream << commit
    stream << commit << wk.synchronize()  # it was not used up
    assert (host == x.copy_to_host()).all()


def test_a_callback_does_not_wait_for_the_future_of_its_stream():
    stream, heard = wk.Stream(), []

    def wait():
        with pytest.raises(Refused, match="its own stream"):
            stream.done().result(10)
        heard.append(True)

    stream << wk.CommandList().add_callback(wait).commit()
    stream.synchronize()
    assert heard == [True]


def test_callbacks_that_wait_for_everything_are_refused_at_once():
    streams, both, heard = (wk.Stream(), wk.Stream()), threading.Barrier(2), []

    def wait():
        both.wait(10)
        with pytest.raises(Refused, match="its own stream"):
            wk.synchronize()
        heard.append(True)

    for stream in streams:
        stream << wk.CommandList().add_callback(wait).commit()
    done = [stream.done() for stream in streams]
    for future in done:
        future.result(10)
    assert heard == [True, True]


def test_a_dtor_callback_may_wait_for_callbacks_that_submit():
    stream, called = wk.Stream(), []

    def again():
        time.sleep(0.1)
        stream << wk.CommandList().add_callback(lambda: called.append("again")).commit()

    stream << wk.CommandList().add_callback(again).commit()
    waits = wk.CommandList().add_dtor_callback(stream.synchronize).commit()
    thread = threading.Thread(target=stream.submit, args=[waits], daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    stream.synchronize()
    assert called == ["again"]


def test_a_future_hears_of_work_that_has_failed(monkeypatch):
    stream, called = wk.Stream(), []

    def failed(event):
        raise RuntimeError("the kernel failed")

    with monkeypatch.context() as patched:
        patched.setattr(machine, "event_synchronize", failed)
        stream << wk.CommandList().add_callback(lambda: called.append(True)).commit()
        with pytest.raises(RuntimeError, match="the kernel failed"):
            stream.done().result(10)
    assert not called


EXIT = """
import time, warpkit as wk
def fails(): raise ValueError("first")
def later(): time.sleep(0.5); print("ran", flush=True); last << wk.CommandList().add_callback(more).commit()
def more(): time.sleep(0.5); print("ran more", flush=True)
one, two, last = wk.Stream(), wk.Stream(), wk.Stream()
one << wk.CommandList().add_callback(fails).commit()
two << wk.CommandList().add_callback(later).commit()
"""


@pytest.mark.parametrize("wait", ["", "time.sleep(0.2)"], ids=["at once", "later"])
def test_at_exit_an_error_is_shown_and_keeps_nothing_from_running(wait):
    done = subprocess.run([sys.executable, "-c", EXIT + wait], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:2] == ["ran", "ran more"]
    assert "ValueError: first" in done.stderr


# -- launches and reductions -------------------------------------------------------------------------------------------


class Callable:
    def kernel(self, x):
        x[0] = 1


@pytest.mark.parametrize("kernel", [max, int, functools.partial(print, 1), Callable().kernel])
def test_a_kernel_is_a_function(kernel):
    with pytest.raises(Refused, match=r"launch: a kernel is a function, not a .*: write a def"):
        wk.launch(kernel, 1, 1, device(floats(N)))


def test_a_record_and_a_shape_of_the_wrong_kind_are_refused():
    with pytest.raises(Refused, match=r"Stream\.record: a str is no Event"):
        wk.Stream().record("event")
    for shape in (1.5, [2, 3], (2, "3")):
        with pytest.raises(Refused, match="pinned_array: a shape is an int or a tuple of ints"):
            wk.pinned_array(shape)
    with pytest.raises(Refused, match="pass out="):
        wk.CommandList().parallel_reduce_sum(3, lambda i: i, out=None)


def five(i):
    return 5.0


@pytest.mark.parametrize("zero", [np.float64, np.float32])
def test_an_init_of_minus_zero_is_another_one_than_zero(zero):
    for init in (0.0, -0.0, 0.0):
        assert np.signbit(wk.parallel_reduce(1, five, min, zero(init))) == np.signbit(init)


def test_an_init_beyond_64_bits_is_one_that_floats_hold():
    x = device(floats(N))
    assert wk.device.max(x, init=2**70) == np.float32(2**70)
    with pytest.raises(ValueError, match=r"init \d+ is outside of int64"):
        wk.device.sum(device(np.arange(N)), init=2**70)
    with pytest.raises(ValueError, match=r"init \d+ is outside of float32"):
        wk.device.max(x, init=2**200)


def test_options_of_array_functions_of_the_wrong_kind_are_refused():
    x = device(np.arange(N))
    with pytest.raises(Refused, match="out is of type int"):
        wk.device.sum(x, out=5)
    with pytest.raises(Refused, match="policy must be a ReducePolicy, not a list"):
        wk.device.sum(x, policy=[1])


def test_a_count_on_the_device_may_have_no_dimensions():
    assert wk.device.sum(device(np.arange(N)), num_items=device(np.array(5))) == 10


def keyword_only(earlier, later, *, factor=3):
    return earlier + factor * later


@pytest.mark.parametrize(
    ("op", "said"),
    [
        (functools.partial(max, 1), "op must be a function, not a partial"),
        (Callable().kernel, "op must be a function, not a method"),
        (int, "op must be a function, not the class int"),
        (lambda a: a, "op is called with 2 values"),
        (lambda a, b, c: a, "op is called with 2 values"),
        (keyword_only, "op has the keyword-only parameter factor"),
    ],
    ids=["partial", "method", "class", "one", "three", "keyword"],
)
def test_operators_that_no_kernel_can_call_are_refused_alike(op, said):
    x = device(np.arange(N))
    with pytest.raises(Refused, match=f"^reduce: {said}"):
        wk.device.reduce(x, op)
    with pytest.raises(Refused, match=f"^transform_reduce: {said}"):
        wk.device.transform_reduce(x, lambda v: v, op)
    with pytest.raises(Refused, match=f"^parallel_reduce: {said}"):
        wk.parallel_reduce(N, lambda i: i, op, 0)


def test_transforms_that_no_kernel_can_call_are_refused():
    x = device(np.arange(N))
    with pytest.raises(Refused, match="transform is called with 1 values"):
        wk.device.transform_reduce(x, lambda a, b: a, wk.add)
    with pytest.raises(Refused, match="transform must be a function, not a method"):
        wk.device.transform_reduce(x, Callable().kernel, wk.add)
    assert wk.device.transform_reduce(x, np.abs, wk.add) == np.arange(N).sum()


def test_a_host_call_does_not_wait_for_its_own_stream():
    stream = wk.Stream()
    with pytest.raises(Refused, match="a host call of a list cannot wait for its own stream"):
        stream << wk.CommandList().call(lambda given: given.synchronize()).commit()
    other = wk.Stream()
    stream << wk.CommandList().call(lambda given: other.synchronize()).commit()
    stream.synchronize()


def test_copies_between_overlapping_arrays_are_refused():
    x = machine.to_device(np.arange(10))
    with pytest.raises(ValueError, match="the arrays overlap"):
        wk.copy(x[1:], x[:-1])
    wk.copy(x[:5], x[5:])


def test_callbacks_that_nobody_would_await_are_refused():
    async def later():
        pass

    with pytest.raises(Refused, match="await the stream"):
        wk.CommandList().add_callback(later)


@pytest.mark.parametrize("shared", [-1, 1.5, "many"])
def test_shared_bytes_are_a_number(shared):
    x = machine.to_device(np.arange(10))
    with pytest.raises(Refused, match="shared is a number of bytes"):
        wk.launch(cuda.jit(lambda x: None), 1, 1, x, shared=shared)


NUMBAS = pytest.param({"debug": True, "opt": False}, marks=pytest.mark.everywhere, id="launched by numba")


@pytest.mark.parametrize("options", [pytest.param({}, id="ordinary"), NUMBAS])
@pytest.mark.parametrize("wrong", [0, 1, 3])
def test_as_many_arguments_as_the_kernel_has(options, wrong):
    @cuda.jit(**options)
    def two(x, y):
        x[0] = y[0]

    with pytest.raises(Refused, match=rf"two takes 2 arguments \(x, y\), not {wrong}"):
        wk.launch(two, 1, 1, *range(wrong))
    if not options:
        with pytest.raises(Refused, match=rf"two takes 2 arguments \(x, y\), not {wrong}"):
            wk.prepare(two, 1, 1, *range(wrong))
