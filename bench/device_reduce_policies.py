"""Which policy is fastest: what `warpkit/device/reduce_policy.py` is chosen from. No goals.

Few items, of 1, 4 and 8 bytes: one block or several, how many threads, how many reads each; for every size the best of
one block, the best of several, the best of the kernel for any number, and the default, all beside the best of all. Then
many items: threads, reads in flight and waves. A minute in all: what policies share is compiled once.
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

DTYPES = (np.float32, np.int64, np.float64, np.uint8)
SIZES = (4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20)
THREADS, FEW_LOADS, LOADS, LEAST = (128, 256, 512, 1024), (1, 2, 4, 8), (4, 8), (1, 2, 4)
LARGE = ((np.float32, 28), (np.float32, 24), (np.float64, 28), (np.uint8, 28))
WAYS = tuple(itertools.product((128, 256, 512), LOADS, (1, 2)))
REPEATS = 10


def alone(reads):
    """Return {name: policy} of single blocks for so many reads, each thread reading once."""
    found = {}
    for threads, loads in itertools.product(THREADS, FEW_LOADS):
        if reads <= threads * loads <= max(64 * reads, 1 << 10):
            policy = device.ReducePolicy(few_threads=threads, few_loads=loads, single_loads=1 << 20)
            found[f"one block, {threads} threads, {loads} loads"] = policy
    return found


def several(reads):
    """Return {name: policy} of several blocks for so many reads, each thread reading once."""
    found = {}
    for threads, loads in itertools.product(THREADS, FEW_LOADS):
        if threads * loads < reads <= 128 * threads * loads:
            policy = device.ReducePolicy(threads=threads, loads=loads, single_loads=1, few_until=1 << 24)
            found[f"blocks of {threads} threads, {loads} loads"] = policy
    return found


def of_any_number(reads):
    """Return {name: policy} of grids of the kernel of any number of items."""
    found = {}
    for threads, least in itertools.product(THREADS[:3], LEAST):
        if reads > threads * least:
            policy = device.ReducePolicy(threads=threads, least_loads=least, single_loads=1, few_until=0)
            found[f"a grid, {threads} threads, {least} loads each"] = policy
    return found


def timed(array, out, policy, right):
    """Return the time of a sum with such a policy; ValueError when it is wrong."""
    call = wk.prepare(device.sum, array, out=out, policy=policy)
    taken = graph_time(call, repeats=REPEATS)
    found = out.copy_to_host()[0]
    if found != right:
        raise ValueError(f"{found} instead of {right}")
    return taken


def small(report, dtype, exponent):
    """Sweep one size; the rows are the default and the best of each kind, beside the best of all."""
    array, out = numbers(exponent, dtype), cuda.device_array(1, np.float64)
    right = array.copy_to_host().sum(dtype=np.float64)
    reads = max(1, array.nbytes // 16)
    kinds = [{"default": None}, alone(reads), several(reads), of_any_number(reads)]
    times = [{name: timed(array, out, policy, right) for name, policy in kind.items()} for kind in kinds]
    best = min(min(measured.values()) for measured in times if measured)
    for measured in times:
        if measured:
            name = min(measured, key=measured.get)
            report.rows.append(Row(f"{np.dtype(dtype)} 2^{exponent}, {reads} reads: {name}", measured[name], best))


def large(report, dtype, exponent):
    """Sweep grids over many items; the rows are the default and the best three."""
    array, out, items = numbers(exponent, dtype), cuda.device_array(1, np.float64), 1 << exponent
    measured = {"default": queued_time(in_turn(device.sum, array, items, out), repeats=REPEATS)}
    for threads, loads, waves in WAYS:
        policy = device.ReducePolicy(threads=threads, loads=loads, waves=waves)
        call = wk.prepare(device.sum, array, out=out, policy=policy)
        measured[f"{threads} threads, {loads} loads, {waves} waves"] = queued_time(call, repeats=REPEATS)
    copy, best = copy_time(array.nbytes), min(measured.values())
    for name in ["default", *sorted(measured, key=measured.get)[:3]]:
        title = f"{np.dtype(dtype)} 2^{exponent}: {name}"
        report.rows.append(Row(title, measured[name], best, num_bytes=array.nbytes, copy=copy))


def run(report):
    """Fill the report; a size that fails is an error of the report and costs the others nothing."""
    for dtype in DTYPES:
        print(f"  {np.dtype(dtype)}", file=sys.stderr, flush=True)
        for exponent in SIZES:
            attempt(report, small, dtype, exponent)
    for dtype, exponent in LARGE:
        print(f"  {np.dtype(dtype)} 2^{exponent}", file=sys.stderr, flush=True)
        attempt(report, large, dtype, exponent)
    report.notes.append("peer: the best of all policies that were tried for that size; small: a graph of 100 calls")


def attempt(report, measure, dtype, exponent):
    """Measure one size."""
    with report.attempt(f"{np.dtype(dtype)} 2^{exponent}"):
        measure(report, dtype, exponent)
