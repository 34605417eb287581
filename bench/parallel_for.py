"""Loops over ranges: device time beside hand-written CUDA C++ (cuda/parallel_for.cu), host time beside a raw launch.

Goals: copies of 2 M items within 5 % of hand-written, of 64 M within 2 %; odd extents and stepped ranges, of three and
four dimensions, within 15 %; a table read by a run-time index no slower, without local memory; sums of 2^28 float32 at
95 % of `device.sum`; a prepared call at 1.3 times a raw launch built before, a one-shot call at 3 times.
2 M items are timed in a graph of 100 calls, 64 M in one call that waits on the stream behind another.
"""

import sys

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit import device
from warpkit.host.parallel_kernels import THREADS
from warpkit.simt import machine
from warpkit.simt.specs import scalar_spec

from .harness import Row
from .launch import raw_launch
from .peers import Peer
from .timing import copy_time, graph_time, host_time, queued_time

SMALL = 1 << 24
"""Items below which a call is timed in a graph."""
EXACT = 1 << 22
"""Elements of an array up to which a copy is compared with NumPy's."""


def copy_1(i, x, y):
    """Copy an item."""
    y[i] = x[i]


def copy_2(i, j, x, y):
    """Copy an item."""
    y[i, j] = x[i, j]


def copy_3(i, j, k, x, y):
    """Copy an item."""
    y[i, j, k] = x[i, j, k]


def copy_4(i, j, k, m, x, y):
    """Copy an item."""
    y[i, j, k, m] = x[i, j, k, m]


COPIES = (copy_1, copy_2, copy_3, copy_4)


def axis(begin, step, count):
    """Return the dimension begin, begin + step, …: `count` of them."""
    return range(begin, begin + step * count, step)


# Name as the peer prints it, range, shape of the arrays, largest ratio.
CASES = [
    ("copy 2M, 1-D", 1 << 21, None, 1.05),
    ("copy 2M, 1024 x 2048", (1024, 2048), None, 1.05),
    ("copy 2M, 128 x 128 x 128", (128, 128, 128), None, 1.05),
    ("copy 64M, 1-D", 1 << 26, None, 1.02),
    ("copy 64M, 8192 x 8192", (8192, 8192), None, 1.02),
    ("copy 64M, 512 x 256 x 512", (512, 256, 512), None, 1.02),
    ("odd 2M, 127 x 129 x 131", (127, 129, 131), None, 1.15),
    ("odd 64M, 401 x 409 x 411", (401, 409, 411), None, 1.15),
    ("odd 2M, 37 x 39 x 37 x 41", (37, 39, 37, 41), None, 1.15),
    ("odd 64M, 89 x 91 x 93 x 91", (89, 91, 93, 91), None, 1.15),
    ("stepped 2M, 3-D", (axis(1, 2, 127), axis(2, 3, 129), axis(3, 2, 131)), (255, 387, 264), 1.15),
    ("stepped 64M, 3-D", (axis(1, 2, 401), axis(2, 1, 409), axis(3, 2, 411)), (802, 411, 824), 1.15),
    ("stepped 2M, 4-D", (axis(1, 2, 37), axis(0, 3, 39), axis(2, 1, 37), axis(1, 2, 41)), (75, 117, 39, 83), 1.15),
    ("stepped 64M, 4-D", (axis(1, 2, 89), axis(0, 1, 91), axis(2, 1, 93), axis(1, 2, 91)), (179, 91, 95, 183), 1.15),
]


def dimensions(given):
    """Return a range as one Python range a dimension."""
    parts = given if isinstance(given, tuple) else (given,)
    return [part if isinstance(part, range) else range(part) for part in parts]


def taken(call, items):
    """Return the device time of a prepared call."""
    return graph_time(call) if items < SMALL else queued_time(call)


