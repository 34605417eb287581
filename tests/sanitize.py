"""Every block collective once, in few small launches, for a sanitizer: `python tests/sanitize.py [NAME …]`.

    compute-sanitizer --tool racecheck python tests/sanitize.py        (or memcheck, synccheck)

Compiling takes long under a sanitizer, so that collectives of a kind share a kernel; each runs in two blocks of whole
warps and in two with a partial one, and is compared with NumPy. Without a sanitizer it runs on a GPU or, smaller, with
NUMBA_ENABLE_CUDASIM=1 in the simulator. The exit status is 1 when a result was wrong.
"""

import pathlib
import sys
import time

import numpy as np
from numba import config, cuda

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import warpkit as wk
from tests.sanitized import (
    BINS,
    ITEMS,
    counting,
    folded,
    folding,
    last_nonzero,
    looking_back,
    moving,
    passing,
    pushing,
    pushing_items,
    reduced,
    reducing,
    reducing_grid,
    scanned,
    scanning,
    staging,
    sums,
    voted,
    voting,
)
from warpkit import device

SHAPES = (52,) if config.ENABLE_CUDASIM else (96, 100)
BLOCKS = 2


def data(count, seed):
    """Return numbers from 0 to 99, a third of them 0."""
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 100, count) * (rng.integers(0, 3, count) > 0)).astype(np.int32)


def run(kernel, threads, x, out, *more):
    """Launch two blocks; return what `out` holds afterwards."""
    found = cuda.to_device(out)
    kernel[BLOCKS, threads](cuda.to_device(x), *more, found)
    return found.copy_to_host()


def is_odd(value):
    """Say whether a number is odd."""
    return value % 2 == 1


def check(kernel, wanted, size=1):
    """Compare the rows of a kernel with `wanted(part of x of a block)`, for `size` items a thread."""
    for threads in SHAPES:
        x = data(BLOCKS * threads * size, threads)
        parts = np.split(x, BLOCKS)
        rows = [[np.broadcast_to(row, part.shape) for row in wanted(part)] for part in parts]
        right = np.concatenate(rows, axis=1)
        np.testing.assert_array_equal(run(kernel, threads, x, np.zeros(right.shape, np.int32)), right)


def moves():
    """Load, exchange, store: what was loaded, and what was scattered by rank."""
    for threads in SHAPES:
        x = data(BLOCKS * threads * ITEMS, threads)
        rng = np.random.default_rng(1)
        ranks = [rng.permutation(threads * ITEMS).astype(np.int32) for _ in range(BLOCKS)]
        scattered = [np.zeros_like(rank) for rank in ranks]
        for part, rank, target in zip(np.split(x, BLOCKS), ranks, scattered):
            target[rank] = part
        found = run(moving, threads, x, np.zeros((6, len(x)), np.int32), cuda.to_device(np.concatenate(ranks)))
        np.testing.assert_array_equal(found[:4], np.broadcast_to(x, (4, len(x))))
        np.testing.assert_array_equal(found[4:], np.broadcast_to(np.concatenate(scattered), (2, len(x))))


def counts():
    """A histogram a block."""
    for threads in SHAPES:
        x = data(BLOCKS * threads, threads)
        right = [np.bincount(part[part > 3] % BINS, minlength=BINS) for part in np.split(x, BLOCKS)]
        np.testing.assert_array_equal(run(counting, threads, x, np.zeros((BLOCKS, BINS), np.int32)), right)


def queues(kernel, size, conditions):
    """Queues with room: each holds what was pushed, once."""
    for threads in SHAPES:
        x = data(BLOCKS * threads * size, threads)
        buffers = cuda.to_device(np.full((len(conditions), len(x)), -1, np.int32))
        found = run(kernel, threads, x, np.zeros((len(conditions), 1), np.int64), buffers)
        for buffer, counter, condition in zip(buffers.copy_to_host(), found[:, 0], conditions):
            pushed = x[condition(x)]
            assert counter == len(pushed)
            np.testing.assert_array_equal(np.sort(buffer[:counter]), np.sort(pushed))


