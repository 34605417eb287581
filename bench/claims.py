"""Claims: what an optimisation guide says is faster, each measured before and after on this GPU.

"Ours" is the code after the change, the peer the code before it; both give the same result, which is compared with
NumPy's. A ratio above 1 means that the claim does not hold here. The claims are those of LuisaCompute's optimisation
guide (its sections are named) and of a note on CUDA memory.
"""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from . import claim_copies as copies
from . import claim_kernels as kernels
from .harness import Row
from .mode import MODE
from .timing import fill, queued_time

LARGE, ROUNDED, SIMULATED = 1 << 26, 1 << 22, 1 << 10
"""Items: of kernels that read each once and do little more, of those that repeat an operation on it, of all in the
simulator."""
BLOCK = kernels.THREADS


@dataclass(frozen=True)
class Claim:
    """Two kernels `(x, out)` for the same result; `expected` computes it from x, `out` has its length and dtype."""

    name: str
    before: Any
    after: Any
    expected: Callable[[Any], Any]
    why: str
    size: int = LARGE
    items: int = 1  # a thread, after
    block: Any = BLOCK
    square: bool = False  # x is, and so is the grid, of tiles of 32 × 32
    columns: int = 1  # of the grid, before
    arranged: Callable[[Any], Any] = lambda out: out  # puts what the kernel before gives in the order of the other


def by_block(x):
    """Return the items, a row a block."""
    return x.reshape(-1, BLOCK)


def rounds(total, lane):
    """Return what a warp kernel's rounds add up to: an operation's result grows by `lane` from round to round."""
    return (kernels.ROUNDS * total + lane * sum(range(kernels.ROUNDS))).ravel().astype(np.float32)


def largest(x, lanes):
    """Return the rounds of a maximum over groups of lanes."""
    return rounds(np.repeat(x.reshape(-1, lanes).max(axis=1), lanes), 1)


def prefixes(x):
    """Return the rounds of an exclusive sum over warps."""
    warps = x.reshape(-1, 32)
    return rounds(np.cumsum(warps, axis=1) - warps, np.arange(32))


def block_sums(x):
    """Return the sum of each block, as float32."""
    return by_block(x).sum(axis=1).astype(np.float32)


CLAIMS = (
    Claim(
        "guide 3.1: a shared atomic +1 a thread → warp sum",
        kernels.count_before,
        kernels.count_after,
        lambda x: (by_block(x) < kernels.LIMIT).sum(axis=1, dtype=np.int32),
        "The compiler makes one instruction of it that counts the warp's lanes (ATOMS.POPC.INC): a barrier is left to "
        "save.",
    ),
    Claim(
        "guide 3.1: a shared atomic + value a thread → warp sum",
        kernels.add_before,
        kernels.add_after,
        lambda x: by_block(x).sum(axis=1, dtype=np.int32),
        "The compiler adds up the warp's values by itself (REDUX) and leaves one atomic a warp: a barrier and these "
        "are left to save.",
    ),
    Claim(
        "guide 3.2: tree in shared memory → two levels of warp sums",
        kernels.tree_before,
        kernels.tree_after,
        block_sums,
        "Eight barriers and eight passes through shared memory become one of each.",
    ),
    Claim(
        "guide 4.4 → 4.5: tree with two barriers a step → two levels (block_tree_sum → block_sum)",
        kernels.block_tree_before,
        kernels.block_tree_after,
        block_sums,
        "Eighteen barriers become two.",
    ),
    Claim(
        "guide 3.3: butterfly over a warp → built-in maximum",
        kernels.butterfly_before,
        kernels.butterfly_after,
        lambda x: largest(x, 32),
        "Five dependent shuffles become one reduction of integers, onto which the floats are mapped, on GPUs that have "
        "it (sm_80).",
        size=ROUNDED,
    ),
    Claim(
        "guide 3.3: butterfly over 8 lanes, which the guide keeps → built-in maximum, width=8",
        kernels.group_before,
        kernels.group_after,
        lambda x: largest(x, 8),
        "Both are three shuffles: here the call saves code, not time, and it orders NaN and the zeros besides.",
        size=ROUNDED,
    ),
    Claim(
        "guide 3.4: read every lower lane → prefix sum",
        kernels.reads_before,
        kernels.reads_after,
        prefixes,
        "31 shuffles become 6.",
        size=ROUNDED,
    ),
    Claim(
        "memory note: lanes read 32 items apart → neighbours",
        copies.strided_before,
        copies.coalesced,
        lambda x: x,
        "32 lanes that read 32 sectors of 32 bytes fetch eight times the bytes that they use.",
        columns=32,
        arranged=lambda out: out.reshape(32, -1).T.ravel(),
    ),
    Claim(
        "memory note: 4-byte loads and stores → 16-byte ones",
        copies.coalesced,
        copies.vectorized,
        lambda x: x,
        "A quarter of the instructions for the same bytes: where memory is the limit that alone is worth little.",
        items=4,
    ),
    Claim(
        "memory note: transpose through a tile of 32 × 32 → 32 × 33",
        copies.tile_before,
        copies.tile_after,
        lambda x: x.T,
        "A column of the 32 × 32 tile lies in one bank and is read in 32 turns, that of the padded one in one.",
        block=(32, 8),
        square=True,
    ),
)


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
    kept = buffer.copy_to_host()
    if counter.copy_to_host()[0] != passing.size or (np.bincount(kept, minlength=1024) != np.bincount(passing)).any():
        raise ValueError("the queue does not hold the items that pass")
    return taken


