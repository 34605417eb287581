"""What a function captures changes in one thread while another one compiles it: no kernel goes under a wrong name."""

import threading

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit.host.parallel_calls import Calls
from warpkit.host.program import Program
from warpkit.simt import machine

N = 64
FACTOR = OTHER = 2


@pytest.fixture
def toggled(monkeypatch):
    """Have two globals changed by another thread in the middle of the next compilation; gives what was compiled."""
    compiled, compile_image = [], machine.compile_image

    def change():
        globals().update(FACTOR=5, OTHER=5)

    def compiling(function, specs, options):
        if not compiled:
            thread = threading.Thread(target=change)
            thread.start()
            thread.join()
        compiled.append(function)
        return compile_image(function, specs, options)

    monkeypatch.setenv("WARPKIT_CACHE", "0")
    monkeypatch.setattr(machine, "compile_image", compiling)
    monkeypatch.setitem(globals(), "FACTOR", 2)
    monkeypatch.setitem(globals(), "OTHER", 2)
    return compiled


def ones():
    """Return a device array of ones."""
    return machine.to_device(np.ones(N, np.int64))


def test_a_kernel_is_what_its_function_is_by_then(toggled):
    def kernel(x):
        i = cuda.grid(1)
        x[i] = x[i] * FACTOR

    for expected in (5, 2, 5):
        x = ones()
        wk.launch(kernel, 1, N, x)
        assert x.copy_to_host().tolist() == [expected] * N
        globals()["FACTOR"] = 2 if expected == 5 else 5
    assert len(toggled) >= 2


def test_a_loop_is_what_its_body_is_by_then(toggled):
    def body(i, x):
        x[i] = x[i] * OTHER

    for expected in (5, 2, 5):
        x = ones()
        wk.parallel_for(N, body, x)
        assert x.copy_to_host().tolist() == [expected] * N
        globals()["OTHER"] = 2 if expected == 5 else 5


def test_an_array_that_is_gone_by_then_is_said_in_a_sentence():
    first, second = ones(), ones()
    with pytest.raises(RuntimeError, match="was replaced while it was compiled: make the call again"):
        Calls(("key",), (first,)).place_of(second)


def test_what_was_compiled_goes_with_what_it_was_compiled_of():
    """Of two threads that see a change at once, none takes the new look and the old kernels."""

    def kernel(x):
        x[0] = FACTOR

    program = Program(kernel)
    before = program.state()
    before.kernels["types"] = "a kernel"
    globals()["FACTOR"] = 7
    after = program.state()
    assert after is not before
    assert after.kernels == {}
    assert before.kernels == {"types": "a kernel"}
    globals()["FACTOR"] = 2
