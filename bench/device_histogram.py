"""Histograms of device arrays: device time beside cub::DeviceHistogram (cuda/histogram.cu).

Goals: 256 even bins of 2^30 float32, uniform and all in one bin, and 10^6 bins, no slower than CUB. Bytes are those
read. Counters of 32 bits as CUB's, and of 64 bits, which is what comes without `out=`.
CUB leaves the top edge out, which no item here is on.
"""

import functools

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

from .harness import Row
from .peers import Peer
from .timing import SMALL, copy_time, graph_time, queued_time

FLOATS, BYTES = (np.float32, 1.0), (np.uint8, 256.0)
CASES = [
    *[("float32, uniform", FLOATS, 256, n) for n in (12, 16, 20, 24, 28, 30)],
    *[("float32, all in one bin", FLOATS, 256, n) for n in (12, 16, 20, 24, 28, 30)],
    *[("uint8, uniform", BYTES, 256, n) for n in (24, 28, 30)],
    *[("uint8, all in one bin", BYTES, 256, n) for n in (24, 28, 30)],
    *[("float32, uniform", FLOATS, 2048, n) for n in (24, 28, 30)],
    *[("float32, uniform", FLOATS, 1_000_000, n) for n in (24, 28, 30)],
    *[("float32, all in one bin", FLOATS, 1_000_000, n) for n in (24, 28, 30)],
]
POLICIES = [
    device.HistogramPolicy(*choice)
    for choice in (
        (256,),
        (512,),
        (512, 1),
        (512, 4),
        (1024, 1),
        (1024, 4),
        (256, 4),
        (1024, 2, 1 << 10),
        (1024, 2, 1 << 13),
    )
]


@functools.cache
def piece_of(count, dtype, scale, same):
    """Return numbers from 0 to below `scale`."""
    piece = np.full(count, 0.3 * scale) if same else np.random.default_rng(1).random(count) * scale
    return piece.astype(dtype)


@functools.cache
def counts_of(count, dtype, scale, same, bins):
    """Return the right counts of these numbers."""
    return np.histogram(piece_of(count, dtype, scale, same), bins, (0, scale))[0]


def numbers(exponent, dtype, scale, same):
    """Return a device array that repeats such numbers, and how many there are before it repeats them."""
    count = 1 << min(exponent, 22)
    array, there = cuda.device_array(1 << exponent, dtype), count
    array[:count].copy_to_device(piece_of(count, dtype, scale, same))
    while there < array.size:
        array[there : 2 * there].copy_to_device(array[:there])
        there *= 2
    return array, count


def measure(report, case):
    """Measure one case, after a look at the counts; return its rows by what the peer calls them."""
    what, (dtype, scale), bins, exponent = case
    same, rows = "one bin" in what, []
    array, count = numbers(exponent, dtype, scale, same)
    right = counts_of(count, dtype, scale, same, bins) * (array.size // count)
    name = f"{what}, {bins} bins, 2^{exponent}"
    copy = copy_time(array.nbytes) if exponent >= 24 else None
    for result in (np.int32, np.int64):
        out = cuda.to_device(np.full(bins, -1, result))
        call = wk.prepare(device.histogram, array, bins, (0, scale), out=out)
        call()
        if not np.array_equal(out.copy_to_host(), right):
            raise ValueError("the counts are wrong")
        ours = queued_time(call, repeats=20) if array.nbytes >= SMALL else graph_time(call)
        goal = 1.0 if exponent == 30 and result is np.int32 else None
        label = name if result is np.int32 else f"{name}, int64"
        rows.append((name, Row(label, ours, num_bytes=array.nbytes, copy=copy, goal=goal)))
        report.rows.append(rows[-1][1])
    return rows


def policies(report):
    """Measure every policy on the two kinds of data; the peer is the default policy."""
    for what, same in (("uniform", False), ("all in one bin", True)):
        array, _ = numbers(30, np.float32, 1.0, same)
        out = cuda.device_array(256, np.int64)
        usual = queued_time(wk.prepare(device.histogram, array, 256, (0, 1), out=out), repeats=10)
        for policy in report.cases(POLICIES):
            name = f"{what}, threads {policy.threads}, loads {policy.loads}, shared {policy.shared}; peer: the default"
            with report.attempt(name):
                call = wk.prepare(device.histogram, array, 256, (0, 1), out=out, policy=policy)
                report.rows.append(Row(name, queued_time(call, repeats=10), usual, num_bytes=array.nbytes))


def run(report):
    """Fill the report; a case that fails is an error of the report and costs the others nothing."""
    peer, rows = Peer("histogram", cuda.get_current_device().compute_capability), []
    for case in report.cases(CASES, lambda case: f"{case[0]}, {case[2]} bins, 2^{case[3]}"):
        with report.attempt(case):
            rows += measure(report, case)
    found = peer.beside(report)  # built meanwhile
    for name, row in rows:
        row.peer = found.get(name)
    report.notes.append("peer: cub::DeviceHistogram::HistogramEven with int counters")
    report.notes.append(
        "64 MB and more: one call that waits on the stream behind another one; less: a graph of 100 calls"
    )
    if not peer.built:
        report.notes.append(peer.missing)
