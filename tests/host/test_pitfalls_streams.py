"""Pitfalls of streams, graphs, callbacks and memory by their numbers, P18 to P36; the stress is in test_stress.py."""

import gc
import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit.errors import Refused
from warpkit.host import submission
from warpkit.host.commands import StagedUpload
from warpkit.host.launch import on_device
from warpkit.simt import machine
from warpkit.simt.steps import CopyStep

ROOT = Path(__file__).parents[2]
N = 512
NAPS = 3 if machine.SIMULATOR else 200  # of a millisecond


@cuda.jit
def increase(x, amount):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += amount


HOST = np.arange(N)


def read_host(i, x):
    x[i] = HOST[i]


@cuda.jit
def doze(naps):
    for _ in range(naps):
        cuda.nanosleep(1_000_000)


def device(values):
    """Return a device array with these values."""
    return machine.to_device(np.asarray(values))


def busy():
    """Return a stream that has work for a while."""
    stream = wk.Stream()
    wk.launch(doze, 1, 1, NAPS, stream=stream)
    return stream


@pytest.mark.everywhere
def test_every_row_has_a_test():
    files = [*ROOT.glob("tests/host/test_*.py"), *ROOT.glob("tests/device/test_*.py")]
    named = "\n".join(path.read_text(encoding="utf-8") for path in files)

    assert [row for row in range(1, 37) if not re.search(rf"[pP]{row:02}(?!\d)", named)] == []


def test_p18_arrays_of_a_temporary_live_until_the_work_is_done():
    stream, back = busy(), np.zeros(N, np.float32)
    commands = wk.CommandList().launch(increase, 4, 128, x := device(np.ones(N, np.float32)), np.float32(1))
    commands << wk.download(back, x)
    del x
    poison = [device(np.full(N, np.nan, np.float32)) for _ in range(20)]
    gc.collect()
    stream << commands.commit()
    del commands
    gc.collect()
    poison += [device(np.full(N, np.nan, np.float32)) for _ in range(20)]
    stream.synchronize()
    assert back.tolist() == [2] * N


@pytest.mark.parametrize("turns", [5 if machine.SIMULATOR else 100])
def test_p20_an_array_that_is_dropped_right_after_its_launch(turns):
    stream, out = wk.Stream(), device(np.zeros(1, np.float32))
    for turn in range(turns):
        x = machine.device_array((N,), np.float32, stream.handle)
        stream << (wk.CommandList() << wk.fill(x, turn)).commit()
        call = wk.prepare(wk.parallel_reduce_sum, N, lambda i, x: x[i], x, out=out, stream=stream)
        call()
        del x
        other = machine.device_array((N,), np.float32, stream.handle)
        stream << (wk.CommandList() << wk.fill(other, -1)).commit()
        stream.synchronize()
        assert out.copy_to_host()[0] == turn * N


def test_p21_a_pageable_source_may_be_written_again_at_once():
    stream, x, back = busy(), device(np.zeros(N)), np.zeros(N)
    source, seen = np.zeros(N), []
    for turn in range(10):
        source[:] = turn
        commands = wk.CommandList() << wk.upload(x, source) << wk.download(back, x)
        stream << commands.add_callback(lambda: seen.append(back.copy())).commit()
        source[:] = -1
    stream.synchronize()
    assert [each.tolist() for each in seen] == [[turn] * N for turn in range(10)]


def test_p21_a_pinned_source_is_read_when_the_command_runs():
    stream, x, back, source = busy(), device(np.zeros(N)), np.zeros(N), wk.pinned_array(N)
    source[:] = 1
    stream << (wk.CommandList() << wk.upload(x, source)).commit()
    done = stream.record()
    done.synchronize()
    source[:] = 2  # from here on it is the caller's again
    stream << (wk.CommandList() << wk.download(back, x)).commit() << wk.synchronize()
    assert back.tolist() == [1] * N
    assert "a pinned one when the command runs" in wk.upload.__doc__


