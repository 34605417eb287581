"""Reductions of device arrays: device time beside cub::DeviceReduce (cuda/reduce.cu), torch and CuPy.

Goals: sums of 2^24, 2^28 and 2^30 items at least as fast as CUB's with the same types of items and totals; of 1 to 2^16
items, in a graph of 100 calls, no slower; time / items flat within 5 % up to 2^31. Bytes are those read.
Where 2^24 items fit in the L2 cache, calls take turns on different parts of the array, ours and the peer's.
"""

import importlib
import itertools

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

from .harness import Row
from .peers import Peer
from .timing import copy_time, graph_time, queued_time

LARGE, SMALL, GROWTH = (24, 28, 30), (0, 4, 8, 10, 12, 13, 14, 15, 16, 18, 20), (28, 29, 30, 31)
CASES = {
    "sum float32": (device.sum, np.float32),
    "sum int32": (device.sum, np.int32),
    "sum float64": (device.sum, np.float64),
    "sum float16": (device.sum, np.float16),
    "sum uint8": (device.sum, np.uint8),
    "max float32": (device.max, np.float32),
}
SPREAD = 1 << 28
"""Bytes over which calls on fewer take turns: several times what the L2 cache holds."""


def numbers(exponent, dtype):
    """Return a device array of small numbers that differ."""
    piece = (np.arange(1 << min(exponent, 20)) * 2654435761 % 2**32 >> 7 & 3).astype(dtype)
    array = cuda.device_array(1 << exponent, dtype)
    array[: len(piece)].copy_to_device(piece)
    there = len(piece)
    while there < array.size:  # the rest on the device, doubling
        array[there : 2 * there].copy_to_device(array[:there])
        there *= 2
    return array


def in_turn(function, array, items, out):
    """Return work that reduces `items` items, each time another part of the array where these are few bytes."""
    parts = max(1, min(array.size, SPREAD // array.dtype.itemsize) // items)
    calls = [wk.prepare(function, array[k * items : (k + 1) * items], out=out) for k in range(parts)]
    turns = itertools.cycle(calls)
    return lambda stream: next(turns)(stream)


def check(case, function, array, items, out):
    """Stop where a result is wrong: a fast one says nothing then."""
    function(array[:items], out=out)
    found, right = out.copy_to_host()[0], None
    pattern = np.arange(min(items, 1 << 20)) * 2654435761 % 2**32 >> 7 & 3
    right = pattern.max() if function is device.max else int(pattern.sum()) * max(1, items >> 20)
    if abs(float(found) - right) > 1e-6 * right:
        raise ValueError(f"{case}, {items} items: {found} instead of {right}")


def large(report, case, found):
    """Measure one case at the large sizes."""
    function, dtype = CASES[case]
    most = max(GROWTH) if case == "sum float32" else max(LARGE)
    array = numbers(most, dtype)
    out = cuda.device_array(1, np.dtype(np.float64))
    times = {}
    for exponent in sorted({*LARGE, *(GROWTH if most > 30 else ())}):
        items = 1 << exponent
        check(case, function, array, items, out)
        times[exponent] = queued_time(in_turn(function, array, items, out))
        num_bytes = items * array.dtype.itemsize
        name = f"{case} 2^{exponent}"
        goal = 1.0 if exponent in LARGE else None
        copy = copy_time(num_bytes)
        report.rows.append(Row(name, times[exponent], found.get(name), num_bytes=num_bytes, copy=copy, goal=goal))
    if most > 30:
        each = [times[exponent] / (1 << exponent) for exponent in GROWTH]
        case = f"{case}, time / items, 2^28 to 2^31: largest / smallest"
        report.rows.append(Row(case, max(each) / min(each), unit="×", limit=1.05))
        others(report, array[: 1 << 28], times[28])


def others(report, array, ours):
    """Measure what else adds up 2^28 float32: torch, CuPy, our reduction in order."""
    out = cuda.device_array(1, np.float32)
    last = wk.prepare(device.reduce, array, lambda a, b: b if b != 0 else a, out=out)
    add = wk.prepare(device.reduce, array, lambda a, b: a + b, out=out)
    for name, call in (("a user's a + b", add), ("a user's last nonzero", last)):
        report.rows.append(Row(f"reduce float32 2^28 in order, {name}; peer: our sum", queued_time(call), ours))
    for name, make in (("torch", torch_sum), ("CuPy", cupy_sum)):
        try:
            work = make(importlib.import_module(name.lower()), array)
        except ImportError:
            report.notes.append(f"{name} is not installed")
            continue
        report.rows.append(Row(f"sum float32 2^28; peer: {name}", ours, queued_time(work)))


def torch_sum(torch, array):
    """Return torch's sum as work."""
    x = torch.as_tensor(array, device="cuda")
    out = torch.zeros((), device="cuda")

    def work(stream):
        with torch.cuda.stream(torch.cuda.ExternalStream(int(stream))):
            torch.sum(x, dim=0, out=out)

    return work


def cupy_sum(cupy, array):
    """Return CuPy's sum as work."""
    x, out = cupy.asarray(array), cupy.zeros((), np.float32)

    def work(stream):
        with cupy.cuda.ExternalStream(int(stream)):
            x.sum(out=out)

    return work


def small(report, case, found):
    """Measure one case at the small sizes."""
    function, dtype = CASES[case]
    array, out = numbers(max(SMALL), dtype), cuda.device_array(1, np.dtype(np.float64))
    for exponent in SMALL:
        items = 1 << exponent
        check(case, function, array, items, out)
        taken = graph_time(wk.prepare(function, array[:items], out=out))
        name = f"{case} 2^{exponent}"
        goal = 1.0 if exponent <= 16 else None
        report.rows.append(
            Row(name, taken, found.get(name), num_bytes=items * array.dtype.itemsize, goal=goal, note="graph of 100")
        )


def run(report):
    """Fill the report; a case that fails is an error of the report and costs the others nothing."""
    peer = Peer("reduce", cuda.get_current_device().compute_capability)
    found = peer.beside(report, *sorted({*LARGE, *SMALL, *GROWTH}))
    pairs = [(case, measure) for case in CASES for measure in (small, large)]
    for case, measure in report.cases(pairs, lambda pair: f"{pair[0]}, {pair[1].__name__}"):
        with report.attempt(f"{case}, {measure.__name__}"):
            measure(report, case, found)
    report.notes.append("peer: cub::DeviceReduce::Reduce with the same types of items and totals")
    report.notes.append("large: one call that waits on the stream behind another one; small: a graph of 100 calls")
    if not peer.built:
        report.notes.append(peer.missing)
