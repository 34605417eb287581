"""Claims: what an optimisation guide says is faster, each measured before and after on this GPU.

"Ours" is the code after the change, the peer the code before it; both give the same result, which is compared with
NumPy's. A ratio above 1 means that the claim does not hold here. The claims are those of LuisaCompute's optimisation
guide (its sections are named), of a note on CUDA memory, and of a change to a `parallel_for` in CUDA C++.
"""

import functools

import numpy as np
from numba import cuda

from . import claim_copies as copies
from . import claim_kernels as kernels
from . import claim_lists as lists
from . import claim_ranges as ranges
from .claim_pairs import BLOCK, CLAIMS, LARGE, SIMULATED
from .harness import Row
from .mode import MODE
from .timing import fill, queued_time


@functools.cache
def values(size):
    """Return integers from 0 to 1023, all of them about as often."""
    return np.random.default_rng(33).integers(0, 1024, size, np.int32)


def shaped(claim, x):
    """Return x as the claim's kernels take it."""
    return x.reshape(int(x.size**0.5), -1) if claim.square else x


def sides(claim, size):
    """Return both kernels with their grids, and what puts their results in order."""
    if claim.square:
        edge = int(size**0.5) // 32
        grids = ((edge, edge), (edge, edge))
    else:
        grids = ((size // claim.columns // BLOCK, claim.columns), size // (BLOCK * claim.items))
    return ((claim.before, grids[0], claim.arranged), (claim.after, grids[1], lambda out: out))


def measure(claim, x):
    """Return the times before and after; ValueError when one of them gives another result than NumPy."""
    times, expected = [], claim.expected(x)
    source, out = cuda.to_device(x), cuda.device_array(expected.shape, expected.dtype)
    for (kernel, grid, arranged), side in zip(sides(claim, x.size), ("before", "after")):
        fill(out, 0xFF)
        times.append(queued_time(lambda stream: kernel[grid, claim.block, stream](source, out)))  # noqa: B023
        if not np.array_equal(arranged(out.copy_to_host()), expected):
            raise ValueError(f"wrong values {side}")
    return times


QUEUES = (
    (
        "guide 4.3: a global atomic an item → a shared one an item, a global one a block",
        kernels.queue_by_shared,
        "All meet at one address. The compiler has made one atomic a warp of one an item; now it is one a block.",
    ),
    (
        "guide 4.3: a global atomic an item → block_queue_push_if",
        kernels.queue_after,
        "As above; the votes of the warps are in the library's code and not left to the compiler.",
    ),
)


def measure_queue(kernel, x):
    """Return the time of one launch into an empty queue; ValueError when other items are in it."""
    passing = x[x < kernels.LIMIT]
    source, buffer = cuda.to_device(x), cuda.device_array(passing.size, np.int32)
    counter, empty = cuda.to_device(np.zeros(1, np.int32)), cuda.to_device(np.zeros(1, np.int32))

    def launch(stream):
        kernel[x.size // BLOCK, BLOCK, stream](source, buffer, counter)

    def cover(stream):
        launch(stream)
        counter.copy_to_device(empty, stream=stream)

    counter.copy_to_device(empty)
    fill(buffer, 0xFF)
    taken = queued_time(launch, before=cover)
    if counter.copy_to_host()[0] != passing.size or not same_items(buffer.copy_to_host(), passing):
        raise ValueError("the queue does not hold the items that pass")
    return taken


def same_items(found, expected):
    """Return whether two arrays hold the same items, in whatever order."""
    return np.array_equal(np.sort(found), np.sort(expected))


def add(report, name, before, after, why, num_bytes=None):
    """Add the row of a claim, and why it is so or that it is not."""
    row = Row(name, after, before, num_bytes=num_bytes, goal=1, note=why)
    report.rows.append(row)
    report.notes.append(
        f"{name}: {why}"
        if MODE.simulated or row.ratio <= 1
        else f"{name}: DOES NOT HOLD HERE ({row.ratio:.2f} ×). {why}"
    )


def run_kernels(claim, report):
    """Measure two kernels."""
    size = MODE.fewer(claim.size, claim.size, max(SIMULATED, BLOCK * claim.columns))
    before, after = measure(claim, shaped(claim, values(size)))
    add(report, claim.name, before, after, claim.why)


def run_queues(report):
    """Measure queues."""
    x = values(MODE.fewer(LARGE, LARGE, SIMULATED))
    before = measure_queue(kernels.queue_before, x)
    for name, kernel, why in QUEUES:
        add(report, name, before, measure_queue(kernel, x), why)


def run_transfers(report):
    """Measure the copies between host and GPU."""
    x = values(MODE.fewer(LARGE, LARGE, SIMULATED))
    pageable, pinned, from_pageable, from_pinned, overlapped = copies.measure_transfers(x)
    why = "From pageable memory the driver copies twice, the first time with the processor."
    add(report, "memory note: upload from pageable → pinned memory", pageable, pinned, why, x.nbytes)
    why = "As for the upload alone, and both ways."
    title = "memory note: upload, work, download from pageable → pinned memory"
    add(report, title, from_pageable, from_pinned, why, 2 * x.nbytes)
    why = "The two directions have a copy engine each, so that at best the longer of them is what takes time."
    title = f"memory note: pinned, in order → in {copies.CHUNKS} parts on two streams"
    add(report, title, from_pinned, overlapped, why, 2 * x.nbytes)


def measured(report, pair):
    """Measure a pair of another module: its name, its reason, and a function that gives both times."""
    add(report, pair.name, *pair.times(), pair.why)


def parts():
    """Return what is measured: names, and functions of the report."""
    found = [(claim.name, functools.partial(run_kernels, claim)) for claim in CLAIMS]
    found += [("guide 4.3: queues", run_queues), ("memory note: transfers", run_transfers)]
    others = (*lists.pairs(), *ranges.pairs())
    return found + [(pair.name, functools.partial(measured, pair=pair)) for pair in others]


def run(report):
    """Measure every claim; one that fails is an error of the report and costs the others nothing."""
    for name, part in report.cases(parts(), lambda part: part[0]):
        try:
            part(report)
        except Exception as error:
            report.errors.append(f"{name}: {type(error).__name__}: {error}")
    report.notes.append("ours: after the change, peer: before it; results compared with NumPy's, equal to the bit")
    report.notes.append("kernels: one launch that waits on the stream behind another, ranges: in a graph of 20")
    report.notes.append("transfers and submissions: the host's clock, until the GPU has done them")
