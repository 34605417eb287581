"""Softmax, elementwise functions and digitising beside torch, CuPy and cuda.compute: part of the suite `maps`.

Goals: softmax of 4096 × 8192 float32 at 0.93 of a copy's speed, no slower than torch. Bytes are those that have to be
read and written once. Each result is compared with NumPy's, where it begins and ends, before anything is timed.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

from .harness import Row
from .timing import copy_time, queued_time

SCALE = np.float32(1.5)
EDGES = np.linspace(-3, 3, 256, dtype=np.float32)
PERIOD = 1 << 20  # items after which an array repeats


def on_stream(name, module, work):
    """Return a framework's work as work on a stream."""

    def call(stream):
        if name == "torch":
            with module.cuda.stream(module.cuda.ExternalStream(int(stream))):
                work()
        elif name == "cupy":
            with module.cuda.ExternalStream(int(stream)):
                work()
        else:
            work(stream)

    return call


def repeated(piece, shape):
    """Return a device array that repeats a NumPy array of one axis, as often as fits."""
    size = int(np.prod(shape))
    array = cuda.device_array(size, piece.dtype)
    there = min(piece.size, size)
    array[:there].copy_to_device(piece[:there])
    while there < size:
        more = min(there, size - there)
        array[there : there + more].copy_to_device(array[:more])
        there += more
    return array.reshape(shape)


def normal(dtype):
    """Return numbers that differ, of which an array is made; integers if these are asked for."""
    values = np.random.default_rng(1).normal(0, 2, PERIOD)
    return values.astype(dtype) if np.dtype(dtype).kind == "f" else (values * 30).astype(np.int8).view(dtype)


@dataclass(frozen=True)
class Case:
    """One function. sources: (dtype, shape) each.  target: likewise.  ours: (arrays, out) -> a prepared call.

    right: of the host's arrays of some rows or items -> their results.  peers: by module, (module, arrays, out) ->
    work.  goals: of the row beside the first of them.
    """

    name: str
    sources: tuple[tuple[Any, tuple[int, ...]], ...]
    target: tuple[Any, tuple[int, ...]]
    ours: Callable[..., Any]
    right: Callable[..., Any]
    peers: dict[str, Callable[..., Any]]
    goals: dict[str, float] = field(default_factory=dict)
    tolerance: float = 1e-5


def torch_softmax(torch, arrays, out):
    """Softmax by torch."""
    x, target = (torch.as_tensor(array, device="cuda") for array in (*arrays, out))
    return lambda: torch.softmax(x, -1, out=target)


def cupy_softmax(cupy, arrays, out):
    """Softmax by CuPy's functions."""
    x, target = (cupy.asarray(array) for array in (*arrays, out))

    def work():
        powers = cupy.exp(x - x.max(axis=-1, keepdims=True))
        cupy.divide(powers, powers.sum(axis=-1, keepdims=True), out=target)

    return work


def torch_axpy(torch, arrays, out):
    """Add a multiple by torch."""
    x, y, target = (torch.as_tensor(array, device="cuda") for array in (*arrays, out))
    return lambda: torch.add(y, x, alpha=float(SCALE), out=target)


def cupy_axpy(cupy, arrays, out):
    """Add a multiple by an elementwise kernel of CuPy's."""
    x, y, target = (cupy.asarray(array) for array in (*arrays, out))
    kernel = cupy.ElementwiseKernel("T a, T x, T y", "T z", "z = a * x + y", "axpy")
    return lambda: kernel(SCALE, x, y, target)


def compute_axpy(compute, arrays, out):
    """Add a multiple by cuda.compute."""
    scale = SCALE

    def axpy(a, b):
        return scale * a + b

    def work(stream):
        compute.binary_transform(
            d_in1=arrays[0], d_in2=arrays[1], d_out=out, op=axpy, num_items=out.size, stream=Handle(stream)
        )

    return work


class Handle:
    """A stream by its protocol."""

    def __init__(self, stream):
        self.handle = int(stream)

    def __cuda_stream__(self):
        """Return version and handle."""
        return 0, self.handle


def torch_convert(torch, arrays, out):
    """Convert by torch."""
    x, target = (torch.as_tensor(array, device="cuda") for array in (*arrays, out))
    return lambda: target.copy_(x)


def torch_bucketize(torch, arrays, out):
    """Digitise by torch."""
    x, target = (torch.as_tensor(array, device="cuda") for array in (*arrays, out))
    edges = torch.as_tensor(EDGES, device="cuda")
    return lambda: torch.bucketize(x, edges, right=True, out=target)


def cupy_digitize(cupy, arrays, out):
    """Digitise by CuPy, which makes its result anew."""
    x, edges = cupy.asarray(arrays[0]), cupy.asarray(EDGES)
    return lambda: cupy.digitize(x, edges)


def numpy_softmax(x):
    """Return softmax in float64."""
    powers = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def softmax_of(dtype, rows, length, tolerance=1e-5, cupy=False, **goals):
    """Return the case of softmax of so many rows."""
    shape = dtype, (rows, length)
    peers = {"torch": torch_softmax, **({"cupy": cupy_softmax} if cupy else {})}

    def ours(arrays, out):
        return wk.prepare(device.softmax, arrays[0], out=out)

    title = f"softmax {np.dtype(dtype)} {rows} × {length}"
    return Case(title, (shape,), shape, ours, numpy_softmax, peers, goals, tolerance)


