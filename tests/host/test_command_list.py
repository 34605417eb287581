"""Command lists: the checklist of the contract, one test a line."""

import asyncio
import gc
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit.errors import Refused
from warpkit.host import completions
from warpkit.host.submission import submission
from warpkit.simt import machine

ROOT = Path(__file__).parents[2]


@cuda.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + y[i]


def device(values):
    """Return a device array with these values."""
    return machine.to_device(np.asarray(values))


def floats(n, seed=0):
    """Return n random float32."""
    return np.random.default_rng(seed).random(n, dtype=np.float32)


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("n", [0, 1, 257])
def test_upload_work_download_needs_no_barrier(n, pinned):
    x, host, back = device(np.zeros(n, np.float32)), floats(n), np.zeros(n, np.float32)
    if pinned:
        there = wk.pinned_array(n, np.float32)
        there[:] = host
        host, back = there, wk.pinned_array(n, np.float32)
    stream = wk.Stream()
    for turn in range(4):  # the first in steps, then as a graph, then updated
        commands = wk.CommandList() << wk.upload(x, host)
        commands.launch(scale, max(-(-n // 64), 1), 64, x, np.float32(2 + turn)).launch(scale, 5, 64, x, np.float32(3))
        commands.download(back, x)
        assert len(commands) == 4
        stream << commands.commit()
        stream.synchronize()
        np.testing.assert_array_equal(back, host * np.float32(2 + turn) * np.float32(3))


def test_lists_are_extended_and_none_is_nothing():
    x = device(np.ones(8, np.float32))
    first, second = wk.CommandList(), wk.CommandList()
    called = []
    first << None << wk.fill(x, 5)
    second << wk.prepare(scale, 1, 32, x, np.float32(2)) << None
    second.add_callback(lambda: called.append("done")).add_dtor_callback(lambda: called.append("begin"))

    first.extend(second)
    assert len(first) == 2
    with pytest.raises(Refused, match="record a new one"):
        second.fill(x, 3)
    with pytest.raises(Refused, match="cannot be appended to itself"):
        first.extend(first)
    stream = wk.Stream()
    stream << first.commit() << wk.synchronize()

    assert x.copy_to_host().tolist() == [10] * 8
    assert called == ["begin", "done"]


def test_a_list_in_a_list_by_the_operator():
    x = device(np.ones(8, np.float32))
    inner = wk.CommandList() << wk.fill(x, 7)
    outer = wk.CommandList() << inner
    wk.Stream() << outer.commit() << wk.synchronize()
    assert x.copy_to_host().tolist() == [7] * 8


def test_after_commit_nothing_more():
    commands = wk.CommandList()
    commit = commands.commit()
    stream = wk.Stream()
    stream.submit(commit)
    for wrong, said in [
        (lambda: commands.fill(device(np.ones(1)), 1), "record a new one"),
        (commands.commit, "record a new one"),
        (lambda: commands.add_callback(print), "record a new one"),
        (lambda: stream.submit(commit), "submitted already"),
        (lambda: stream.submit(wk.CommandList()), "comes from CommandList.commit"),
        (lambda: stream << wk.CommandList(), "close the list first"),
        (lambda: stream << 3, "not a int"),
        (lambda: wk.CommandList() << 3, "not a int"),
        (lambda: wk.CommandList().add_callback(3), "a callback is a function"),
        (lambda: wk.CommandList().call(3), "a function of the stream"),
    ]:
        with pytest.raises(Refused, match=said):
            wrong()


def test_an_empty_commit_calls_back():
    called, stream = [], wk.Stream()
    stream.submit(wk.CommandList().add_callback(lambda: called.append(1)).commit())
    stream.synchronize()
    assert called == [1]


def test_a_list_that_is_lost_warns():
    commands = [wk.CommandList() << wk.fill(device(np.ones(3)), 1)]
    with pytest.warns(ResourceWarning, match="a CommandList with 1 commands was never committed"):
        commands.clear()
    wk.CommandList()  # an empty one does not


def test_callbacks_come_in_order_once_on_a_thread_of_the_stream():
    stream, seen = wk.Stream(), []
    x, back = device(np.zeros(100, np.float32)), np.zeros(100, np.float32)
    for turn in range(30):
        commands = (wk.CommandList() << wk.fill(x, turn)).download(back, x)

        def note(turn=turn):
            if turn % 7 == 0:
                time.sleep(0.002)
            seen.append((turn, threading.current_thread() is threading.main_thread()))

        stream << commands.add_callback(note).add_callback(lambda turn=turn: seen.append((turn + 0.5, None))).commit()
    stream.synchronize()
    assert [turn for turn, _ in seen] == [half / 2 for half in range(60)]
    assert not any(main for _, main in seen)


def test_a_callback_sees_what_was_downloaded():
    stream, right = wk.Stream(), []
    for turn in range(10):
        x, back = device(np.zeros(300, np.int64)), np.zeros(300, np.int64)
        commands = (wk.CommandList() << wk.fill(x, turn) << wk.download(back, x)).add_callback(
            lambda back=back, turn=turn: right.append((back == turn).all())
        )
        stream << commands.commit()
    stream.synchronize()
    assert right == [True] * 10


def test_dtor_callbacks_run_at_submit_on_the_submitting_thread_and_when_dropped():
    stream, seen = wk.Stream(), []
    x = device(np.zeros(4))

    def note():
        seen.append(threading.current_thread() is threading.main_thread())

    stream << (wk.CommandList() << wk.fill(x, 1)).add_dtor_callback(note).commit()
    assert seen == [True]
    commit = wk.CommandList().add_dtor_callback(note).commit()
    del commit
    gc.collect()
    assert seen == [True, True]
    stream.synchronize()


def test_what_a_list_uses_lives_until_it_is_done():
    stream = wk.Stream()

    class Owner:
        pass

    owner = Owner()
    alive, waiting = weakref.ref(owner), threading.Event()
    back, results = np.zeros(1000, np.float32), []
    x = device(floats(1000))
    wanted = x.copy_to_host() * np.float32(3)
    blocker = wk.CommandList().add_callback(lambda: waiting.wait(5))
    commands = wk.CommandList().launch(scale, 4, 256, x, np.float32(3)).download(back, x)
    commands.add_callback(lambda owner=owner: results.append(owner))
    stream << blocker.commit() << commands.commit()
    del x, owner, commands, blocker
    gc.collect()
    assert alive() is not None
    waiting.set()
    stream.synchronize()
    np.testing.assert_array_equal(back, wanted)
    results.clear()
    gc.collect()
    assert alive() is None


def test_pageable_sources_are_free_after_submit():
    stream = wk.Stream()
    x, host, back = device(np.zeros(1 << 12, np.float32)), floats(1 << 12), np.zeros(1 << 12, np.float32)
    wanted = host.copy()
    stream << (wk.CommandList() << wk.upload(x, host)).commit()
    host[:] = -1
    stream << (wk.CommandList() << wk.download(back, x)).commit()
    stream.synchronize()
    np.testing.assert_array_equal(back, wanted)


def test_strided_host_arrays_are_staged():
    stream = wk.Stream()
    whole, back = np.arange(40).reshape(5, 8), np.zeros((8, 5), np.int64)
    x = device(np.zeros((8, 5), np.int64))
    stream << (wk.CommandList() << wk.upload(x, whole.T) << wk.download(back[:], x)).commit()
    stream.synchronize()
    np.testing.assert_array_equal(back, whole.T)


def test_uploading_what_the_list_downloads_is_refused():
    x, host = device(np.zeros(10)), np.zeros(10)
    commands = wk.CommandList() << wk.download(host, x)
    with pytest.raises(ValueError, match="downloads into the same host memory"):
        commands.upload(x, host)
    with pytest.raises(ValueError, match="downloads into the same host memory"):
        commands.upload(x[:5], host[5:])
    assert len(commands) == 1
    commands.upload(x, np.ones(10))
    wk.Stream() << commands.commit() << wk.synchronize()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: wk.upload(device(np.zeros(3)), np.zeros(4)), r"float64 \(3,\) on the device and float64 \(4,\)"),
        (lambda: wk.download(np.zeros(3, np.float32), device(np.zeros(3))), "float64"),
        (lambda: wk.upload(device(np.zeros(3)), [1, 2, 3]), "the host side is a NumPy array, not a list"),
        (lambda: wk.copy(device(np.zeros(6))[::2], device(np.zeros(3))), "must be contiguous"),
        (lambda: wk.fill(device(np.zeros(6)), np.zeros(2)), "one number"),
        (lambda: wk.upload(np.zeros(3), np.zeros(3)), "upload"),
        (lambda: wk.download(np.zeros((), np.int64), 3), "one side is a device array, not a int"),
    ],
)
def test_copies_of_what_does_not_fit_are_refused(wrong, said):
    with pytest.raises(Refused, match=said):
        wrong()


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("?", True),
        ("i1", -3),
        ("u2", 513),
        ("f2", 1.5),
        ("i4", -1),
        ("f4", 0.1),
        ("i8", -7),
        ("i8", 0x100000001),
        ("f8", 0.1),
        ("f8", -0.0),
        ("c8", 1 + 2j),
        ("c16", 0.1 - 2j),
        ("u8", 2**63 + 5),
    ],
)
def test_fill_takes_every_type(dtype, value):
    out = device(np.zeros(301, dtype))
    wk.Stream() << (wk.CommandList() << wk.fill(out[1:], value)).commit() << wk.synchronize()
    wanted = np.full(301, value, dtype)
    wanted[0] = 0
    assert out.copy_to_host().tobytes() == wanted.tobytes()


