"""Scans of device arrays: device time beside cub::DeviceScan (cuda/scan.cu), cuda.compute, torch and CuPy.

Goals: running sums of 2^28 and 2^30 items at 95 % of a copy of as many bytes; operators of a user's no slower than CUB
with the same functor; of 1 to 2^16 items, in a graph of 100 calls, no slower than CUB; time / items flat within 5 % up
to 2^31. Bytes are those read and written.
"""

import importlib

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

from .device_reduce import numbers
from .harness import Row
from .mode import MODE
from .peers import Peer
from .timing import copy_time, graph_time, queued_time

SMALL, GROWTH = (0, 8, 10, 12, 13, 14, 15, 16, 18, 20, 22), (28, 29, 30, 31)
PERIOD, CHECKED = 1 << 20, 1 << 12
PAIR = np.dtype([("a", np.float32), ("b", np.float32)])


def compose(p, q):
    """Compose x -> a·x + b, first `p`."""
    return p[0] * q[0], q[0] * p[1] + q[1]


def multiply(p, q):
    """Multiply complex numbers."""
    return p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0]


# name: (dtype of items, dtype of results, large exponents, operator, goal against the copy in %, against CUB)
CASES = {
    "cumsum float32": (np.float32, np.float32, (24, *GROWTH), None, 95, None),
    "cumsum int32": (np.int32, np.int32, (28, 30), None, 95, None),
    "cumsum float64": (np.float64, np.float64, (28,), None, 95, None),
    "cumsum uint8 to uint64": (np.uint8, np.uint64, (28,), None, 95, None),
    "affine pairs of float32": (PAIR, PAIR, (28,), compose, None, 1.0),
    "products of complex64": (PAIR, PAIR, (28,), multiply, None, 1.0),
}
PARTS = 3  # of the peer, which build side by side


def items_of(name, exponent):
    """Return a device array of 2^exponent items of a case: whatever is combined of them is exact, but for float32."""
    dtype = np.dtype(CASES[name][0])
    if dtype != PAIR:
        return numbers(exponent, dtype)
    small = numbers(exponent, np.int8)[:PERIOD].copy_to_host()
    piece = np.zeros(len(small), PAIR)
    if CASES[name][3] is multiply:
        piece["a"], piece["b"] = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])[small].T
    else:
        piece["a"], piece["b"] = np.where(small < 2, 1, -1), np.roll(small, -1) - 1
    array = cuda.device_array(1 << exponent, PAIR)
    for begin in range(0, array.size, len(piece)):
        array[begin : begin + len(piece)].copy_to_device(piece)
    return array


def prepared(name, x, out):
    """Return the call of a case."""
    _, result, _, op, _, _ = CASES[name]
    if op is not None:
        return wk.prepare(device.inclusive_scan, x, op, out=out)
    return wk.prepare(device.cumsum, x, dtype=result, out=out)


