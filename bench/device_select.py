"""Selections of device arrays: device time beside CUB (cuda/select.cu), torch and CuPy; what a call costs the host.

Goals: selecting half of 2^30 int32 takes at most 0.80 of the time of cub::DeviceSelect::If; flagged, unique,
run_length_encode and partition no more than CUB's; 1 to 2^16 items, in a graph of 100 calls, no more either.
Bytes are those that have to be read and written once. CUB's partition leaves the rejected items in reverse order and
counts runs in 32 bits; ours keeps the order and counts them in 64.
"""

import importlib
import statistics
import time

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

from .harness import Row
from .peers import Peer
from .select_lookback import fused
from .timing import copy_time, graph_time, host_time, prebuilt_launch_time, queued_time

LARGE, SMALL = (24, 28, 30), (0, 4, 8, 10, 11, 12, 13, 14, 16)
PERIOD = 1 << 22  # items after which an array repeats


def positive(v):
    """Return what selects half of random numbers."""
    return v > 0


def piece_of(kind):
    """Return what an array of one kind repeats."""
    rng = np.random.default_rng(1)
    if kind == "half":
        return rng.integers(-(2**31), 2**31, PERIOD).astype(np.int32)
    if kind == "flags":
        return rng.integers(0, 2, PERIOD).astype(np.bool_)
    return np.cumsum(rng.integers(0, kind, PERIOD) == 0).astype(np.int32)


def repeated(piece, n):
    """Return a device array of n items that repeats a piece."""
    array = cuda.device_array(n, piece.dtype)
    there = min(n, piece.size)
    array[:there].copy_to_device(piece[:there])
    while there < n:
        more = min(there, n - there)
        array[there : there + more].copy_to_device(array[:more])
        there += more
    return array


class Data:
    """The arrays of one size, made when they are asked for. out: as many items.  count: one integer."""

    def __init__(self, n):
        self.n, self.made = n, {}
        self.out, self.count = cuda.device_array(n, np.int32), cuda.device_array(1, np.int64)

    def __getitem__(self, kind):
        if kind not in self.made:
            self.made[kind] = repeated(piece_of(kind), self.n)
        return self.made[kind]

    def host(self, kind, n):
        """Return the first items of an array as NumPy sees them: all, up to a period."""
        return piece_of(kind)[: min(n, PERIOD)]


def changes(x):
    """Return how many runs there are."""
    return 1 + int((x[1:] != x[:-1]).sum())


def half(data, n, policy=None):
    """Return (call, what it keeps of a period, bytes) of `select`."""
    x, out = data.host("half", n), data.out[:n]
    call = wk.prepare(device.select, data["half"][:n], positive, out=out, count_out=data.count, policy=policy)
    return call, x[x > 0], 4


def flagged(data, n):
    """Return (call, what it keeps of a period, bytes beside those of what is kept) of `select_flagged`."""
    x, flags = data.host("half", n), data.host("flags", n)
    call = wk.prepare(
        device.select_flagged, data["half"][:n], data["flags"][:n], out=data.out[:n], count_out=data.count
    )
    return call, x[flags], 5


def unique_of(mean):
    """Return the function for `unique`."""

    def make(data, n):
        x = data.host(mean, n)
        call = wk.prepare(device.unique, data[mean][:n], out=data.out[:n], count_out=data.count)
        return call, x[np.append(True, x[1:] != x[:-1])], 4

    return make


def runs_of(mean):
    """Return the function for `run_length_encode`."""

    def make(data, n):
        x = data.host(mean, n)
        if "lengths" not in data.made:
            data.made["lengths"] = cuda.device_array(data.n, np.int64)
        outs = data.out[:n], data.made["lengths"][:n]
        call = wk.prepare(device.run_length_encode, data[mean][:n], out=outs, count_out=data.count)
        return call, x[np.append(True, x[1:] != x[:-1])], 4

    return make


def partitioned(data, n):
    """Return (call, the kept part of a period, bytes) of `partition`."""
    x = data.host("half", n)
    call = wk.prepare(device.partition, data["half"][:n], positive, out=data.out[:n], count_out=data.count)
    return call, x[x > 0], 8


CASES = {
    "select half of int32": (half, 0.8),
    "select_flagged half of int32": (flagged, 1.0),
    "unique of runs of 2": (unique_of(2), 1.0),
    "unique of runs of 100": (unique_of(100), 1.0),
    "run_length_encode of runs of 2": (runs_of(2), 1.0),
    "run_length_encode of runs of 100": (runs_of(100), 1.0),
}
if hasattr(device, "partition"):
    CASES["partition half of int32"] = partitioned, 1.0