def test_calls_come_in_their_place():
    stream, order = wk.Stream(), []
    x, back = device(np.ones(64, np.float32)), np.zeros(64, np.float32)
    commands = wk.CommandList().launch(scale, 1, 64, x, np.float32(3))
    commands.call(lambda given: (order.append(given), wk.launch(scale, 1, 64, x, np.float32(5), stream=given)))
    commands.launch(scale, 1, 64, x, np.float32(7)).download(back, x)
    stream << commands.commit()
    assert order == [stream]
    stream.synchronize()
    assert back.tolist() == [105] * 64


def test_p25_a_callback_that_raises_is_raised_once_and_the_rest_runs():
    stream, ran = wk.Stream(), []
    stream << wk.CommandList().add_callback(lambda: 1 / 0).add_callback(lambda: ran.append(1)).commit()
    stream << wk.CommandList().add_callback(lambda: ran.append(2)).commit()
    with pytest.raises(ZeroDivisionError):
        stream.synchronize()
    assert ran == [1, 2]
    stream.synchronize()
    x = device(np.ones(3))
    stream << (wk.CommandList() << wk.fill(x, 4)).commit()
    stream.synchronize()
    assert x.copy_to_host().tolist() == [4] * 3


def test_a_callback_may_work_with_cuda_and_submit_elsewhere_but_not_wait_for_its_stream():
    stream, other = wk.Stream(), wk.Stream()
    x, back = device(np.ones(32, np.float32)), np.zeros(32, np.float32)

    def more():
        wk.launch(scale, 1, 32, x, np.float32(4), stream=other)
        other << (wk.CommandList() << wk.download(back, x)).commit()
        other.synchronize()

    stream << wk.CommandList().launch(scale, 1, 32, x, np.float32(2)).add_callback(more).commit()
    stream.synchronize()
    assert back.tolist() == [8] * 32

    stream << wk.CommandList().add_callback(stream.synchronize).commit()
    with pytest.raises(Refused, match="cannot wait for its own stream"):
        stream.synchronize()


