"""Reductions of device arrays: what a call costs the host. The first call of a process: see first_call.py.

Goals: one-shot with `out=` no dearer than `torch.sum(x, dim=0, out=o)` in the same process; prepared at most 1.3 × a
raw launch.
"""

import importlib

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

from .harness import Row
from .launch import raw_launch
from .timing import host_time

ITEMS = 1 << 10


def calls(report, name, x, out, raw, peer):
    """Measure one-shot and prepared calls on arrays of one framework."""
    one_shot = host_time(lambda: device.sum(x, out=out))
    report.rows.append(Row(f"sum(x, out=o), {name}; peer: torch.sum(out=)", one_shot, peer, goal=1.0))
    prepared = wk.prepare(device.sum, x, out=out)
    report.rows.append(Row(f"prepared sum, {name}; peer: a raw launch", host_time(prepared), raw, goal=1.3))
    report.rows.append(Row(f"sum(x), {name}: launch, wait, result", host_time(lambda: device.sum(x), 500)))


def large_calls(report, x, out):
    """Measure one-shot calls that take a grid, and so scratch."""
    stream = wk.Stream()
    for name, where in (("default stream", None), ("another stream", stream)):
        taken = host_time(lambda where=where: device.sum(x, out=out, stream=where))
        report.rows.append(Row(f"sum(x, out=o), a grid, {name}", taken))
    add = lambda a, b: a + b
    report.rows.append(Row("reduce(x, a user's operator, out=o)", host_time(lambda: device.reduce(x, add, out=out))))


def run(report):
    """Fill the report."""
    x, out = cuda.to_device(np.ones(ITEMS, np.float32)), cuda.device_array(1, np.float32)
    raw = host_time(raw_launch(wk.prepare(device.sum, x, out=out).steps[0]))
    report.rows.append(Row("a raw launch of the same kernel", raw))
    arrays, peer = {"numba": (x, out)}, None
    try:
        torch = importlib.import_module("torch")
        arrays["torch"] = torch.ones(ITEMS, device="cuda"), torch.zeros((), device="cuda")
        peer = host_time(lambda t=arrays["torch"]: torch.sum(t[0], dim=0, out=t[1]))
    except ImportError:
        report.notes.append("torch is not installed")
    try:
        cupy = importlib.import_module("cupy")
        arrays["CuPy"] = cupy.ones(ITEMS, "f4"), cupy.zeros((), "f4")
    except ImportError:
        report.notes.append("CuPy is not installed")
    for name, (array, target) in arrays.items():
        calls(report, name, array, target, raw, peer)
    large_calls(report, cuda.to_device(np.ones(1 << 17, np.float32)), out)
    compute_calls(report, x, out)
    report.notes.append(f"{ITEMS} float32, one block, but where a grid is said: 2^17 items")


def compute_calls(report, x, out):
    """Measure cuda.compute's own one-shot call."""
    try:
        compute = importlib.import_module("cuda.compute")
    except ImportError:
        report.notes.append("cuda.compute is not installed")
        return
    zero, plus = np.zeros(1, np.float32), compute.OpKind.PLUS
    taken = host_time(lambda: compute.reduce_into(d_in=x, d_out=out, op=plus, num_items=x.size, h_init=zero), 300)
    report.rows.append(Row("cuda.compute.reduce_into, one-shot", taken))
