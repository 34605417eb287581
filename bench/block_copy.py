"""Block floor: load–store kernels on 2^28 float32, beside a copy of as many bytes (goal: 95 % of its speed).

Every block moves one full tile: in the order of the threads (vectorized), so that neighbouring threads access
neighbouring items and hold them blocked (transposed: with 4 items one vector a thread, with more through shared memory
warp by warp), or by striped access with an exchange of the block there and back.
`python -m bench.block_copy` launches each kernel once on a smaller array, for a profiler: see conflicts.sh.
"""

from dataclasses import dataclass

import numpy as np
from numba import cuda

import warpkit as wk

from .harness import Row
from .mode import MODE
from .timing import copy_time, fill, queued_time

NUM_ITEMS = 1 << 28
PROFILED_ITEMS = 1 << 22
THREADS = 256
POOL, OWN = "8 KB pool", "own scratch"


def vectorized(items):
    """Build the kernel that loads and stores whole vectors, without shared memory."""
    tile = THREADS * items

    @cuda.jit
    def copy_vectorized(source, target):
        held = cuda.local.array(items, np.float32)
        base = cuda.blockIdx.x * tile
        wk.block_load_vectorized(held, source, base)
        wk.block_store_vectorized(held, target, base)

    return copy_vectorized


def transposed(items):
    """Build the kernel that transposes through the library's pool."""
    tile = THREADS * items

    @cuda.jit
    def copy_transposed(source, target):
        held = cuda.local.array(items, np.float32)
        base = cuda.blockIdx.x * tile
        wk.block_load_transposed(held, source, base)
        wk.block_store_transposed(held, target, base)

    return copy_transposed


def transposed_own(items):
    """Build the kernel that transposes through shared memory of its own, with room for the tile."""
    tile = THREADS * items

    @cuda.jit
    def copy_transposed_own(source, target):
        held = cuda.local.array(items, np.float32)
        scratch = cuda.shared.array(tile, np.float32)
        base = cuda.blockIdx.x * tile
        wk.block_load_transposed(held, source, base, scratch=scratch)
        wk.block_store_transposed(held, target, base, scratch=scratch)

    return copy_transposed_own


def exchanged(items):
    """Build the kernel that loads striped, exchanges to blocked and back through the pool, and stores striped."""
    tile = THREADS * items

    @cuda.jit
    def copy_exchanged(source, target):
        held = cuda.local.array(items, np.float32)
        base = cuda.blockIdx.x * tile
        wk.block_load_striped(held, source, base)
        wk.block_striped_to_blocked(held)
        wk.block_blocked_to_striped(held)
        wk.block_store_striped(held, target, base)

    return copy_exchanged


def exchanged_own(items):
    """Build the same as `exchanged` with shared memory of its own."""
    tile = THREADS * items

    @cuda.jit
    def copy_exchanged_own(source, target):
        held = cuda.local.array(items, np.float32)
        scratch = cuda.shared.array(tile, np.float32)
        base = cuda.blockIdx.x * tile
        wk.block_load_striped(held, source, base)
        wk.block_striped_to_blocked(held, scratch=scratch)
        wk.block_blocked_to_striped(held, scratch=scratch)
        wk.block_store_striped(held, target, base)

    return copy_exchanged_own


@dataclass(frozen=True)
class Case:
    """One kernel: `build(items)` for each of the `items` a thread."""

    name: str
    build: object
    items: tuple


CASES = (
    Case("vectorized", vectorized, (4, 8, 16)),
    Case(f"transposed, {POOL}", transposed, (4, 8, 16)),
    Case(f"transposed, {OWN}", transposed_own, (4, 8, 16)),
    Case(f"exchange, {POOL}", exchanged, (4, 8)),
    Case(f"exchange, {OWN}", exchanged_own, (4, 8, 16)),
)


def _measure(kernel, items, source, target, values):
    """Return the time of one launch; ValueError when the target differs from the source."""
    blocks = values.size // (THREADS * items)
    fill(target, 0xA5)
    taken = queued_time(lambda stream: kernel[blocks, THREADS, stream](source, target))
    found = target.copy_to_host()
    if not np.array_equal(found.view(np.uint32), values.view(np.uint32)):
        wrong = int(np.argmax(found.view(np.uint32) != values.view(np.uint32)))
        raise ValueError(f"wrong values, the first at {wrong}")
    return taken


def titled(case, items):
    """Return the name of a row."""
    return f"{case.name}, {THREADS} × {items}"


def run(report):
    """Measure every kernel; one that fails is an error of the report and costs the others nothing."""
    num_items = MODE.fewer(NUM_ITEMS, 1 << 26, 1 << 12)
    values = np.random.default_rng(28).random(num_items, np.float32)
    source, target = cuda.to_device(values), cuda.device_array(num_items, np.float32)
    num_bytes = 8 * num_items
    copy = copy_time(num_bytes)
    pairs = [(case, items) for case in CASES for items in case.items]
    for case, items in report.cases(pairs, lambda pair: titled(*pair)):
        with report.attempt(titled(case, items)):
            taken = _measure(case.build(items), items, source, target, values)
            report.rows.append(Row(titled(case, items), taken, copy, num_bytes=num_bytes, copy=copy, copy_goal=95))
    report.notes.append("peer: cudaMemcpyAsync of as many bytes; one block a tile of threads × items, full tiles only")
    report.notes.append("each time is of one call that waits on the stream behind another, so no launch is in it")


def main():
    """Launch every kernel once, compiled beforehand, on `PROFILED_ITEMS`."""
    source, target = cuda.to_device(np.zeros(PROFILED_ITEMS, np.float32)), cuda.device_array(PROFILED_ITEMS, np.float32)
    for case in CASES:
        for items in case.items:
            kernel = case.build(items)
            kernel[PROFILED_ITEMS // (THREADS * items), THREADS](source, target)
            cuda.synchronize()
            print(f"launched {case.name}, {THREADS} × {items}", flush=True)


if __name__ == "__main__":
    main()