def test_compiled_lists_are_replayed_with_new_arguments():
    stream = wk.Stream()
    arrays = [device(np.full(100, value, np.float32)) for value in (1, 2, 3)]
    out, back, done = device(np.zeros(100, np.float32)), np.zeros(100, np.float32), []
    commands = wk.CommandList().launch(add, 1, 128, wk.slot("x"), wk.slot("y"), out)
    commands.launch(scale, 1, 128, out, wk.slot("factor")) << wk.download(back, out)
    replay = commands.add_callback(lambda: done.append(back[0])).compile()

    with pytest.raises(Refused, match="no value for slot"):
        replay(stream, x=arrays[0])
    with pytest.raises(Refused, match="no slot 'z'"):
        replay(stream, x=arrays[0], y=arrays[1], factor=np.float32(1), z=1)
    replay(stream, x=arrays[0], y=arrays[1], factor=np.float32(10))
    stream.synchronize()
    assert back.tolist() == [30] * 100
    replay(stream, y=arrays[2])
    stream.synchronize()
    replay(stream)
    stream.synchronize()
    assert back.tolist() == [40] * 100
    assert done == [30, 40, 40]
    unbound = wk.CommandList().launch(add, 1, 128, wk.slot("x"), out, out)
    with pytest.raises(Refused, match="compile"):
        unbound.commit()
    unbound.compile()