def test_p22_pageable_memory_goes_through_pinned_staging():
    x, host = device(np.zeros(N)), np.ones(N)
    for command, way in [(wk.upload(x, host), "source"), (wk.download(host, x), "target")]:
        (part,) = submission.staged([command]).parts
        (step,) = part.steps
        assert isinstance(step, CopyStep)
        assert machine.is_pinned(getattr(step, way))
        assert getattr(step, way) != host.ctypes.data
    assert isinstance(wk.upload(x, host), StagedUpload)


@pytest.mark.gpu
def test_p22_nothing_that_is_submitted_waits_for_the_stream():
    stream, x = wk.Stream(), device(np.zeros(1 << 20))
    host, back = np.ones(1 << 20), np.zeros(1 << 20)
    warm = wk.CommandList() << wk.upload(x, host) << wk.download(back, x)
    stream << warm.commit() << wk.synchronize()
    wk.launch(doze, 1, 1, 2000, stream=stream)
    stream << (wk.CommandList() << wk.upload(x, host) << wk.download(back, x)).commit()
    stream.wait(stream.record())
    wk.Stream().wait(stream)
    assert not stream.query()
    stream.synchronize()


@pytest.mark.parametrize("turns", [100 if machine.SIMULATOR else 1000])
def test_p23_pinned_memory_is_freed(turns, monkeypatch):
    given, gone = [], []
    pinned, unpin = machine.pinned, machine.unpin
    monkeypatch.setattr(machine, "pinned", lambda nbytes: given.append(pinned(nbytes)) or given[-1])
    monkeypatch.setattr(machine, "unpin", lambda pointer: (gone.append(pointer), unpin(pointer)))
    for _ in range(turns):
        wk.pinned_array(1 << 16, np.uint8)[:] = 1
    gc.collect()
    assert len(given) == turns
    assert sorted(given) == sorted(gone)


def test_p23_staging_is_used_again(monkeypatch):
    stream, x, given = wk.Stream(), device(np.zeros(N)), []
    pinned = machine.pinned
    monkeypatch.setattr(machine, "pinned", lambda nbytes: given.append(nbytes) or pinned(nbytes))
    for _ in range(200):
        stream << (wk.CommandList() << wk.upload(x, np.ones(N))).commit()
        stream.synchronize()
    assert len(given) <= 2


@pytest.mark.everywhere
def test_p23_p24_no_python_runs_on_threads_of_the_driver():
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "warpkit").rglob("*.py")]
    asks = re.compile(r"cuLaunchHostFunc|cuStreamAddCallback|add_callback\(.*stream|cuGraphAddHostNode")

    assert [found for source in sources for found in asks.findall(source)] == []


def test_p24_callbacks_run_on_a_thread_of_the_stream():
    stream, names = wk.Stream(), []
    stream << wk.CommandList().add_callback(lambda: names.append(threading.current_thread().name)).commit()
    stream.synchronize()
    assert names == [f"warpkit callbacks {stream.handle:#x}"]


def made():
    """Return a compiled list whose arrays nobody else holds, and the host array that it fills."""
    back = np.zeros(N, np.float32)
    x, y = device(np.ones(N, np.float32)), device(np.zeros(N, np.float32))
    commands = wk.CommandList().copy(y, x).launch(increase, 4, 128, y, np.float32(1))
    commands << wk.prepare(wk.parallel_for, N, lambda i, y, x: double(i, y, x), y, device(np.ones(N, np.float32)))
    return (commands << wk.download(back, y)).compile(), back


def double(i, y, x):
    """Double an item and add another's."""
    y[i] = 2 * y[i] + x[i]


def test_p26_a_list_made_in_a_function_owns_its_arguments():
    replay, back = made()
    stream, poison = wk.Stream(), []
    for _ in range(3):
        gc.collect()
        poison += [device(np.full(N, np.nan, np.float32)) for _ in range(10)]
        back[:] = 0
        replay(stream)
        stream.synchronize()
        assert back.tolist() == [5] * N


