"""Lists that come again and again: what is kept for how long, what is decided once, what is refused meanwhile."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit.host.submission import submission
from warpkit.simt import machine

N = 64


@cuda.jit
def increase(x, amount):
    """Kernel."""
    i = cuda.grid(1)
    if i < x.size:
        x[i] += amount


def device(values):
    """Return a device array with these values."""
    return machine.to_device(np.asarray(values))


def counted(monkeypatch, name):
    """Count the calls of a function of the machine."""
    calls, function = [], getattr(machine, name)
    monkeypatch.setattr(machine, name, lambda *given, **options: (calls.append(given), function(*given, **options))[1])
    return calls


def test_a_replay_asks_for_no_event_of_its_own(monkeypatch):
    x, stream = device(np.zeros(N)), wk.Stream()
    replay = wk.CommandList().launch(increase, 1, N, x, 1.0).compile()
    replay(stream)
    records = counted(monkeypatch, "event_record")
    for _ in range(100):
        replay(stream)
    assert records == []
    stream.synchronize()
    assert x.copy_to_host().tolist() == [101] * N


def test_lists_without_callbacks_share_events(monkeypatch):
    x, stream = device(np.zeros(N)), wk.Stream()
    records = counted(monkeypatch, "event_record")
    for _ in range(80):
        stream << wk.CommandList().launch(increase, 1, N, x, 1.0).commit()
    assert len(records) == 10
    stream.synchronize()
    assert x.copy_to_host().tolist() == [80] * N


def test_what_a_list_uses_lives_until_it_is_waited_for_and_no_longer():
    stream = wk.Stream()
    found = []
    for number in (1, 3):
        for _ in range(number):
            x = device(np.zeros(N))
            kept = weakref.ref(x)
            stream << wk.CommandList().launch(increase, 1, N, x, 1.0).commit()
        del x
        gc.collect()
        found.append(kept() is not None)
        stream.synchronize()
        gc.collect()
        found.append(kept() is None)
    assert found == [True] * 4


def test_memory_that_no_event_stands_for_is_kept_when_a_callback_follows():
    x, stream, order = device(np.zeros(N)), wk.Stream(), []
    stream << wk.CommandList().launch(increase, 1, N, x, 1.0).commit()
    kept = weakref.ref(x)
    del x
    second = wk.CommandList().add_callback(lambda: order.append(kept() is not None))
    stream << second.commit()
    stream.synchronize()
    assert order == [True]
    gc.collect()
    assert kept() is None


def test_a_prepared_call_that_is_bound_anew_is_as_it_was_in_the_lists_that_have_it():
    x, y, stream = device(np.zeros(N)), device(np.zeros(N)), wk.Stream()
    call = wk.prepare(increase, 1, N, x, 1.0)
    first = wk.CommandList() << call << call
    second = wk.CommandList() << call << call.bind(x=y)
    stream << first.commit() << second.commit()
    stream.synchronize()
    assert x.copy_to_host().tolist() == [3] * N
    assert y.copy_to_host().tolist() == [1] * N


def test_two_replays_of_one_kind_take_turns_with_one_graph():
    arrays, stream = [device(np.zeros(N)) for _ in range(2)], wk.Stream()
    replays = [wk.CommandList().launch(increase, 1, N, x, 1.0).launch(increase, 1, N, x, 2.0).compile() for x in arrays]
    for _ in range(5):
        for replay in replays:
            replay(stream)
    other = wk.Stream()
    other.wait(stream)
    replays[0](other)
    stream.wait(other)
    replays[0](stream)
    wk.synchronize()
    assert arrays[0].copy_to_host().tolist() == [21] * N
    assert arrays[1].copy_to_host().tolist() == [15] * N


def test_an_upload_of_what_an_earlier_list_has_yet_to_download_is_refused():
    x, y, stream = device(np.arange(N)), device(np.zeros(N, np.int64)), wk.Stream()
    host, go, seen = np.zeros(N, np.int64), threading.Event(), []
    stream << wk.CommandList().add_callback(go.wait).commit()
    stream << wk.CommandList().download(host, x).commit()
    late = wk.CommandList().upload(y[:5], host[5:10]).commit()
    for target in (stream, wk.Stream()):
        with pytest.raises(ValueError, match="the data are not there yet: wait for its stream or its callback first"):
            target << late
    other = wk.CommandList().upload(y, np.ones(N, np.int64)).commit()
    stream << other
    stream << wk.CommandList().add_callback(lambda: seen.append(host.tolist())).commit()
    go.set()
    stream.synchronize()
    assert seen == [list(range(N))]
    stream << late
    stream.synchronize()
    assert y.copy_to_host()[:5].tolist() == [5, 6, 7, 8, 9]


def test_callbacks_when_no_thread_can_be_started(monkeypatch):
    """As at the end of the interpreter, from Python 3.12 on: whoever waits calls them, in order."""
    x, back, stream, other, seen = device(np.zeros(N)), np.zeros(N), wk.Stream(), wk.Stream(), []
    while any(submission(each.handle).completions._worker for each in (stream, other)):
        time.sleep(0.05)  # earlier streams had these handles

    def refused(thread):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refused)

    def later():
        seen.append((threading.current_thread(), back[0]))
        other << wk.CommandList().add_callback(lambda: seen.append("elsewhere")).commit()

    stream << wk.CommandList().launch(increase, 1, N, x, 7.0).download(back, x).add_callback(later).commit()
    stream << wk.CommandList().add_callback(lambda: 1 // 0).commit()
    with pytest.raises(ZeroDivisionError):
        stream.synchronize()
    other.synchronize()
    assert seen == [(threading.current_thread(), 7), "elsewhere"]
    monkeypatch.undo()
    stream << wk.CommandList().add_callback(lambda: seen.append(threading.current_thread())).commit()
    stream.synchronize()
    assert seen[-1] is not threading.current_thread()


def test_nothing_is_owed_after_a_wait():
    x, stream = device(np.zeros(N)), wk.Stream()
    completions = submission(stream.handle).completions
    stream << wk.CommandList().launch(increase, 1, N, x, 1.0).commit()
    assert completions.owes()
    stream.synchronize()
    assert not completions.owes()


def test_commits_are_submitted_once_by_whichever_thread():
    x, stream, refused = device(np.zeros(N)), wk.Stream(), []
    commits = [wk.CommandList().launch(increase, 1, N, x, 1.0).commit() for _ in range(20)]
    barrier = threading.Barrier(2)

    def work():
        for commit in commits:
            barrier.wait()
            try:
                stream.submit(commit)
            except TypeError:
                refused.append(commit)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream.synchronize()
    assert len(refused) == 20
    assert x.copy_to_host().tolist() == [20] * N