def add(report, name, before, after, why, num_bytes=None):
    """Add the row of a claim, and why it is so or that it is not."""
    row = Row(name, after, before, num_bytes=num_bytes, goal=1, note=why)
    report.rows.append(row)
    report.notes.append(
        f"{name}: {why}"
        if MODE.simulated or row.ratio <= 1
        else f"{name}: DOES NOT HOLD HERE ({row.ratio:.2f} ×). {why}"
    )


def run_transfers(report):
    """Measure the copies between host and GPU."""
    x = values(LARGE)
    pageable, pinned, from_pageable, from_pinned, overlapped = copies.measure_transfers(x)
    why = "From pageable memory the driver copies twice, the first time with the processor."
    add(report, "memory note: upload from pageable → pinned memory", pageable, pinned, why, x.nbytes)
    why = "As for the upload alone, and both ways."
    title = "memory note: upload, work, download from pageable → pinned memory"
    add(report, title, from_pageable, from_pinned, why, 2 * x.nbytes)
    why = "The two directions have a copy engine each, so that at best the longer of them is what takes time."
    title = f"memory note: pinned, in order → in {copies.CHUNKS} parts on two streams"
    add(report, title, from_pinned, overlapped, why, 2 * x.nbytes)


def run(report):
    """Measure every claim; one that fails is an error of the report and costs the others nothing."""
    for claim in report.cases(CLAIMS, lambda claim: claim.name):
        with report.attempt(claim.name):
            before, after = measure(claim, shaped(claim, values(MODE.fewer(claim.size, claim.size, SIMULATED))))
            add(report, claim.name, before, after, claim.why)
    if MODE.over() or MODE.simulated:
        return
    with report.attempt("queue"):
        x = values(LARGE)
        before = measure_queue(kernels.queue_before, x)
        for name, kernel, why in QUEUES:
            print(f"  {name}", file=sys.stderr, flush=True)
            add(report, name, before, measure_queue(kernel, x), why)
    with report.attempt("transfers"):
        run_transfers(report)
    report.notes.append("ours: after the change, peer: before it; results compared with NumPy's, equal to the bit")
    report.notes.append("kernels: one launch that waits on the stream behind another; transfers: the host's clock")
    report.notes.append("left out: what concerns parallel_for and CommandList (guide 7.5, and host costs of a launch)")
