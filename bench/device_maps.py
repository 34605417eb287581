"""Transposes of device arrays: device time beside torch, CuPy and a copy of as many bytes.

Goals: 16384 × 16384 float32 at 0.93 of the copy's speed, no slower than torch. Bytes are those read and written.
"""

import importlib
import sys

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

from .harness import Row
from .timing import copy_time, queued_time

TRANSPOSES = [
    (np.float32, 16384, 16384), (np.float32, 16384, 8192), (np.float32, 16383, 16385), (np.float32, 1 << 24, 4),
    (np.uint8, 32768, 32768), (np.float16, 16384, 16384), (np.float64, 16384, 8192), (np.complex128, 8192, 8192),
]  # fmt: skip
POLICIES = [device.TransposePolicy(threads, edge) for threads in (128, 256, 512) for edge in (32, 64, 128)]


def matrix(dtype, rows, columns):
    """Return a matrix of bits that differ."""
    memory = cuda.device_array(rows * columns * np.dtype(dtype).itemsize // 4, np.uint32)
    piece = np.random.default_rng(1).integers(0, 1 << 24, 1 << 20).astype(np.float32).view(np.uint32)
    for start in range(0, memory.size, piece.size):
        part = memory[start : start + piece.size]
        part.copy_to_device(piece[: part.size])
    return memory.view(dtype)[: rows * columns].reshape(rows, columns)


def on_stream(name, module, work):
    """Return a framework's work as work on a stream."""

    def call(stream):
        if name == "torch":
            with module.cuda.stream(module.cuda.ExternalStream(int(stream))):
                work()
        else:
            with module.cuda.ExternalStream(int(stream)):
                work()

    return call


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
    x, out = matrix(dtype, rows, columns), cuda.device_array((columns, rows), dtype)
    call = wk.prepare(device.transpose, x, out=out)
    call()
    found = out.copy_to_host()
    for part in (slice(0, 3), slice(rows - 3, rows)):
        if x[part].copy_to_host().tobytes() != np.ascontiguousarray(found[:, part].T).tobytes():
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
    for dtype, rows, columns in (TRANSPOSES[0], TRANSPOSES[4], TRANSPOSES[6]):
        x, out = matrix(dtype, rows, columns), cuda.device_array((columns, rows), dtype)
        copy, usual = copy_time(2 * x.nbytes), queued_time(wk.prepare(device.transpose, x, out=out))
        for policy in POLICIES:
            ours = queued_time(wk.prepare(device.transpose, x, out=out, policy=policy), repeats=10)
            label = f"transpose {np.dtype(dtype).name}, threads {policy.threads}, edge {policy.edge}; peer: the default"
            report.rows.append(Row(label, ours, usual, num_bytes=2 * x.nbytes, copy=copy))


def run(report):
    """Fill the report; a case that fails is an error of the report and costs the others nothing."""
    for case in TRANSPOSES:
        print(f"  transpose {case}", file=sys.stderr, flush=True)
        try:
            transpose(report, case)
        except Exception as error:
            report.errors.append(f"transpose {case}: {type(error).__name__}: {error}")
    report.notes.append("torch: out.copy_(x.t()); CuPy: copyto(out, x.T); one call behind another one on the stream")
