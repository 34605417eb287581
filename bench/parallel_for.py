"""Loops over ranges: device time beside hand-written CUDA C++ (cuda/parallel_for.cu), host time beside a raw launch.

Goals: copies of 2 M items within 5 % of hand-written, of 64 M within 2 %; odd extents and stepped ranges, of three and
four dimensions, within 15 %; a table read by a run-time index no slower, without local memory; sums of 2^28 float32 at
95 % of `device.sum`; a prepared call at 1.3 times a raw launch built before, a one-shot call at 3 times.
2 M items are timed in a graph of 100 calls, 64 M in one call that waits on the stream behind another. The peer is one
source and one compilation, which goes on in the background until its first figure is needed.
"""

import functools

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.host.parallel_kernels import THREADS
from warpkit.simt import machine
from warpkit.simt.specs import scalar_spec

from .harness import Row
from .parallel_for_calls import SUMS, copied, host, hosts, sum_in_order, sums
from .peers import Peer
from .timing import graph_time, queued_time

SMALL = 1 << 24
"""Items below which a call is timed in a graph."""
EXACT = 1 << 22
"""Elements of an array up to which a copy is compared with NumPy's."""
MOST = 802 * 411 * 824
"""Elements of the largest array."""


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


@functools.cache
def memory(size):
    """Return two arrays of `size` items, the first with 0, 1, 2 … of which every `EXACT` are alike."""
    x, y = cuda.device_array(size, np.float32), cuda.device_array(size, np.float32)
    have = min(size, EXACT)
    x[:have].copy_to_device(np.arange(have, dtype=np.float32))
    while have < size:  # by powers of two, on the device
        more = min(have, size - have)
        x[have : have + more].copy_to_device(x[:more])
        have += more
    return x, y


def copies(report, case, given, shape, goal, found):
    """Measure one copy; ValueError when it copies something else."""
    parts = dimensions(given)
    shape, items = shape or tuple(map(len, parts)), int(np.prod([len(part) for part in parts]))
    size = int(np.prod(shape))
    x, y = (array[:size] for array in memory(max(MOST, size)))
    machine.clear(y)
    x, y = x.reshape(shape), y.reshape(shape)
    call = wk.prepare(wk.parallel_for, given, COPIES[len(parts) - 1], x, y)
    call()
    check(case, x, y, parts)
    ours, num_bytes = taken(call, items), 8 * items
    peer = found().get(case)
    report.rows.append(Row(case, ours, peer, num_bytes=num_bytes, copy=copied(num_bytes), goal=goal))
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


def tables(report, num_bytes, found):
    """Measure a body that reads a captured table by a run-time index."""
    entries = num_bytes // 4
    table = cuda.to_device(np.arange(entries, dtype=np.float32))
    mask = entries - 1

    def look_up(i, y):
        y[i] = table[i * 37 & mask]

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
            peer = found().get(f"{name}, {where}")
            report.rows.append(Row(f"{name}; peer: table in {where}", ours, peer, num_bytes=4 * items, goal=1.0))


def run(report):
    """Fill the report; a part that fails is an error of the report and costs the others nothing."""
    peer = Peer("parallel_for", cuda.get_current_device().compute_capability)

    found = functools.cache(lambda: peer.beside(report))
    parts = [(f"sum, {name}", functools.partial(sums, report, name)) for name in SUMS]  # while the peer is compiled
    parts += [("sum in order", functools.partial(sum_in_order, report))]
    parts += [(case[0], functools.partial(copies, report, *case, found)) for case in CASES]
    parts += [(f"table of {size} bytes", functools.partial(tables, report, size, found)) for size in (2048, 8192)]
    parts += [(case[0], functools.partial(host, report, *case)) for case in hosts()]
    for name, part in report.cases(parts, title=lambda part: part[0]):
        with report.attempt(name):
            part()
    if not peer.built:
        report.notes.append(peer.missing)