def test_the_pipelined_pattern_gives_every_result_in_order():
    stream, results = wk.Stream(), []
    x, out = device(np.zeros(256, np.float32)), device(np.zeros(256, np.float32))
    for turn in range(20):
        host, back = np.full(256, turn, np.float32), np.zeros(256, np.float32)
        commands = wk.CommandList() << wk.upload(x, host)
        commands.launch(add, 1, 256, x, x, out) << wk.download(back, out)
        stream << commands.add_callback(lambda back=back: results.append(back[3])).commit()
    stream.synchronize()
    assert results == [2.0 * turn for turn in range(20)]


def test_repeated_lists_become_one_graph():
    stream = wk.Stream()
    kept = submission(stream.handle)._graphs
    before = len(kept)
    x = device(np.ones(64, np.float32))
    for turn in range(5):
        commands = wk.CommandList()
        for _ in range(6):
            commands.launch(scale, 1, 64, x, np.float32(2 if turn % 2 else 0.5))
        stream << commands.commit()
    stream.synchronize()
    assert len(kept) == before + 1
    assert isinstance(list(kept.values())[-1], machine.Graph)
    assert x.copy_to_host().tolist() == [2.0**-6] * 64


def test_two_streams_are_ordered_by_events_alone():
    first, second = wk.Stream(), wk.Stream()
    x, back = device(np.zeros(1 << 14, np.float32)), np.zeros(1 << 14, np.float32)
    for turn in range(5):
        first << (wk.CommandList() << wk.fill(x, turn)).commit()
        second.wait(first.record())
        second << (wk.CommandList() << wk.download(back, x)).commit()
        first.wait(second.record())
        second.synchronize()
        assert back.tolist() == [turn] * (1 << 14)
    first.synchronize()


def test_a_coroutine_awaits_a_stream():
    stream, seen = wk.Stream(), []

    async def work():
        stream << wk.CommandList().add_callback(lambda: seen.append(1)).commit()
        await stream
        assert seen == [1]
        stream << wk.CommandList().add_callback(lambda: 1 / 0).commit()
        with pytest.raises(ZeroDivisionError):
            await stream.done()

    asyncio.run(work())
    stream.synchronize()


def test_the_exit_of_the_interpreter_waits_for_callbacks(tmp_path):
    code = """
import time, warpkit as wk
stream = wk.Stream()
stream << wk.CommandList().add_callback(lambda: (time.sleep(0.3), print("drained", flush=True))).commit()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "drained\n"), done.stderr


def test_an_idle_thread_ends_and_comes_back(monkeypatch):
    monkeypatch.setattr(completions, "IDLE_SECONDS", 0.01)
    queue, seen = completions.Completions(wk.Stream().handle), []
    for turn in range(3):
        queue.after([lambda turn=turn: seen.append(turn)])
        queue.wait()
        deadline = time.monotonic() + 5
        while queue._worker is not None and time.monotonic() < deadline:
            time.sleep(0.005)
        assert queue._worker is None
    assert seen == [0, 1, 2]


def test_a_capture_leaves_the_graphs_of_the_stream_as_they_are(monkeypatch):
    """They may still run."""
    stream, x = wk.Stream(), device(np.ones(8, np.float32))
    kept = submission(stream.handle)._graphs
    kept.clear()

    def submit():
        stream << (wk.CommandList() << wk.fill(x, 3) << wk.fill(x, 4)).commit()

    submit()
    submit()
    before = dict(kept)
    assert all(isinstance(graph, machine.Graph) for graph in before.values())
    with monkeypatch.context() as patched:
        patched.setattr(machine, "is_capturing", lambda handle: True)
        submit()
        stream << (wk.CommandList() << wk.fill(x, 5)).commit()
    assert dict(kept) == before
    stream.synchronize()