def check(name, data, n, kept):
    """Stop where a result is wrong: a fast one says nothing then."""
    count = int(data.count.copy_to_host()[0])
    wanted = len(kept) * max(n // PERIOD, 1)
    if abs(count - wanted) > n // PERIOD:  # where pieces meet a run may end or go on
        raise ValueError(f"{name}: {count} kept instead of {wanted}")
    some = min(len(kept), 1 << 20)
    if not np.array_equal(data.out[:some].copy_to_host(), kept[:some]):
        raise ValueError(f"{name}: wrong items")


def large(report, data, exponent, found):
    """Measure all cases of one large size."""
    n = 1 << exponent
    for case, (make, goal) in CASES.items():
        name = f"{case}, 2^{exponent}"
        with report_errors(report, name):
            call, kept, read = make(data, n)
            call()
            check(name, data, n, kept)
            written = 0 if read == 8 else len(kept) * max(n // PERIOD, 1) * (12 if "run_length" in case else 4)
            num_bytes = read * n + written
            taken = queued_time(call, repeats=20)
            wanted = goal if exponent == 30 else None
            report.rows.append(
                Row(name, taken, found.get(name), num_bytes=num_bytes, copy=copy_time(num_bytes, 10), goal=wanted)
            )


def small(report, data, found):
    """Measure few items: a graph of 100 calls."""
    for exponent in SMALL:
        for case in ("select half of int32", "select_flagged half of int32"):
            name = f"{case}, 2^{exponent}"
            with report_errors(report, name):
                call, kept, _ = CASES[case][0](data, 1 << exponent)
                call()
                check(name, data, 1 << exponent, kept)
                report.rows.append(Row(name, graph_time(call), found.get(name), goal=1.0, note="graph of 100"))


class report_errors:
    """A block whose error is one of the report, and costs the others nothing."""

    def __init__(self, report, what):
        self.report, self.what = report, what

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, Exception):
            self.report.errors.append(f"{self.what}: {type(error).__name__}: {error}")
        return isinstance(error, Exception)


def whole_time(call, repeats=7):
    """Time a call that returns a new array, from the call until it is there."""
    call()
    taken = []
    for _ in range(repeats):
        cuda.synchronize()
        begin = time.perf_counter()
        call()
        cuda.synchronize()
        taken.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(taken)


def frameworks(report, data):
    """Measure what torch and CuPy have of this: 2^28 items, new arrays, the wait for the count included."""
    n = min(1 << 28, data.n)
    x, flags, runs = data["half"][:n], data["flags"][:n], data[100][:n]
    ours = {
        "select_flagged": lambda: device.select_flagged(x, flags),
        "nonzero": lambda: device.nonzero(flags),
        "unique": lambda: device.unique(runs),
    }
    taken = {}
    for name, call in ours.items():
        with report_errors(report, name):
            taken[name] = whole_time(call)
    for framework, make in (("torch", torch_calls), ("cupy", cupy_calls)):
        try:
            module = importlib.import_module(framework)
        except ImportError:
            report.notes.append(f"{framework} is not installed")
            continue
        for name, (what, call) in make(module, x, flags, runs).items():
            with report_errors(report, f"{framework} {what}"):
                if name in taken:
                    case = f"{name}, 2^28 int32, a new array; peer: {framework} {what}"
                    report.rows.append(Row(case, taken[name], whole_time(call)))


def torch_calls(torch, x, flags, runs):
    """Return torch's calls by the names of ours."""
    x, flags, runs = (torch.as_tensor(array, device="cuda") for array in (x, flags, runs))
    return {
        "select_flagged": ("masked_select", lambda: torch.masked_select(x, flags)),
        "nonzero": ("nonzero", lambda: torch.nonzero(flags)),
        "unique": ("unique_consecutive", lambda: torch.unique_consecutive(runs)),
    }


def cupy_calls(cupy, x, flags, runs):
    """Return CuPy's calls by the names of ours."""
    x, flags = cupy.asarray(x), cupy.asarray(flags)
    return {
        "select_flagged": ("x[flags]", lambda: x[flags]),
        "nonzero": ("flatnonzero", lambda: cupy.flatnonzero(flags)),
    }


def host(report, data):
    """Measure what a call costs the host, 2^10 items."""
    x, out, count = data["half"][:1024], data.out[:1024], data.count
    raw, peer = prebuilt_launch_time(), None
    try:
        torch = importlib.import_module("torch")
        t, o = torch.ones(1024, device="cuda"), torch.ones(1024, device="cuda")
        peer = host_time(lambda: torch.cumsum(t, 0, out=o))
    except ImportError:
        report.notes.append("torch is not installed")
    calls = {
        "select(x, pred, out=, count_out=)": lambda: device.select(x, positive, out=out, count_out=count),
        "unique(x, out=, count_out=)": lambda: device.unique(x, out=out, count_out=count),
    }
    for name, call in calls.items():
        report.rows.append(Row(f"host: {name}; peer: torch.cumsum(out=)", host_time(call), peer, goal=1.0))
    prepared = wk.prepare(device.select, x, positive, out=out, count_out=count)
    report.rows.append(Row("host: prepared select; peer: a prebuilt launch", host_time(prepared), raw, goal=1.3))
    report.rows.append(Row("host: select(x, pred), a new array", host_time(lambda: device.select(x, positive), 300)))


def fused_row(report, data):
    """Measure a user's kernel that maps, scans and selects in one pass, beside our select of as many bytes."""
    n = min(1 << 28, data.n)
    call, kept = fused(data["half"][:n], data.out[:n], data.count)
    call(0)
    found = int(data.count.copy_to_host()[0])
    if not np.array_equal(data.out[: len(kept)].copy_to_host(), kept):
        raise ValueError("the user's kernel keeps wrong items")
    select = wk.prepare(device.select, data["half"][:n], positive, out=data.out[:n], count_out=data.count)
    taken, ours = queued_time(call, repeats=20), queued_time(select, repeats=20)
    name = f"a user's map, scan and select with look-back, 2^28 int32, keeps {found / n:.2f}; peer: our select"
    report.rows.append(Row(name, taken, ours, goal=1.1))


def run(report):
    """Fill the report; a case that fails is an error of the report and costs the others nothing."""
    peer = Peer("select", cuda.get_current_device().compute_capability)
    data = Data(1 << max(LARGE))
    with report_errors(report, "host"):
        host(report, data)
    found = {}
    with report_errors(report, "peer"):
        found = peer.results(*LARGE, 0, *SMALL)
    with report_errors(report, "few items"):
        small(report, data, found)
    for exponent in LARGE:
        with report_errors(report, f"2^{exponent}"):
            large(report, data, exponent, found)
    with report_errors(report, "a user's kernel"):
        fused_row(report, data)
    with report_errors(report, "frameworks"):
        frameworks(report, data)
    report.notes.append("peer: cub::DeviceSelect, DevicePartition and DeviceRunLengthEncode with int32 counts")
    report.notes.append("large: one call that waits on the stream behind another one; few: a graph of 100 calls")
    if not peer.built:
        report.notes.append(peer.missing)


RINGS = [
    (256, 60, 3, 3), (256, 60, 4, 3), (256, 68, 3, 3), (256, 76, 3, 2), (256, 44, 3, 4), (256, 60, 2, 4),
    (256, 124, 3, 2), (512, 60, 3, 1), (512, 60, 3, 2), (512, 124, 3, 1), (512, 76, 3, 1), (128, 60, 3, 6),
]  # fmt: skip
FEW = [(128, 28), (256, 12), (256, 28), (256, 60), (512, 12), (512, 28)]


def policies(report):
    """Measure policies: of blocks that stay on half of 2^28 int32, of a block for each tile on few items."""
    data = Data(1 << 28)
    usual = queued_time(half(data, data.n)[0], repeats=10)
    for threads, nbytes, stages, blocks in RINGS:
        name = f"2^28, threads {threads}, nbytes {nbytes}, stages {stages}, blocks {blocks}; peer: the default"
        with report_errors(report, name):
            policy = device.SelectPolicy(threads=threads, nbytes=nbytes, stages=stages, blocks=blocks)
            call, kept, _ = half(data, data.n, policy)
            call()
            check(name, data, data.n, kept)
            report.rows.append(Row(name, queued_time(call, repeats=10), usual, copy=copy_time(6 * data.n, 10)))
    for exponent in (10, 13, 16, 20):
        usual = graph_time(half(data, 1 << exponent)[0])
        for threads, nbytes in FEW:
            name = f"2^{exponent}, few_threads {threads}, few_nbytes {nbytes}; peer: the default"
            with report_errors(report, name):
                policy = device.SelectPolicy(few_threads=threads, few_nbytes=nbytes, most_tiles=64)
                report.rows.append(Row(name, graph_time(half(data, 1 << exponent, policy)[0]), usual))
