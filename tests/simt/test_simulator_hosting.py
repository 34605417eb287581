"""The simulator among other things: exceptions, debuggers, printing, contexts, operating-system threads, nesting."""

import contextvars
import io
import pathlib
import pdb
import sys
import threading

import numpy as np
import pytest
from numba import cuda

from warpkit.errors import BoundsFault
from warpkit.simt import simulator


@cuda.jit
def fill(out):
    out[cuda.grid(1)] = cuda.grid(1)


def test_an_exception_keeps_type_and_line_names_its_thread_and_leaves_the_simulator_usable():
    unwound = []

    @cuda.jit
    def kernel(x):
        try:
            cuda.syncwarp()
            if cuda.grid(1) == 37:
                raise KeyError("mine")
            cuda.syncthreads()
        finally:
            try:
                if cuda.grid(1) != 37:
                    cuda.syncwarp()  # nobody comes any more: unwinding goes on
            finally:
                unwound.append(cuda.grid(1))

    for _ in range(2):
        unwound.clear()
        with pytest.raises(KeyError, match="mine") as caught:
            kernel[2, 32](np.zeros(1))
        assert any("thread (5, 0, 0) of block (1, 0, 0)" in note for note in caught.value.__notes__)
        assert caught.traceback[-1].path == pathlib.Path(__file__)
        assert sorted(unwound) == list(range(64))
    out = np.zeros(4, np.int64)
    fill[1, 4](out)
    assert (out == np.arange(4)).all()


def test_print_and_a_debugger_work_inside_a_kernel(capsys, monkeypatch):
    answers = io.StringIO("p value + 1\nup\np 'here', marker\ndown\nn\np value\nc\n")
    said = io.StringIO()

    def debugger():
        pdb.Pdb(stdin=answers, stdout=said, nosigint=True, readrc=False).set_trace(sys._getframe(1))

    monkeypatch.setattr(sys, "breakpointhook", debugger)

    @cuda.jit
    def kernel(out):
        marker = 77
        helper(out, marker)

    def helper(out, marker):
        value = out[cuda.laneid]
        cuda.syncthreads()
        if cuda.laneid == 3:
            breakpoint()
        value = cuda.shfl_sync(0xF, value, 2)
        out[cuda.laneid] = value
        print("lane", cuda.laneid, value)

    out = np.arange(4) * 10
    kernel[1, 4](out)
    assert out.tolist() == [20] * 4
    assert capsys.readouterr().out.splitlines() == [f"lane {lane} 20" for lane in range(4)]
    assert "31" in said.getvalue()
    assert "('here', Int64(77))" in said.getvalue() or "('here', 77)" in said.getvalue()


def test_launches_from_several_os_threads():
    @cuda.jit
    def kernel(out, start):
        s = cuda.shared.array(32, np.int64)
        s[cuda.threadIdx.x] = start + cuda.grid(1)
        cuda.syncthreads()
        out[cuda.grid(1)] = s[31 - cuda.threadIdx.x]

    results = [np.zeros(64, np.int64) for _ in range(6)]

    def work(number):
        for _ in range(3):
            kernel[2, 32](results[number], number * 1000)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for number, out in enumerate(results):
        assert (out.reshape(2, 32)[:, ::-1].ravel() == number * 1000 + np.arange(64)).all()


def test_each_thread_has_its_own_context_and_overflow_is_silent():
    variable = contextvars.ContextVar("variable", default="host")
    seen = []

    @cuda.jit
    def kernel(out):
        seen.append(variable.get())
        variable.set(int(cuda.laneid))
        cuda.syncwarp()
        out[cuda.laneid] = variable.get()
        assert np.int32(2**31 - 1) + np.int32(1) < 0
        assert np.float32(1e38) * np.float32(1e38) == np.inf
        assert np.float64(1) / np.float64(0) == np.inf

    out = np.zeros(32)
    variable.set("caller")
    kernel[1, 32](out)
    assert out.tolist() == list(range(32))
    assert seen == ["caller"] * 32
    assert variable.get() == "caller"


def test_nested_launch_from_host_code_called_in_a_kernel():
    inner = np.zeros(4, np.int64)

    @cuda.jit
    def kernel(out):
        if cuda.grid(1) == 0:
            fill[1, 4](inner)
        out[cuda.grid(1)] = cuda.grid(1)

    out = np.zeros(32, np.int64)
    kernel[1, 32](out)
    assert (out == np.arange(32)).all()
    assert (inner == np.arange(4)).all()
    with pytest.raises(BoundsFault):
        fill[1, 8](np.zeros(4))


def test_what_lanes_combine_when_they_meet_overflows_silently():
    @cuda.jit
    def kernel(out):
        out[cuda.laneid] = simulator.meet(np.float32(3e38), lambda lanes: sum(lanes.values()))

    out = np.zeros(4, np.float32)
    kernel[1, 4](out)
    assert (out == np.inf).all()