def copies(report, case, given, shape, goal, found):
    """Measure one copy; ValueError when it copies something else."""
    parts = dimensions(given)
    shape, items = shape or tuple(map(len, parts)), int(np.prod([len(part) for part in parts]))
    size = int(np.prod(shape))
    pattern = np.arange(min(size, EXACT), dtype=np.float32)
    x, y = cuda.device_array(size, np.float32), cuda.device_array(size, np.float32)
    for start in range(0, size, len(pattern)):
        x[start : start + len(pattern)].copy_to_device(pattern[: size - start])
        y[start : start + len(pattern)].copy_to_device(np.zeros(min(len(pattern), size - start), np.float32))
    x, y = x.reshape(shape), y.reshape(shape)
    call = wk.prepare(wk.parallel_for, given, COPIES[len(parts) - 1], x, y)
    call()
    check(case, x, y, parts)
    ours, num_bytes = taken(call, items), 8 * items
    report.rows.append(Row(case, ours, found.get(case), num_bytes=num_bytes, copy=copy_time(num_bytes), goal=goal))
    if goal < 1.1:
        report.rows.append(Row(f"for comparison: {case}, one item a thread", taken(one_each(call, items), items), ours))


def check(case, x, y, parts):
    """Compare planes of a copy with what they should be; of one dimension the whole, or both ends."""
    if len(parts) == 1:
        ends = [slice(None)] if x.size <= EXACT else [slice(0, EXACT), slice(x.size - EXACT, x.size)]
        for end in ends:
            if not np.array_equal(x[end].copy_to_host(), y[end].copy_to_host()):
                raise ValueError(f"{case}: not the copy that it should be")
        return
    for k in {int(k) for k in np.linspace(0, len(parts[0]) - 1, 9)}:
        plane = parts[0][k]
        source, target = (array[plane : plane + 1].copy_to_host()[0] for array in (x, y))
        right, places = np.zeros_like(source), np.ix_(*map(list, parts[1:]))
        right[places] = source[places]
        if not np.array_equal(target, right):
            raise ValueError(f"{case}: plane {plane} is not the copy that it should be")


