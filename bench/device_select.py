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
from .select_cases import CASES, PERIOD, Data, check, positive, report_errors
from .select_lookback import fused
from .timing import copy_time, graph_time, host_time, prebuilt_launch_time, queued_time

LARGE, SMALL, SOME = (24, 28, 30), (0, 4, 8, 10, 11, 12, 13, 14, 16, 18, 20), (10, 12, 14, 16, 18, 20)
OFTEN = "select half of int32", "select_flagged half of int32"  # measured at all small sizes, the others at some


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
        for case in CASES if exponent in SOME else OFTEN:
            name = f"{case}, 2^{exponent}"
            with report_errors(report, name):
                call, kept, _ = CASES[case][0](data, 1 << exponent)
                call()
                check(name, data, 1 << exponent, kept)
                goal = 1.0 if exponent <= 16 else None
                report.rows.append(Row(name, graph_time(call), found.get(name), goal=goal, note="graph of 100"))


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
    x, out, count, flags = data["half"][:1024], data.out[:1024], data.count, data["flags"][:1024]
    places, lengths = (cuda.device_array(1024, np.int64) for _ in range(2))
    raw, peer = prebuilt_launch_time(), None
    try:
        torch = importlib.import_module("torch")
        t, o = torch.ones(1024, device="cuda"), torch.ones(1024, device="cuda")
        peer = host_time(lambda: torch.cumsum(t, 0, out=o))
    except ImportError:
        report.notes.append("torch is not installed")
    calls = {
        "select(x, pred, out=, count_out=)": lambda: device.select(x, positive, out=out, count_out=count),
        "select_flagged(x, flags, ...)": lambda: device.select_flagged(x, flags, out=out, count_out=count),
        "nonzero(x, ...)": lambda: device.nonzero(x, out=places, count_out=count),
        "partition(x, pred, ...)": lambda: device.partition(x, positive, out=out, count_out=count),
        "unique(x, ...)": lambda: device.unique(x, out=out, count_out=count),
        "run_length_encode(x, ...)": lambda: device.run_length_encode(x, out=(out, lengths), count_out=count),
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
    for exponent in report.cases(LARGE, "2^{}".format):
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