@pytest.mark.gpu
def test_p27_p28_what_never_ran_before_is_captured():
    from .test_parallel_large import captured

    x, out = device(np.arange(N, dtype=np.float32)), device(np.zeros(1, np.float32))
    call = wk.prepare(wk.parallel_reduce_sum, N, lambda i, x: 3 * x[i], x, out=out)

    def work(stream):
        call(stream)
        wk.parallel_for(N, lambda i, x: double(i, x, x), x, stream=stream)  # compiled under capture
        stream << (wk.CommandList() << wk.fill(x, 2)).launch(increase, 4, 128, x, np.float32(1)).commit()

    replay = captured(work)
    for turn in range(10):
        replay()
        assert out.copy_to_host()[0] == 3 * (np.arange(N).sum() if turn == 0 else 3 * N)


@pytest.mark.gpu
def test_p27_what_no_graph_can_hold_is_refused_in_a_sentence():
    from .test_parallel_large import captured

    refused, x = [], device(np.zeros(N))

    def work(stream):
        for wrong in (
            lambda: wk.parallel_reduce_sum(N, lambda i: i, stream=stream),
            lambda: stream << wk.CommandList().add_callback(print).commit(),
            lambda: wk.parallel_for(N, read_host, x, stream=stream),
        ):
            with pytest.raises(Refused, match=r"captured|pass out="):
                wrong()
            refused.append(wrong)
        wk.parallel_for(N, lambda i: i, stream=stream)

    captured(work)()
    assert len(refused) == 3


def test_p28_a_captured_host_array_is_not_copied_into_a_graph(monkeypatch):
    assert on_device(HOST, 0).copy_to_host().tolist() == HOST.tolist()
    monkeypatch.setattr(machine, "is_capturing", lambda stream: True)
    with pytest.raises(Refused, match=r"a NumPy array that a function captures is copied.*prepare\(\) before"):
        on_device(HOST, 0)
    kept = device(HOST)
    assert on_device(kept, 0) is kept


def test_p31_a_stream_that_is_dropped_while_it_has_work():
    x, back, done = device(np.zeros(N)), np.zeros(N), threading.Event()
    stream = busy()
    stream << (wk.CommandList() << wk.fill(x, 7) << wk.download(back, x)).add_callback(done.set).commit()
    del stream
    gc.collect()
    assert done.wait(30)
    assert back.tolist() == [7] * N
    wk.launch(increase, 4, 128, x, 1.0)
    assert x.copy_to_host().tolist() == [8] * N


@pytest.mark.gpu
def test_p34_the_stack_of_contexts_is_as_it_was():
    from cuda.bindings import driver

    def depth():
        stack = []
        while int(current := driver.cuCtxGetCurrent()[1]):
            stack.append(current)
            driver.cuCtxPopCurrent()
        for context in reversed(stack):
            driver.cuCtxPushCurrent(context)
        return len(stack)

    x, out = device(np.ones(N)), device(np.zeros(1))
    before, stream = depth(), wk.Stream()
    calls = [
        lambda: wk.launch(increase, 4, 128, x, 1.0, stream=stream),
        lambda: wk.parallel_for(N, lambda i, x: double(i, x, x), x, stream=stream),
        lambda: wk.parallel_reduce_sum(N, lambda i, x: x[i], x, stream=stream),
        lambda: wk.parallel_reduce_sum(N, lambda i, x: x[i], x, out=out),
        lambda: stream << (wk.CommandList() << wk.fill(x, 2) << wk.download(np.zeros(N), x)).commit(),
        lambda: stream.record().synchronize(),
        lambda: wk.pinned_array(N),
        wk.synchronize,
    ]
    for call in calls:
        call()
        assert depth() == before


def test_p35_other_work_between_replays_changes_nothing():
    n = 1200 if machine.SIMULATOR else 500_000
    stream, x, out = wk.Stream(), device(np.arange(float(n))), device(np.zeros(1))
    commands = wk.CommandList().parallel_reduce_sum(n, lambda i, x: x[i], x, out=out)
    replay = commands.compile()
    for _ in range(3):
        replay(stream)
        stream.synchronize()
        assert out.copy_to_host()[0] == np.arange(float(n)).sum()
        for size in (100, n + 100):
            others = [machine.device_array((size,), np.float64, stream.handle) for _ in range(3)]
            for other in others:
                stream << (wk.CommandList() << wk.fill(other, np.nan)).commit()
            wk.parallel_reduce_sum(size, lambda i: i, stream=stream)
        stream << (wk.CommandList() << wk.fill(out, np.nan)).commit()
    stream.synchronize()