def one_each(call, items):
    """Return a prepared call's kernel launched with one item a thread, which asks for each."""
    step = call.steps[0]
    full, tile = (machine.scalar_payload(scalar_spec(np.uint32), value) for value in (0, THREADS))
    payloads = [step.payloads[0], full, tile, *step.payloads[3:]]
    grid = (-(-items // THREADS), 1, 1)
    again = step.kernel.bind(grid, step.block, 0, payloads)
    return lambda stream: again(int(stream))


def tables(report, found):
    """Measure bodies that read a captured table by a run-time index."""
    for num_bytes in (2048, 8192):
        entries = num_bytes // 4
        table = cuda.to_device(np.arange(entries, dtype=np.float32))
        mask = entries - 1

        def look_up(i, y):
            y[i] = table[i * 37 & mask]  # noqa: B023 (measured before the loop goes on)

        for items, label in ((1 << 12, "4K"), (1 << 21, "2M")):
            y = cuda.device_array(items, np.float32)
            call = wk.prepare(wk.parallel_for, items, look_up, y)
            call()
            if not np.array_equal(y.copy_to_host(), (np.arange(items) * 37 & mask).astype(np.float32)):
                raise ValueError("a table is read wrongly")
            local = call.steps[0].kernel.local_bytes
            if local:
                report.errors.append(f"a table of {num_bytes} bytes costs {local} bytes of local memory")
            ours, name = taken(call, items), f"table of {num_bytes >> 10} KB, {label}"
            for where in ("parameters", "memory"):
                peer = found.get(f"{name}, {where}")
                report.rows.append(Row(f"{name}; peer: table in {where}", ours, peer, num_bytes=4 * items, goal=1.0))


def sums(report):
    """Measure sums of 2^28 float32 beside `device.sum`."""
    items = 1 << 28
    x = cuda.to_device(np.arange(1 << 20, dtype=np.float32) % 4)
    whole = cuda.device_array(items, np.float32)
    for start in range(0, items, x.size):
        whole[start : start + x.size].copy_to_device(x)
    out = cuda.device_array(1, np.float32)
    right = 1.5 * items
    peer = wk.prepare(device.sum, whole, out=out)
    peer_time, copy = queued_time(peer), copy_time(4 * items)
    for name, given, array, body in (
        ("1-D", items, whole, lambda i, x: x[i]),
        ("2-D", (1 << 14, 1 << 14), whole.reshape(1 << 14, 1 << 14), lambda i, j, x: x[i, j]),
        ("3-D", (512, 1024, 512), whole.reshape(512, 1024, 512), lambda i, j, k, x: x[i, j, k]),
    ):
        call = wk.prepare(wk.parallel_reduce_sum, given, body, array, out=out)
        call()
        if abs(float(out.copy_to_host()[0]) - right) > 1e-3 * right:
            raise ValueError(f"the sum is {out.copy_to_host()[0]} instead of {right}")
        goal = None if name == "2-D" else 1 / 0.95
        case = f"parallel_reduce_sum 2^28, {name}; peer: device.sum"
        report.rows.append(Row(case, queued_time(call), peer_time, num_bytes=4 * items, copy=copy, goal=goal))
    later = wk.prepare(wk.parallel_reduce, items, lambda i, x: x[i], lambda a, b: a + b, 0.0, whole, out=out)
    case = "parallel_reduce 2^28 in order, a user's a + b; peer: device.sum"
    report.rows.append(Row(case, queued_time(later), peer_time, num_bytes=4 * items, copy=copy))


def add_up(i, x, y, z):
    """The least work with three arrays."""
    z[i] = x[i] + y[i]


def host(report):
    """Measure what calls with three arrays cost the host."""
    x, y, z = (cuda.to_device(np.zeros(1024, np.float32)) for _ in range(3))
    call = wk.prepare(wk.parallel_for, 1024, add_up, x, y, z)
    peer = host_time(raw_launch(call.steps[0]))
    report.rows.append(Row("host, prepared", host_time(call), peer, goal=1.3))
    ours = host_time(lambda: wk.parallel_for(1024, add_up, x, y, z))
    report.rows.append(Row("host, one-shot", ours, peer, goal=3))
    cube = [array.reshape(8, 8, 16) for array in (x, y, z)]
    report.rows.append(Row("host, one-shot, 3-D", host_time(lambda: wk.parallel_for((8, 8, 16), add_3, *cube)), peer))

    def captured(i):
        z[i] = x[i] + y[i]

    report.rows.append(Row("host, one-shot, captured arrays", host_time(lambda: wk.parallel_for(1024, captured)), peer))
    out = cuda.device_array(1, np.float32)
    ours = host_time(lambda: wk.parallel_reduce_sum(1024, lambda i, x: x[i], x, out=out))
    report.rows.append(Row("host, parallel_reduce_sum with out, a new lambda each time", ours, peer))


def add_3(i, j, k, x, y, z):
    """The least work with three arrays of three axes."""
    z[i, j, k] = x[i, j, k] + y[i, j, k]


def run(report):
    """Fill the report; a part that fails is an error of the report and costs the others nothing."""
    peer = Peer("parallel_for", cuda.get_current_device().compute_capability)
    try:
        found = peer.results()
    except RuntimeError as error:
        report.errors.append(str(error))
        found = {}
    if not peer.built:
        report.notes.append(peer.missing)
    parts = [(case[0], lambda case=case: copies(report, *case, found)) for case in CASES]
    parts += [("tables", lambda: tables(report, found)), ("sums", lambda: sums(report)), ("host", lambda: host(report))]
    for name, part in parts:
        print(f"  {name}", file=sys.stderr, flush=True)
        try:
            part()
        except Exception as error:
            report.errors.append(f"{name}: {type(error).__name__}: {error}")
