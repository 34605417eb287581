"""What maps arrays: transposes beside torch, CuPy and a copy of as many bytes; the rest is in device_maps_items.py.

Goals: 16384 × 16384 float32 at 0.93 of the copy's speed, no slower than torch. Bytes are those read and written.
"""

import importlib

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

from . import device_maps_items as items
from .device_maps_items import compare, on_stream, repeated
from .harness import Row
from .timing import copy_time, queued_time

TRANSPOSES = [
    (np.float32, 16384, 16384), (np.float32, 16383, 16385), (np.uint8, 32768, 32768), (np.float16, 16384, 16384),
    (np.complex128, 8192, 8192),
]  # fmt: skip
POLICIES = [device.TransposePolicy(*both) for both in ((128, 64), (512, 64), (128, 32), (256, 32))]


def matrix(dtype, rows, columns):
    """Return a matrix of bits that differ, and the items that it repeats."""
    piece = np.random.default_rng(1).integers(0, 1 << 24, 1 << 20).astype(np.float32).view(dtype)
    return repeated(piece, (rows, columns)), piece


def transposed(name, module, x, rows, columns):
    """Return a framework's transpose into memory of its own, as work."""
    if name == "torch":
        source = module.as_tensor(x, device="cuda")
        out = module.empty((columns, rows), dtype=source.dtype, device="cuda")
        return lambda: out.copy_(source.t())
    source, out = module.asarray(x), module.empty((columns, rows), x.dtype)
    return lambda: module.copyto(out, source.T)


def transpose(report, case):
    """Measure one transpose."""
    dtype, rows, columns = case
    x, piece = matrix(dtype, rows, columns)
    out = cuda.device_array((columns, rows), dtype)
    call = wk.prepare(device.transpose, x, out=out)
    call()
    for column in (0, 1, columns - 1):
        right = piece[(np.arange(rows) * columns + column) % piece.size]
        if out[column].copy_to_host().tobytes() != right.tobytes():
            raise ValueError("the transpose is wrong")
    ours, copy, num_bytes = queued_time(call), copy_time(2 * x.nbytes), 2 * x.nbytes
    first = case == TRANSPOSES[0]
    label = f"transpose {np.dtype(dtype).name} {rows} × {columns}"
    for name in ("torch", "cupy"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            report.notes.append(f"{name} is not installed")
            continue
        theirs = queued_time(on_stream(name, module, transposed(name, module, x, rows, columns)))
        goals = {"goal": 1.0, "copy_goal": 93} if first and name == "torch" else {}
        report.rows.append(Row(f"{label}; peer: {name}", ours, theirs, num_bytes=num_bytes, copy=copy, **goals))


def policies(report):
    """Measure every policy of transposes; the peer is the default one."""
    for dtype, rows, columns in (TRANSPOSES[0], TRANSPOSES[2]):
        x, out = matrix(dtype, rows, columns)[0], cuda.device_array((columns, rows), dtype)
        compare(report, f"transpose {np.dtype(dtype)}", POLICIES, 2 * x.nbytes, device.transpose, x, out=out)


def run(report):
    """Fill the report; a case that fails is an error of the report and costs the others nothing."""
    cases = [(items.measure, case, case.name) for case in items.CASES]
    cases += [(transpose, case, f"transpose {np.dtype(case[0])} {case[1]} × {case[2]}") for case in TRANSPOSES]
    for measure, case, name in report.cases(cases, lambda each: each[2]):
        with report.attempt(name):
            measure(report, case)
    report.notes.append("torch: out.copy_(x.t()); CuPy: copyto(out, x.T); one call behind another one on the stream")
