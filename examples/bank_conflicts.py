"""Bank conflicts: a column of a 32 × 32 tile in shared memory, of a tile with a word of padding a row, and one word."""

import numpy as np
from numba import config, cuda

import warpkit as wk

# What the lanes read at once: words from one lane to the next, and how often a bank must answer.
PATTERNS = {"a column of 32 × 32": (32, 32), "a column of 32 × 33": (33, 1), "one word for all": (0, 1)}
WORDS = 32 * 33
MEASURED = cuda.is_available() and not config.ENABLE_CUDASIM
BLOCKS, THREADS, TURNS = (1024, 256, 4096) if MEASURED else (1, 32, 32)


@cuda.jit
def read_tile(x, step, turns, sums):
    """Add up, in every lane, the words that it reads: `step` words from the next lane's, one after the other."""
    tile = wk.shared_array(WORDS, np.float32)
    for k in range(cuda.threadIdx.x, WORDS, cuda.blockDim.x):
        tile[k] = x[k]
    wk.sync_block()
    first = step * wk.warp_lane_id()
    total = np.float32(0)
    for turn in range(turns):
        total += tile[first + (turn & 31)]
    sums[cuda.grid(1)] = total


def milliseconds(*args):
    """Return how long a launch takes, by events of the GPU."""
    begin, end = cuda.event(), cuda.event()
    begin.record()
    read_tile[BLOCKS, THREADS](*args)
    end.record()
    end.synchronize()
    return cuda.event_elapsed_time(begin, end)


x = np.random.default_rng(32).integers(0, 4, WORDS).astype(np.float32)  # every sum is exact
on_device, sums = cuda.to_device(x), cuda.device_array(BLOCKS * THREADS, np.float32)
costs = []  # milliseconds where they can be measured, else answers
for name, (step, degree) in PATTERNS.items():
    assert wk.bank_conflicts(lambda lane, step=step: step * lane) == degree
    read_tile[BLOCKS, THREADS](on_device, step, TURNS, sums)
    words = step * np.arange(32)[:, None] + np.arange(32)
    assert (sums.copy_to_host().reshape(-1, 32) == x[words].sum(axis=1) * (TURNS // 32)).all()
    costs.append(min(milliseconds(on_device, step, TURNS, sums) for _ in range(5)) if MEASURED else degree)
    print(f"{name}: {degree} answers a read" + (f", {costs[-1]:.2f} ms" if MEASURED else ""))

column, padded, broadcast = costs
assert column > 4 * max(padded, broadcast)