def check(name, x, out):
    """Stop where a result is wrong: a fast one says nothing then. The beginning, and of sums the last result."""
    _, result, _, op, _, _ = CASES[name]
    few = min(x.size, CHECKED)
    items, found = x[:few].copy_to_host(), out[:few].copy_to_host()
    if op is None:
        right = np.cumsum(items, dtype=np.float64)
        total = float(np.sum(x[:PERIOD].copy_to_host(), dtype=np.float64)) * max(1, x.size // PERIOD)
        exact = np.dtype(result).kind != "f" or total < 2**24 or result == np.float64
        last = float(out[x.size - 1 : x.size].copy_to_host()[0])
        if abs(last - total) > (0 if exact else 1e-3 * total):
            raise ValueError(f"{name}, {x.size} items: the last is {last} instead of {total}")
    else:
        run, right = None, []
        for item in items.tolist():
            run = item if run is None else op(run, item)
            right.append(run)
        right, found = np.array(right), np.array(found.tolist())
    if (found != right).any():
        raise ValueError(f"{name}, {x.size} items: number {int(np.argmax(found != right))} is wrong")


def large(report, name, found):
    """Measure one case at the large sizes."""
    _, result, exponents, _, copy_goal, goal = CASES[name]
    exponents = [exponent for exponent in exponents if not MODE.quick or exponent <= 28]
    x, times = items_of(name, max(exponents)), {}
    out = cuda.device_array(x.size, result)
    for exponent in exponents:
        n = 1 << exponent
        part, to = x[:n], out[:n]
        call = prepared(name, part, to)
        call()
        cuda.synchronize()
        check(name, part, to)
        times[exponent] = queued_time(call, repeats=20)
        num_bytes, case = n * (x.dtype.itemsize + out.dtype.itemsize), f"{name} 2^{exponent}"
        goals = {"copy_goal": copy_goal} if exponent in (28, 30) and copy_goal else {}
        copy = copy_time(num_bytes, repeats=15)
        report.rows.append(
            Row(case, times[exponent], found.get(case), num_bytes=num_bytes, copy=copy, goal=goal, **goals)
        )
    if set(GROWTH) <= set(times):
        each = [times[exponent] / (1 << exponent) for exponent in GROWTH]
        report.rows.append(
            Row(f"{name}, time / items, 2^28 to 2^31: largest / smallest", max(each) / min(each), unit="×", limit=1.05)
        )
    if name == "cumsum float32" and 28 in times:
        others(report, x[: 1 << 28], out[: 1 << 28], times[28])


def others(report, x, out, ours):
    """Measure what else scans 2^28 float32: torch, CuPy, cuda.compute; and ours by a user's operator, and reversed."""
    add = lambda a, b: a + b
    last = lambda a, b: b if b != 0 else a
    own = {
        "a user's a + b": lambda: wk.prepare(device.inclusive_scan, x, add, out=out),
        "a user's last nonzero": lambda: wk.prepare(device.inclusive_scan, x, last, out=out),
        "reversed": lambda: wk.prepare(device.cumsum, x, out=out, reverse=True),
        "exclusive": lambda: wk.prepare(device.exclusive_scan, x, wk.add, out=out),
        "in place": lambda: wk.prepare(device.cumsum, x, out=x, init=0),
    }
    for what, make in own.items():
        if MODE.over():
            return
        tried(report, f"scan of float32 2^28, {what}; peer: our cumsum", lambda make=make: (queued_time(make()), ours))
    cuda.synchronize()
    for name, make in (("torch", torch_cumsum), ("cupy", cupy_cumsum), ("cuda.compute", compute_scan)):
        if MODE.over():
            return
        case = f"cumsum float32 2^28; peer: {name}"
        tried(report, case, lambda make=make: (ours, queued_time(make(x, out), repeats=10)), name)


def tried(report, case, measure, package=None):
    """Add a row; what fails is a remark where a package is missing, else an error, and costs nothing else."""
    with report.attempt(case):
        try:
            report.rows.append(Row(case, *measure()))
        except ImportError:
            report.notes.append(f"{package} is not installed")


def torch_cumsum(x, out):
    """Return torch's cumsum as work."""
    torch = importlib.import_module("torch")
    source, target = torch.as_tensor(x, device="cuda"), torch.as_tensor(out, device="cuda")

    def work(stream):
        with torch.cuda.stream(torch.cuda.ExternalStream(int(stream))):
            torch.cumsum(source, 0, out=target)

    return work


def cupy_cumsum(x, out):
    """Return CuPy's cumsum as work."""
    cupy = importlib.import_module("cupy")
    source, target = cupy.asarray(x), cupy.asarray(out)

    def work(stream):
        with cupy.cuda.ExternalStream(int(stream)):
            cupy.cumsum(source, out=target)

    return work


class OnStream:
    """A stream as cuda.compute takes it."""

    def __init__(self, stream):
        self.handle = int(stream)

    def __cuda_stream__(self):
        return 0, self.handle


def compute_scan(x, out):
    """Return cuda.compute's inclusive scan as work."""
    compute = importlib.import_module("cuda.compute")
    zero = np.zeros(1, np.float32)
    make = compute.make_inclusive_scan
    try:
        scanner = make(x, out, compute.OpKind.PLUS, zero)
    except TypeError:
        scanner = make(d_in=x, d_out=out, op=compute.OpKind.PLUS, init_value=zero)

    def call(storage, stream):
        try:
            return scanner(storage, x, out, x.size, zero, stream)
        except TypeError:
            return scanner(
                temp_storage=storage, d_in=x, d_out=out, op=compute.OpKind.PLUS, num_items=x.size, init_value=zero,
                stream=stream,
            )  # fmt: skip

    storage = cuda.device_array(max(int(call(None, None)), 1), np.uint8)
    return lambda stream: call(storage, OnStream(stream))


def small(report, name, found):
    """Measure one case at the small sizes, in a graph of 100 calls."""
    result = CASES[name][1]
    x = items_of(name, max(SMALL))
    out = cuda.device_array(x.size, result)
    for exponent in SMALL:
        n, case = 1 << exponent, f"{name} 2^{exponent}"
        call = prepared(name, x[:n], out[:n])
        call()
        cuda.synchronize()
        check(name, x[:n], out[:n])
        taken = graph_time(call, repeats=15)
        num_bytes = n * (x.dtype.itemsize + out.dtype.itemsize)
        goal = 1.0 if exponent <= 16 else None
        report.rows.append(Row(case, taken, found.get(case), num_bytes=num_bytes, goal=goal, note="graph of 100"))


def peers(report):
    """Return what CUB takes, case by case."""
    capability = cuda.get_current_device().compute_capability
    built = [Peer("scan", capability, f"PART={part}") for part in range(PARTS)]
    exponents, found = sorted({*SMALL, *(e for case in CASES.values() for e in case[2])}), {}
    for peer in built:
        found |= peer.beside(report, *exponents)
    if not built[0].built:
        report.notes.append(built[0].missing)
    return found


def run(report):
    """Fill the report; a case that fails is an error of the report and costs the others nothing."""
    found = peers(report)
    pairs = [(name, large) for name in CASES] + [("cumsum float32", small), ("cumsum int32", small)]
    for name, measure in report.cases(pairs, lambda pair: f"{pair[0]}, {pair[1].__name__}"):
        with report.attempt(f"{name}, {measure.__name__}"):
            measure(report, name, found)
    report.notes.append("peer: cub::DeviceScan::InclusiveScan with the same types of items, totals and results")
    report.notes.append("large: one call that waits on the stream behind another one; small: a graph of 100 calls")