def stages():
    """A copy through shared memory."""
    for threads in SHAPES:
        x = data(BLOCKS * threads * ITEMS, threads)
        np.testing.assert_array_equal(run(staging, threads, x, np.zeros_like(x)), x)


def grids():
    """Reductions over three and four blocks, in one scratch, launch after launch."""
    scratch, out = wk.grid_scratch(4, np.int32), cuda.to_device(np.zeros(96, np.int32))
    for blocks in (3, 4, 3):
        x = data(96 * blocks, blocks)
        reducing_grid[blocks, 96](cuda.to_device(x), out, scratch)
        assert (out.copy_to_host() == x[x != 0][-1]).all()


def look_backs():
    """Look-back over forty tiles, twice with the same states; after an abort they would be reset."""
    states, out = wk.tile_states(40, np.int32), cuda.to_device(np.zeros(40, np.int32))
    for seed in range(3):
        x = data(40, seed)
        looking_back[3, 64](states, cuda.to_device(x), out)
        np.testing.assert_array_equal(out.copy_to_host(), np.cumsum(x) - x)
        if seed == 1:
            wk.reset_tile_states(states)


def passes():
    """A pass of a user's own over eight tiles and a part of one, twice with the same states."""
    x, states = data(8 * 192 + 50, 1), wk.tile_states(9, np.int32)
    for _ in range(2):
        out = cuda.to_device(np.zeros(x.size, np.int32))
        wk.launch(passing, 3, sums.threads, states, cuda.to_device(x), out, shared=sums.shared_bytes)
        np.testing.assert_array_equal(out.copy_to_host(), np.cumsum(x))


def reductions():
    """Reductions of arrays: by one block and by several; in any order, in order, of pairs."""
    several = device.ReducePolicy(threads=32, single_loads=1, least_loads=1)
    for x, options in ((data(900, 1), {"policy": several}), (data(70, 2), {}), (data(900, 3), {"policy": several})):
        given = cuda.to_device(x)
        assert device.sum(given, **options) == x.sum()
        assert device.argmax(given, **options) == x.argmax()
        assert device.reduce(given, last_nonzero, init=0, **options) == x[x != 0][-1]


def histograms():
    """Histograms of an array."""
    x = data(900, 1)
    np.testing.assert_array_equal(device.bincount(cuda.to_device(x), 100).copy_to_host(), np.bincount(x, minlength=100))
    found = device.histogram(cuda.to_device(x), 7, (0, 100))
    counts = found[0] if isinstance(found, tuple) else found
    np.testing.assert_array_equal(counts.copy_to_host(), np.histogram(x, 7, (0, 100))[0])


def transposes():
    """A transpose by several blocks, with tiles that are not full."""
    x = data(70 * 90, 1).reshape(70, 90)
    np.testing.assert_array_equal(device.transpose(cuda.to_device(x)).copy_to_host(), x.T)


def scans():
    """Scans: by blocks that stay, by blocks of one tile, by those that sweep or look back; in place too."""
    ring = device.ScanPolicy(threads=64, items=5, ring_from=0)
    none = {"one_threads": 32, "one_items": 1, "large_items": 1, "sweep_until": 0, "look_until": 0}
    tiles = device.ScanPolicy(tile_threads=64, tile_items=5, ring_from=1 << 30, **none)
    sweeps = device.ScanPolicy(one_threads=64, sweep_threads=64, ring_from=1 << 30)
    looks = device.ScanPolicy(one_threads=64, sweep_until=0, look_until=1 << 20, look_threads=64, ring_from=1 << 30)
    for policy in (ring, tiles, sweeps, looks):
        x = data(700 if config.ENABLE_CUDASIM else 2900, 1)
        given = cuda.to_device(x)
        np.testing.assert_array_equal(device.cumsum(given, policy=policy).copy_to_host(), np.cumsum(x, dtype=np.int64))
        device.inclusive_scan(given, wk.maximum, out=given, policy=policy)
        np.testing.assert_array_equal(given.copy_to_host(), np.maximum.accumulate(x))


