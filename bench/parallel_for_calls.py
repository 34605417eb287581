"""Sums over ranges beside `device.sum`, and what loops cost the host beside a raw launch: parts of parallel_for.py."""

import functools

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device

from .harness import Row
from .launch import raw_launch
from .timing import copy_time, host_time, queued_time

copied = functools.cache(copy_time)


@functools.cache
def summed():
    """Return 2^28 items, their sum, a place for sums, the time of `device.sum` and that of a copy."""
    items = 1 << 28
    whole, out = cuda.device_array(items, np.float32), cuda.device_array(1, np.float32)
    have = 1 << 20
    whole[:have].copy_to_device(np.arange(have, dtype=np.float32) % 4)
    while have < items:
        whole[have : 2 * have].copy_to_device(whole[:have])
        have *= 2
    peer = wk.prepare(device.sum, whole, out=out)
    return whole, 1.5 * items, out, queued_time(peer), copied(4 * items)


SUMS = {
    "1-D": ((1 << 28,), lambda i, x: x[i], 1 / 0.95),
    "2-D": ((1 << 14, 1 << 14), lambda i, j, x: x[i, j], None),
    "3-D": ((512, 1024, 512), lambda i, j, k, x: x[i, j, k], 1 / 0.95),
}


def sums(report, name):
    """Measure a sum of 2^28 float32 beside `device.sum`."""
    whole, right, out, peer, copy = summed()
    shape, body, goal = SUMS[name]
    call = wk.prepare(wk.parallel_reduce_sum, shape, body, whole.reshape(shape), out=out)
    call()
    found = float(out.copy_to_host()[0])
    if abs(found - right) > 1e-3 * right:
        raise ValueError(f"the sum is {found} instead of {right}")
    case = f"parallel_reduce_sum 2^28, {name}; peer: device.sum"
    report.rows.append(Row(case, queued_time(call), peer, num_bytes=whole.nbytes, copy=copy, goal=goal))


def sum_in_order(report):
    """Measure a reduction by a user's operator, which keeps the order, beside `device.sum`."""
    whole, right, out, peer, copy = summed()
    call = wk.prepare(wk.parallel_reduce, whole.size, lambda i, x: x[i], lambda a, b: a + b, 0.0, whole, out=out)
    call()
    found = float(out.copy_to_host()[0])
    if abs(found - right) > 1e-3 * right:
        raise ValueError(f"the sum is {found} instead of {right}")
    case = "parallel_reduce 2^28 in order, a user's a + b; peer: device.sum"
    report.rows.append(Row(case, queued_time(call), peer, num_bytes=whole.nbytes, copy=copy))


def add_up(i, x, y, z):
    """The least work with three arrays."""
    z[i] = x[i] + y[i]


def add_3(i, j, k, x, y, z):
    """The least work with three arrays of three axes."""
    z[i, j, k] = x[i, j, k] + y[i, j, k]


@functools.cache
def small():
    """Return three arrays, a prepared loop over them, and the time of a raw launch of the same kernel."""
    arrays = [cuda.to_device(np.zeros(1024, np.float32)) for _ in range(3)]
    call = wk.prepare(wk.parallel_for, 1024, add_up, *arrays)
    return arrays, call, host_time(raw_launch(call.steps[0]))


def hosts():
    """Return what calls with three arrays are timed on the host: name, function that makes one, largest ratio."""

    def one_shots():
        x, y, z = small()[0]
        return lambda: wk.parallel_for(1024, add_up, x, y, z)

    def captured():
        x, y, z = small()[0]

        def body(i):
            z[i] = x[i] + y[i]

        return lambda: wk.parallel_for(1024, body)

    def cubes():
        arrays = [array.reshape(8, 8, 16) for array in small()[0]]
        return lambda: wk.parallel_for((8, 8, 16), add_3, *arrays)

    def new_lambdas():
        x, out = small()[0][0], cuda.device_array(1, np.float32)
        return lambda: wk.parallel_reduce_sum(1024, lambda i, x: x[i], x, out=out)

    return [
        ("host, prepared", lambda: small()[1], 1.3),
        ("host, one-shot", one_shots, 3),
        ("host, one-shot, 3-D", cubes, None),
        ("host, one-shot, captured arrays", captured, None),
        ("host, parallel_reduce_sum with out, a new lambda each time", new_lambdas, None),
    ]


def host(report, name, make, goal):
    """Measure what one kind of calls costs the host."""
    report.rows.append(Row(name, host_time(make()), small()[2], goal=goal))
