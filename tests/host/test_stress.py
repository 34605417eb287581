"""Many threads, streams and lists with callbacks: nothing hangs, orders are kept, counts are exact, memory is flat.

`WARPKIT_STRESS_SECONDS` says how long each of the long tests goes on, at least; from 60 on, every stream gets the 2,000
lists that the contract names, however long they take. On a GPU another thread holds the interpreter's lock inside calls
of the driver meanwhile, in bursts: without a pause, every turn of every other thread would wait for a switch.
"""

import ctypes
import faulthandler
import gc
import os
import sys
import threading
import time

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit.simt import machine

SECONDS = float(os.environ.get("WARPKIT_STRESS_SECONDS", "0" if machine.SIMULATOR else "3"))
LISTS = 2000 if SECONDS >= 60 else 6 if machine.SIMULATOR else 100
THREADS = STREAMS = 2 if machine.SIMULATOR else 4
N = 64
FLAT = 64 << 20  # bytes by which memory may have grown
PATIENCE = 300  # beyond SECONDS, after which a test counts as hanging
SWITCH = 0.0005  # seconds after which a thread that waits for the interpreter's lock asks for it


@cuda.jit
def increase(x, amount):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += amount


@pytest.fixture(autouse=True)
def guarded():
    """Say where every thread is, and end the process, when a test hangs: nothing in Python could."""
    faulthandler.dump_traceback_later(PATIENCE + SECONDS, exit=True)
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    yield
    sys.setswitchinterval(before)
    faulthandler.cancel_dump_traceback_later()


def together(*works):
    """Run functions in threads of their own; raise what the first of them raised."""
    errors, ready = [], threading.Barrier(len(works))

    def run(work):
        try:
            ready.wait()
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Counter:
    """Work on one stream: each list adds one, brings the result home and calls back with its number."""

    def __init__(self):
        self.stream, self.seen, self.submitted = wk.Stream(), [], 0
        self.x = machine.to_device(np.zeros(N, np.int32))

    def submit(self):
        """Submit a list."""
        number, back = self.submitted, np.zeros(N, np.int32)
        commands = wk.CommandList().launch(increase, 1, N, self.x, np.int32(1)).download(back, self.x)
        commands.add_callback(lambda: self.seen.append((number, int(back[0]), int(back[-1]))))
        self.stream << commands.commit()
        self.submitted += 1

    def check(self):
        """Check that every callback came, once, in order, after its own list and before the next."""
        self.stream.synchronize()
        assert self.seen == [(number, number + 1, number + 1) for number in range(self.submitted)]


def resident():
    """Return how many bytes this process has in memory; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def on_device():
    """Return how many bytes the library has of the GPU; what is free there depends on other processes too."""
    if machine.SIMULATOR:
        return 0
    from cuda.bindings import driver

    from warpkit.simt.numba_cuda.host import devices, memory

    reserved = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
    status, nbytes = driver.cuMemPoolGetAttribute(memory._pool(devices.current_device()), reserved)
    assert not status, status
    return int(nbytes)


class Holder:
    """A thread's work: calls of the driver that keep the interpreter's lock, until `ended`; `asked`: how many."""

    def __init__(self, calls, pause):
        self.ended, self.asked, self._calls, self._pause = threading.Event(), 0, calls, pause

    def __call__(self):
        machine.ensure_context()
        library = ctypes.PyDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        while not self.ended.is_set():
            for _ in range(self._calls):
                status = library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
                assert status == 0
            self.asked += self._calls
            time.sleep(self._pause)


def test_threads_and_streams_keep_their_order_and_their_memory():
    counters = [[Counter() for _ in range(STREAMS)] for _ in range(THREADS)]
    memory, holder, finished = [], Holder(10, 0.002), []

    def work(mine):
        def run():
            begin = time.monotonic()
            try:
                while mine[0].submitted < LISTS or time.monotonic() - begin < SECONDS:
                    for counter in mine:
                        counter.submit()
                    if mine[0].submitted % 50 == 0:  # a host that never waits has no bound on what is under way
                        for counter in mine:
                            counter.stream.synchronize()
                        memory.append((resident(), on_device()))
            finally:
                finished.append(mine)
                if len(finished) == THREADS:
                    holder.ended.set()

        return run

    together(*[work(mine) for mine in counters], *([] if machine.SIMULATOR else [holder]))
    for mine in counters:
        for counter in mine:
            counter.check()
    assert machine.SIMULATOR or holder.asked
    gc.collect()
    for now, then in zip(memory[-1:], memory[len(memory) // 4 :]):
        assert now[0] - then[0] < FLAT
        assert now[1] - then[1] < FLAT


def test_lists_of_several_threads_on_one_stream_are_whole():
    shared, counts = Counter(), []
    x = machine.to_device(np.zeros(N, np.int32))

    def run():
        for _ in range(LISTS):
            back = np.zeros(N, np.int32)
            commands = wk.CommandList()
            for _ in range(3):
                commands.launch(increase, 1, N, x, np.int32(1))
            commands.download(back, x).add_callback(lambda back=back: counts.append(int(back[5])))
            shared.stream << commands.commit()

    together(*[run] * THREADS)
    shared.stream.synchronize()
    assert counts == [3 * (turn + 1) for turn in range(THREADS * LISTS)]


def test_callbacks_that_submit_to_other_streams():
    first, second, seen = wk.Stream(), wk.Stream(), []
    x = machine.to_device(np.zeros(N, np.int32))

    def hand_over(number):
        back = np.zeros(N, np.int32)
        commands = wk.CommandList().launch(increase, 1, N, x, np.int32(1)).download(back, x)
        second << commands.add_callback(lambda: seen.append((number, int(back[0])))).commit()

    for number in range(LISTS):
        first << wk.CommandList().add_callback(lambda number=number: hand_over(number)).commit()
    first.synchronize()
    second.synchronize()
    assert seen == [(number, number + 1) for number in range(LISTS)]


@pytest.mark.gpu
def test_p24_callbacks_while_another_thread_holds_the_interpreter_inside_the_driver():
    counter, holder = Counter(), Holder(1, 0)

    def submit():
        begin = time.monotonic()
        try:
            while counter.submitted < 2000 or time.monotonic() - begin < SECONDS:
                counter.submit()
                if counter.submitted % 200 == 0:
                    counter.stream.synchronize()
            counter.check()
        finally:
            holder.ended.set()

    together(submit, holder)
    assert holder.asked
