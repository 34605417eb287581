"""Scans of device arrays under policies: what `scan_policy.BY_CAPABILITY` is chosen from. Only run by name."""

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device
from warpkit.device.scan_policy import policy_for
from warpkit.simt import machine

from .device_reduce import numbers
from .harness import Row
from .timing import copy_time, graph_time, queued_time

LARGE = 1 << 28
DTYPES = ((np.float32, np.float32), (np.float64, np.float64), (np.uint8, np.uint64))
RINGS = {
    4: ((512, 31, 3, 1), (512, 23, 4, 1), (512, 17, 6, 1), (512, 35, 3, 1), (256, 31, 3, 2), (1024, 15, 3, 1)),
    8: ((512, 15, 3, 1), (512, 11, 4, 1), (512, 17, 3, 1), (256, 15, 3, 2), (512, 7, 6, 1), (512, 7, 3, 2)),
}
TILES = ((256, 15), (256, 7), (512, 15), (512, 7), (128, 15), (1024, 7))
FEW = (0, 10, 12, 14, 16, 18, 20, 22)


def rings(report, dtype, result):
    """Measure persistent blocks of several shapes."""
    x, out = numbers(28, dtype), cuda.device_array(LARGE, result)
    num_bytes = LARGE * (x.dtype.itemsize + out.dtype.itemsize)
    copy = copy_time(num_bytes, repeats=15)
    for threads, items, stages, blocks in RINGS[out.dtype.itemsize]:
        policy = device.ScanPolicy(threads=threads, items=items, stages=stages, blocks=blocks, ring_from=0)
        call = wk.prepare(device.cumsum, x, dtype=result, out=out, policy=policy)
        name = f"{x.dtype} to {out.dtype} 2^28: {threads} threads, {items} items, {stages} stages, {blocks} a processor"
        report.rows.append(Row(name, queued_time(call, repeats=12), num_bytes=num_bytes, copy=copy))


def tiles(report, dtype, result):
    """Measure blocks of a tile each of several shapes, and where rings overtake them."""
    x, out = numbers(max(FEW), dtype), cuda.device_array(1 << max(FEW), result)
    chosen = policy_for(machine.properties().compute_capability, x.dtype, out.dtype)
    tiles = {
        "ring_from": 1 << 40,
        "one_threads": 32,
        "one_items": 1,
        "large_items": 1,
        "sweep_until": 0,
        "look_until": 0,
    }
    few = {f"{threads} × {items}": device.ScanPolicy(tile_threads=threads, tile_items=items, **tiles)
           for threads, items in TILES}  # fmt: skip
    few["chosen"] = chosen
    few["ring"] = device.ScanPolicy(threads=chosen.threads, items=chosen.items, stages=chosen.stages, ring_from=0)
    for name, policy in few.items():
        for exponent in FEW:
            n = 1 << exponent
            call = wk.prepare(device.cumsum, x[:n], dtype=result, out=out[:n], policy=policy)
            report.rows.append(Row(f"{x.dtype} to {out.dtype} 2^{exponent}: {name}", graph_time(call, repeats=10)))


def run(report):
    """Fill the report."""
    pairs = [(measure, *dtypes) for measure in (rings, tiles) for dtypes in DTYPES]
    for measure, dtype, result in report.cases(pairs, lambda pair: f"{pair[0].__name__}, {np.dtype(pair[1])}"):
        with report.attempt(f"{measure.__name__}, {np.dtype(dtype)}"):
            measure(report, dtype, result)
