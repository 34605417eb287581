"""Scans of device arrays: what a call costs the host.

Goals: one-shot with `out=` no dearer than `torch.cumsum(x, 0, out=o)` in the same process; prepared at most 1.3 × a raw
launch.
"""

import importlib

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

from .harness import Row
from .launch import raw_launch
from .timing import host_time

ITEMS, GRID = 1 << 10, 1 << 17


def calls(report, name, x, out, raw, peer):
    """Measure one-shot and prepared calls on arrays of one framework."""
    one_shot = host_time(lambda: device.cumsum(x, out=out))
    report.rows.append(Row(f"cumsum(x, out=o), {name}; peer: torch.cumsum(out=)", one_shot, peer, goal=1.0))
    prepared = wk.prepare(device.cumsum, x, out=out)
    report.rows.append(Row(f"prepared cumsum, {name}; peer: a raw launch", host_time(prepared), raw, goal=1.3))


def others(report, x, out, peer):
    """Measure calls with more to decide, and calls that take tile states."""
    add, stream = lambda a, b: a + b, wk.Stream()
    wide, wide_out = cuda.to_device(np.ones(GRID, np.float32)), cuda.device_array(GRID, np.float32)
    forms = {
        "cumsum(x, out=o), a grid, default stream": lambda: device.cumsum(wide, out=wide_out),
        "cumsum(x, out=o), a grid, another stream": lambda: device.cumsum(wide, out=wide_out, stream=stream),
        "exclusive_scan(x, add, out=o)": lambda: device.exclusive_scan(x, wk.add, out=out),
        "cumsum(x, init=1, out=o)": lambda: device.cumsum(x, init=1, out=out),
        "inclusive_scan(x, a user's operator, out=o)": lambda: device.inclusive_scan(x, add, out=out),
        "cumsum(x): a new array": lambda: device.cumsum(x),
    }
    for name, call in forms.items():
        report.rows.append(Row(f"{name}; peer: torch.cumsum(out=)", host_time(call, 500), peer))


def run(report):
    """Fill the report."""
    x, out = cuda.to_device(np.ones(ITEMS, np.float32)), cuda.device_array(ITEMS, np.float32)
    raw = host_time(raw_launch(wk.prepare(device.cumsum, x, out=out).steps[0]))
    report.rows.append(Row("a raw launch of the same kernel", raw))
    arrays, peer = {"numba": (x, out)}, None
    try:
        torch = importlib.import_module("torch")
        arrays["torch"] = torch.ones(ITEMS, device="cuda"), torch.zeros(ITEMS, device="cuda")
        peer = host_time(lambda t=arrays["torch"]: torch.cumsum(t[0], 0, out=t[1]))
    except ImportError:
        report.notes.append("torch is not installed")
    try:
        cupy = importlib.import_module("cupy")
        arrays["CuPy"] = cupy.ones(ITEMS, "f4"), cupy.zeros(ITEMS, "f4")
    except ImportError:
        report.notes.append("CuPy is not installed")
    for name, (array, target) in arrays.items():
        calls(report, name, array, target, raw, peer)
    others(report, x, out, peer)
    report.notes.append(f"{ITEMS} float32, one block, but where a grid is said: {GRID} items")
