"""Which policy is fastest: what `warpkit/device/reduce_policy.py` is chosen from. No goals.

Large sizes: threads, loads in flight, waves. Small ones: how many loads one block does, and with how many threads.
"""

import itertools
import sys

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

from .device_reduce import in_turn, numbers
from .harness import Row
from .timing import copy_time, graph_time, queued_time

LARGE = tuple(itertools.product((128, 256, 512), (2, 4, 8), (1, 2, 5)))
SINGLE = tuple(itertools.product((128, 256, 512, 1024), (2, 4, 8)))
GRIDS = tuple(itertools.product((128, 256, 512), (1, 2, 4)))


def best(report, title, measured, copy=None, num_bytes=None):
    """Add the best few and the default's place."""
    ranked = sorted(measured.items(), key=lambda pair: pair[1])
    for name, taken in ranked[:5]:
        report.rows.append(Row(f"{title}: {name}", taken, copy=copy, num_bytes=num_bytes))
    default = measured.get("default")
    if default is not None:
        report.rows.append(Row(f"{title}: default, beside the best", default, ranked[0][1]))


def large(report, dtype, exponent):
    """Sweep grids over many items."""
    array, out, items = numbers(exponent, dtype), cuda.device_array(1, np.float64), 1 << exponent
    measured = {"default": queued_time(in_turn(device.sum, array, items, out), repeats=15)}
    for threads, loads, waves in LARGE:
        policy = device.ReducePolicy(threads=threads, loads=loads, waves=waves)
        work = wk.prepare(device.sum, array, out=out, policy=policy)
        measured[f"{threads} threads, {loads} loads, {waves} waves"] = queued_time(work, repeats=15)
    num_bytes = items * array.dtype.itemsize
    best(report, f"sum {np.dtype(dtype)} 2^{exponent}", measured, copy_time(num_bytes), num_bytes)


def small(report, dtype, exponent):
    """Sweep single blocks and small grids over few items."""
    array, out = numbers(exponent, dtype), cuda.device_array(1, np.float64)
    measured = {"default": graph_time(wk.prepare(device.sum, array, out=out), repeats=10)}
    for threads, loads in SINGLE:
        policy = device.ReducePolicy(loads=loads, single_threads=threads, single_loads=1 << 20)
        call = wk.prepare(device.sum, array, out=out, policy=policy)
        measured[f"one block, {threads} threads, {loads} loads"] = graph_time(call, repeats=10)
    for threads, least in GRIDS:
        policy = device.ReducePolicy(threads=threads, least_loads=least, single_loads=1)
        call = wk.prepare(device.sum, array, out=out, policy=policy)
        measured[f"a grid, {threads} threads, {least} loads each"] = graph_time(call, repeats=10)
    best(report, f"sum {np.dtype(dtype)} 2^{exponent}", measured)


def run(report):
    """Fill the report."""
    for dtype, exponent in ((np.float32, 28), (np.uint8, 30), (np.float64, 28), (np.float16, 28), (np.float32, 24)):
        print(f"  {np.dtype(dtype)} 2^{exponent}", file=sys.stderr, flush=True)
        large(report, dtype, exponent)
    for exponent in (0, 8, 10, 12, 13, 14, 15, 16, 18):
        print(f"  float32 2^{exponent}", file=sys.stderr, flush=True)
        small(report, np.float32, exponent)
