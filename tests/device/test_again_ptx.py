"""Calls that come again write the parameters that the first call wrote: kernels for an H200, and a driver that only
notes what it would launch. How much Python a call is, is counted too."""

import contextlib
import ctypes
import sys
import types
from unittest import mock

import numpy as np
import pytest

from tests.host.dry import H200, dry
from tests.host.interop_objects import fake_torch, installed
from warpkit import device
from warpkit.device import again, reduce_call
from warpkit.device.reduce_families import Family, combining
from warpkit.device.scan_families import ScanFamily
from warpkit.device.select_meaning import Meaning, encoded, flagged, nonzero, unique
from warpkit.host import scratch
from warpkit.simt import machine, ops
from warpkit.simt.numba_cuda.host import kernels, returned, templates

N, SLOT = 5000, 8


@pytest.fixture
def driver():
    """Return the list of what would be launched: the shape, the stream, the slots of the parameters."""
    launches, sizes = [], {}

    def launch(function, *given):
        *shape, address, _ = given
        slots = (ctypes.c_void_p * sizes["slots"]).from_address(int(address))
        launches.append((shape, b"".join(ctypes.string_at(slot, SLOT) for slot in slots)))
        return (0,)

    def load(image):
        made = types.SimpleNamespace(options=image.options, cooperative=False, name=image.name)
        kernel = kernels.Kernel(made, None, 1)
        ordinary = kernel.launch

        def noting(grid, block, shared, stream, payloads):
            sizes["slots"] = len(b"".join(payloads)) // SLOT
            ordinary(grid, block, shared, stream, payloads)

        kernel.launch = noting
        return kernel

    families = {"FLAGGED": (flagged, "biufcV"), "NONZERO": (nonzero, "biu"), "UNIQUE": (unique, "biu"),
                "ENCODED": (encoded, "biu")}  # fmt: skip
    selections, scans = sys.modules["warpkit.device.select"], sys.modules["warpkit.device.scan"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(dry())
        for owner, name, instead in (
            (kernels, "_launch", launch),
            (templates, "_launch", launch),
            (kernels.Kernel, "_attribute", lambda kernel, name: 1024),
            (kernels, "current_device", lambda: 0),
            (kernels, "properties", lambda device=None: H200),
            (kernels.driver, "cuKernelSetAttribute", lambda *given: (0,)),
            (returned, "properties", lambda device=None: H200),
            (machine, "load", load),
            (scratch, "_pool", {}),
            # Of their own: what is compiled here is on no GPU.
            (scans, "CUMSUM", ScanFamily("cumsum", ops.add, False, True)),
            *[(selections, name, Meaning(*given)) for name, given in families.items()],
        ):
            stack.enter_context(mock.patch.object(owner, name, instead))
        yield launches


def calls_of(tensor):
    """Return calls by their names, each with functions of its own."""
    x, out, long = (tensor(np.zeros(N, dtype)) for dtype in (np.int32, np.int32, np.int64))
    count, number, one = (tensor(np.zeros(1, np.int64)) for _ in range(3))
    flags, strided = tensor(np.zeros(N, np.bool_)), tensor(np.zeros((N, 2), np.int32)[:, 0])
    axes, large = tensor(np.zeros((N, 3), np.int32)[:, :2]), tensor(np.zeros(40 * N, np.int32))
    longer = tensor(np.zeros(40 * N, np.int64))
    family, told = Family("sum", combining(ops.add)), {"count_out": count}

    def odd(v):
        return v & 1

    def later(a, b):
        return b

    def added(x):
        return reduce_call.run(family, x, one, None, None, None, None, None)

    return {
        "select": lambda: device.select(x, odd, out=out, **told),
        "select, in place": lambda: device.select(x, odd, out=x),
        "select, of so many": lambda: device.select(x, odd, out=out, num_items=number, **told),
        "select, strided": lambda: device.select(strided, odd, out=strided, **told),
        "select_flagged": lambda: device.select_flagged(x, flags, out=out, **told),
        "nonzero": lambda: device.nonzero(x, out=long, **told),
        "partition": lambda: device.partition(x, odd, out=out, **told),
        "unique": lambda: device.unique(x, out=out, **told),
        "run_length_encode": lambda: device.run_length_encode(x, out=(out, long), **told),
        "cumsum": lambda: device.cumsum(x, out=long),
        "cumsum, reverse and strided": lambda: device.cumsum(strided, out=long, reverse=True),
        "a user's scan": lambda: device.inclusive_scan(x, later, out=out),
        "sum": lambda: added(x),
        "sum, several axes": lambda: added(axes),
        "sum, several blocks": lambda: added(large),
        "cumsum, several blocks": lambda: device.cumsum(large, out=longer),
        "select, several blocks": lambda: device.select(large, odd, out=large, **told),
    }


NAMES = list(calls_of(lambda array: array))


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_are_those_of_the_first_call(driver, monkeypatch, name):
    said, launched_again = [], again.launched_again
    monkeypatch.setattr(again, "launched_again", lambda *given: (said.append(launched_again(*given)), said[-1])[1])
    torch = installed(monkeypatch, fake_torch())
    call = calls_of(torch.Tensor)[name]
    for _ in range(3):
        call()
    first, second, third = driver
    assert first == second == third
    assert [bool(each) for each in said] == [False, True, True]


def test_captured_arrays_are_no_known_call(driver, monkeypatch):
    torch, said, launched_again = installed(monkeypatch, fake_torch()), [], again.launched_again
    monkeypatch.setattr(again, "launched_again", lambda *given: (said.append(launched_again(*given)), said[-1])[1])
    x, out = (torch.Tensor(np.zeros(N, np.int32)) for _ in range(2))
    least = np.zeros(1, np.int32)

    def pred(v):
        return v > least[0]

    for _ in range(3):
        device.select(x, pred, out=out)
    assert said == [False] * 3
    assert len(driver) == 3


def test_how_much_python_a_known_call_is(driver, monkeypatch):
    """All that launches once: a few more calls than there are arrays and functions."""
    torch = installed(monkeypatch, fake_torch())
    calls, counted = calls_of(torch.Tensor), {}
    for name in ("sum", "cumsum", "unique", "select"):
        for _ in range(3):
            calls[name]()
        counted[name] = python_calls(calls[name])
    assert counted["sum"] <= counted["cumsum"] + 1
    assert counted["cumsum"] <= 12
    assert counted["unique"] <= counted["cumsum"] + 3
    assert counted["select"] <= counted["unique"] + 3


def python_calls(call):
    """Return how many functions of the library are called."""
    entered = []

    def profile(frame, event, arg):
        if event == "call" and "/warpkit/" in frame.f_code.co_filename and "tests" not in frame.f_code.co_filename:
            entered.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(entered)
