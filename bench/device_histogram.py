"""Histograms of device arrays: device time beside cub::DeviceHistogram (cuda/histogram.cu).

Goals: 256 even bins of 2^30 float32, uniform and all in one bin, and 10^6 bins, no slower than CUB. Bytes are those
read. Counters of 32 bits as CUB's, and of 64 bits, which is what comes without `out=`.
CUB leaves the top edge out, which no item here is on.
"""

import sys

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

from .harness import Row
from .peers import Peer
from .timing import copy_time, graph_time, queued_time

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
    device.HistogramPolicy(threads, loads, shared)
    for threads in (256, 512, 1024)
    for loads in (1, 2, 4)
    for shared in (1 << 10, 1 << 13, 1 << 15)
]


def numbers(exponent, dtype, scale, same):
    """Return a device array of numbers from 0 to below `scale`, and the piece of the host that it repeats."""
    count = 1 << min(exponent, 22)
    piece = np.full(count, 0.3 * scale) if same else np.random.default_rng(1).random(count) * scale
    piece = piece.astype(dtype)
    array = cuda.device_array(1 << exponent, dtype)
    for start in range(0, 1 << exponent, count):
        array[start : start + count].copy_to_device(piece)
    return array, piece


def measure(report, case, found):
    """Measure one case, after a look at the counts."""
    what, (dtype, scale), bins, exponent = case
    array, piece = numbers(exponent, dtype, scale, "one bin" in what)
    right = np.histogram(piece, bins, (0, scale))[0] * (array.size // piece.size)
    name = f"{what}, {bins} bins, 2^{exponent}"
    copy = copy_time(array.nbytes) if exponent >= 24 else None
    for result in (np.int32, np.int64):
        out = cuda.to_device(np.full(bins, -1, result))
        call = wk.prepare(device.histogram, array, bins, (0, scale), out=out)
        call()
        if not np.array_equal(out.copy_to_host(), right):
            raise ValueError("the counts are wrong")
        ours = queued_time(call, repeats=20) if exponent >= 24 else graph_time(call)
        goal = 1.0 if exponent == 30 and result is np.int32 else None
        label = name if result is np.int32 else f"{name}, int64"
        report.rows.append(Row(label, ours, found.get(name), num_bytes=array.nbytes, copy=copy, goal=goal))


def policies(report):
    """Measure every policy on the two kinds of data; the peer is the default policy."""
    for what, same in (("uniform", False), ("all in one bin", True)):
        array, _ = numbers(30, np.float32, 1.0, same)
        out = cuda.device_array(256, np.int64)
        usual = queued_time(wk.prepare(device.histogram, array, 256, (0, 1), out=out), repeats=10)
        for policy in POLICIES:
            call = wk.prepare(device.histogram, array, 256, (0, 1), out=out, policy=policy)
            name = f"{what}, threads {policy.threads}, loads {policy.loads}, shared {policy.shared}; peer: the default"
            report.rows.append(Row(name, queued_time(call, repeats=10), usual, num_bytes=array.nbytes))


def run(report):
    """Fill the report; a case that fails is an error of the report and costs the others nothing."""
    peer = Peer("histogram", cuda.get_current_device().compute_capability)
    try:
        found = peer.results()
    except RuntimeError as error:
        report.errors.append(str(error))
        found = {}
    for case in CASES:
        print(f"  {case[0]}, {case[2]} bins, 2^{case[3]}", file=sys.stderr, flush=True)
        try:
            measure(report, case, found)
        except Exception as error:
            report.errors.append(f"{case}: {type(error).__name__}: {error}")
    report.notes.append("peer: cub::DeviceHistogram::HistogramEven with int counters")
    report.notes.append(
        "2^24 and more: one call that waits on the stream behind another one; fewer: a graph of 100 calls"
    )
    if not peer.built:
        report.notes.append(peer.missing)