def test_a_callback_that_sleeps_holds_up_no_kernel():
    """The next commit's work is done, as its event says, while a callback is not: it sleeps until we have seen that."""
    stream, x, back = wk.Stream(), device(np.zeros(N)), wk.pinned_array(N)
    woken, order = threading.Event(), []

    def sleep():
        time.sleep(0.2)
        order.append("woken" if woken.wait(30) else "given up")

    stream << (wk.CommandList() << wk.fill(x, 1)).add_callback(sleep).commit()
    stream << wk.CommandList().launch(increase, 4, 128, x, 2.0).download(back, x).commit()
    stream.record().synchronize()
    assert order == []
    assert back.tolist() == [3] * N
    woken.set()
    stream.synchronize()
    assert order == ["woken"]


def test_dtor_callbacks_come_before_any_work_of_the_gpu():
    stream, x, seen = wk.Stream(), device(np.zeros(N)), []
    commands = (wk.CommandList() << wk.fill(x, 5)).add_dtor_callback(lambda: seen.append(x.copy_to_host()[0]))
    stream << commands.commit() << wk.synchronize()
    assert seen == [0]


@pytest.mark.parametrize("number", [5, 20])
def test_one_submission_is_one_launch_of_a_graph(number, monkeypatch):
    stream, x, counts = wk.Stream(), device(np.zeros(N)), {"graph": 0, "step": 0}
    launch, run = machine.Graph.launch, submission.machine.run

    def counted(what, function):
        def call(*args):
            counts[what] += 1
            return function(*args)

        return call

    monkeypatch.setattr(machine.Graph, "launch", counted("graph", launch))
    monkeypatch.setattr(machine, "run", counted("step", run))
    for turn in range(4):
        counts |= {"graph": 0, "step": 0}
        commands = wk.CommandList()
        for place in range(number):
            commands.launch(increase, 4, 128, x, float(turn + place))
        stream << commands.commit()
        assert counts == ({"graph": 0, "step": number} if turn == 0 else {"graph": 1, "step": 0})
    stream.synchronize()
    assert x.copy_to_host()[0] == sum(turn + place for turn in range(4) for place in range(number))


def test_parallel_forms_in_lists_take_slots():
    stream, out, total = wk.Stream(), device(np.zeros(N)), device(np.zeros(1))
    commands = wk.CommandList().parallel_for(N, write, out, wk.slot("x"), wk.slot("factor"))
    commands.parallel_reduce_sum(wk.slot("count"), lambda i, x: x[i], out, out=wk.slot("total"))
    replay = commands.compile()
    x, y = device(np.arange(float(N))), device(np.ones(N))
    for values, expected in [
        ({"x": x, "factor": 2.0, "count": N, "total": total}, N * (N - 1)),
        ({"x": y}, 2 * N),
        ({"factor": 3.0, "count": 10}, 30),
    ]:
        replay(stream, **values)
        stream.synchronize()
        assert total.copy_to_host()[0] == expected
    with pytest.raises(Refused, match="no slot 'z'"):
        replay(stream, z=1)


def write(i, out, x, factor):
    """Write an item's multiple."""
    out[i] = factor * x[i]


def test_prepared_array_functions_with_out_are_commands():
    from warpkit import device as functions

    stream, x, back = wk.Stream(), device(np.arange(600.0)), np.zeros(1)
    total = device(np.zeros(1))
    for _ in range(3):
        commands = wk.CommandList() << wk.prepare(functions.sum, x, out=total) << wk.download(back, total)
        stream << commands.commit()
        stream.synchronize()
        assert back[0] == np.arange(600.0).sum()
        back[:] = -1
    stream << wk.CommandList().call(lambda s: functions.max(x, out=total, stream=s)).download(back, total).commit()
    stream.synchronize()
    assert back[0] == 599
