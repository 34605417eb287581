"""One process of the simulator suite: `NUMBA_ENABLE_CUDASIM=1 python bench/simulated.py numba|warpkit`.

Prints one JSON object: seconds per launch, the median of `REPEATS`, of each kernel that this simulator runs.
"""

import json
import statistics
import sys
import time

import numpy as np
from numba import cuda

BLOCKS, THREADS, SHUFFLES, REPEATS = 4, 256, 1000, 7


@cuda.jit
def mirror_in_block(x, out):
    """Exchange values across a block: write to shared memory, one barrier, read from the other end."""
    shared = cuda.shared.array(THREADS, np.float32)
    tid = cuda.threadIdx.x
    shared[tid] = x[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = shared[THREADS - 1 - tid]


@cuda.jit
def walk_around_warp(x, out):
    """Pass every lane's value on to the next lane, 1000 times."""
    lane = cuda.threadIdx.x
    value = x[lane]
    for _ in range(SHUFFLES):
        value = cuda.shfl_sync(0xFFFFFFFF, value, (lane + 31) % 32)
    out[lane] = value


def _seconds(kernel, blocks, threads, expected):
    """Return the median time of a launch, the first one not counted; the result is checked every time."""
    x = np.arange(blocks * threads, dtype=np.float32)
    taken = []
    for _ in range(REPEATS + 1):
        out = np.full_like(x, -1)
        begin = time.perf_counter()
        kernel[blocks, threads](x, out)
        taken.append(time.perf_counter() - begin)
        np.testing.assert_array_equal(out, expected(x))
    return statistics.median(taken[1:])


def _mirrored(x):
    return x.reshape(BLOCKS, THREADS)[:, ::-1].ravel()


def _walked(x):
    return np.roll(x, SHUFFLES % 32)


def main(simulator):
    """Run under Numba's own simulator, or under warpkit's, which alone knows shuffles."""
    if simulator == "warpkit":
        import warpkit.simt.simulator  # noqa: F401  (upgrades Numba's simulator in place)
    found = {"barrier": _seconds(mirror_in_block, BLOCKS, THREADS, _mirrored)}
    if simulator == "warpkit":
        found["shuffles"] = _seconds(walk_around_warp, 1, 32, _walked)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