def selections():
    """Selections: by blocks that stay, by blocks of one tile, and from registers."""
    small = {"few_threads": 32, "few_nbytes": 20, "alone_threads": 32, "small_until": 0}
    tiles = small | {"one_until": 0, "look_until": 0, "wide_until": 0}
    looks = small | {"one_until": 0, "one_threads": 256, "look_threads": 64, "whole_tiles": 1 << 20}
    ring, tile = device.SelectPolicy(32, 20, 3, 2, most_tiles=0, **tiles), device.SelectPolicy(**tiles)
    for policy in (ring, tile, device.SelectPolicy(**looks)):
        x = data(600 if config.ENABLE_CUDASIM else 1900, 1)
        given = cuda.to_device(x)
        np.testing.assert_array_equal(device.select(given, is_odd, policy=policy).copy_to_host(), x[x % 2 == 1])
        items, count = device.partition(given, is_odd, policy=policy)
        assert count == (x % 2 == 1).sum()
        np.testing.assert_array_equal(items.copy_to_host(), np.append(x[x % 2 == 1], x[x % 2 == 0]))
        firsts = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
        values, lengths, _ = device.run_length_encode(given, policy=policy)
        np.testing.assert_array_equal(values.copy_to_host(), x[firsts])
        np.testing.assert_array_equal(lengths.copy_to_host(), np.diff(np.append(firsts, x.size)))


def maps():
    """What is done to every item or row: rows of a warp, of a block and of several blocks."""
    x = data(3 * 700, 1)
    given = cuda.to_device(x)
    np.testing.assert_array_equal(device.transform(is_odd, given).copy_to_host(), x % 2 == 1)
    np.testing.assert_array_equal(device.digitize(given, [3, 50]).copy_to_host(), np.digitize(x, [3, 50]))
    for width, policy in ((7, None), (700, None), (2100, device.SoftmaxPolicy(8, 32, 32, 32, 32))):
        rows = x.reshape(-1, width).astype(np.float32) / 50
        wanted = np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)
        found = device.softmax(cuda.to_device(rows), policy=policy).copy_to_host()
        np.testing.assert_allclose(found, wanted, rtol=1e-4)


CASES = {
    "reduce": lambda: check(reducing, reduced),
    "scan": lambda: check(scanning, scanned),
    "vote": lambda: check(voting, voted),
    "items": lambda: check(folding, folded, ITEMS),
    "move": moves,
    "count": counts,
    "queue": lambda: queues(pushing, 1, [np.isfinite] * 2 + [lambda x: x % 2 == 1] * 2),
    "queue-items": lambda: queues(pushing_items, ITEMS, [lambda x: x % 2 == 1] * 2),
    "stage": stages,
    "grid": grids,
    "lookback": look_backs,
    "pass": passes,
    "device-reduce": reductions,
    "device-histogram": histograms,
    "device-transpose": transposes,
    "device-scan": scans,
    "device-select": selections,
    "device-map": maps,
}


def main(names):
    """Run the cases of these names, all without one; return the exit status."""
    unknown = [name for name in names if name not in CASES]
    if unknown:
        print(f"there is no case {unknown[0]!r}; there are {', '.join(CASES)}")
        return 2
    wrong, began = [], time.perf_counter()
    for name in names or CASES:
        begin = time.perf_counter()
        try:
            CASES[name]()
            word = "right"
        except AssertionError as error:
            word = f"WRONG: {error}"
            wrong.append(name)
        print(f"{name}: {word}, {time.perf_counter() - begin:.1f} s", flush=True)
    print(f"{len(names or CASES)} cases, {len(wrong)} wrong, {time.perf_counter() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