MANY = (1 << 28,)
CASES = [
    softmax_of(np.float32, 4096, 8192, cupy=True, goal=1.0, copy_goal=93),
    softmax_of(np.float16, 4096, 8192, 4e-3),
    softmax_of(np.float32, 4096, 8191),
    softmax_of(np.float32, 1_000_000, 64),
    softmax_of(np.float32, 16, 1 << 20),
    Case("transform a · x + y float32 2^28", ((np.float32, MANY),) * 2, (np.float32, MANY),
         lambda arrays, out: wk.prepare(device.transform, lambda a, b: SCALE * a + b, *arrays, out=out),
         lambda x, y: SCALE * x + y,
         {"torch": torch_axpy, "cupy": cupy_axpy, "cuda.compute": compute_axpy}),
    Case("transform uint8 to float32 2^28", ((np.uint8, MANY),), (np.float32, MANY),
         lambda arrays, out: wk.prepare(device.transform, lambda a: a, *arrays, out=out), lambda x: x,
         {"torch": torch_convert}),
    Case("digitize float32 2^28, 256 edges", ((np.float32, MANY),), (np.int64, MANY),
         lambda arrays, out: wk.prepare(device.digitize, arrays[0], EDGES, out=out), lambda x: np.digitize(x, EDGES),
         {"torch": torch_bucketize, "cupy": cupy_digitize}),
]  # fmt: skip


def check(case, arrays, out):
    """Stop where the first or the last rows or items are wrong."""
    count = 3 if len(case.target[1]) > 1 else 5000
    for part in (slice(0, count), slice(len(out) - count, len(out))):
        right = case.right(*[array[part].copy_to_host() for array in arrays])
        found = out[part].copy_to_host()
        if not np.allclose(found.astype(np.float64), right, rtol=case.tolerance, atol=1e-6):
            raise ValueError("wrong values")


def measure(report, case):
    """Measure one case beside each of its peers; a peer that fails costs its own row."""
    arrays = [repeated(normal(dtype), shape) for dtype, shape in case.sources]
    out = repeated(np.zeros(PERIOD, case.target[0]), case.target[1])
    call = case.ours(arrays, out)
    call()
    check(case, arrays, out)
    num_bytes = sum(array.nbytes for array in (*arrays, out))
    ours, copy, goals = queued_time(call), copy_time(num_bytes), case.goals
    measured = False
    for name, make in case.peers.items():
        try:
            module = importlib.import_module(name)
            theirs = queued_time(on_stream(name, module, make(module, arrays, out)), repeats=15)
        except ImportError:
            report.notes.append(f"{name} is not installed")
            continue
        except Exception as error:
            report.errors.append(f"{case.name}, {name}: {type(error).__name__}: {error}")
            continue
        row = Row(f"{case.name}; peer: {name}", ours, theirs, num_bytes=num_bytes, copy=copy, **goals)
        report.rows.append(row)
        measured, goals = True, {}
    if not measured:
        report.rows.append(Row(case.name, ours, num_bytes=num_bytes, copy=copy, **goals))


SOFTMAX_POLICIES = [device.SoftmaxPolicy(words, most) for words, most in ((8, 1024), (16, 1024), (16, 256), (32, 256))]
SHORT_POLICIES = [device.SoftmaxPolicy(words, threads=threads) for words, threads in ((8, 256), (16, 128), (32, 256))]
LONG_POLICIES = [
    device.SoftmaxPolicy(words, part_threads=threads) for words, threads in ((16, 128), (16, 512), (32, 256))
]
TRANSFORM_POLICIES = [device.TransformPolicy(*both) for both in ((128, 2), (256, 1), (256, 4), (512, 2))]


def policies(report):
    """Measure policies of softmax and of elementwise functions; the peer is the default one."""
    for case, choices in ((CASES[0], SOFTMAX_POLICIES), (CASES[3], SHORT_POLICIES), (CASES[4], LONG_POLICIES)):
        x = repeated(normal(case.sources[0][0]), case.sources[0][1])
        out = cuda.device_array(x.shape, x.dtype)
        compare(report, case.name, choices, 2 * x.nbytes, device.softmax, x, out=out)
    x, y = (repeated(normal(np.float32), MANY) for _ in range(2))
    out = cuda.device_array(MANY, np.float32)
    compare(
        report, CASES[5].name, TRANSFORM_POLICIES, 3 * x.nbytes, device.transform, lambda a, b: SCALE * a + b, x, y,
        out=out,
    )  # fmt: skip


def compare(report, title, choices, num_bytes, function, *args, **options):
    """Measure a call with each policy."""
    copy, usual = copy_time(num_bytes), queued_time(wk.prepare(function, *args, **options))
    for policy in choices:
        with report.attempt(f"{title}, {policy}"):
            ours = queued_time(wk.prepare(function, *args, policy=policy, **options), repeats=10)
            name = f"{title}, {policy}; peer: the default"
            report.rows.append(Row(name, ours, usual, num_bytes=num_bytes, copy=copy))
