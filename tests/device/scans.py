"""What the tests of scans are run over, and NumPy's answers; layouts and device twins are those of the reductions.

The simulator runs small sizes with small policies. SMALL: tiles of 96 items, rings of three tiles from 300 items on.
FEW: one block up to 64 items; blocks that sweep up to 200; then blocks that look back, except in place and by a user's
operator, which one block does up to 128 items.
"""

import numpy as np
from numba import cuda

from tests.warp.matrix import SIMULATOR
from warpkit import device

from .reductions import for_product, for_sum, single, to_device, total_dtype

NONE_FEW = {
    "one_threads": 32, "one_items": 1, "large_items": 1, "sweep_until": 0, "look_until": 0, "tile_states": 0,
}  # fmt: skip
SMALL = device.ScanPolicy(
    threads=32, items=3, stages=3, blocks=2, ring_from=300, tile_threads=32, tile_items=3, **NONE_FEW
)
RINGS = device.ScanPolicy(threads=64, items=5, stages=2, blocks=2, ring_from=0)
FEW = device.ScanPolicy(
    tile_threads=32, tile_items=3, ring_from=1 << 20, one_threads=32, one_items=2, large_items=4, sweep_threads=32,
    sweep_until=200, sweep_loads=2, look_threads=32, look_until=1 << 20, look_items=2,
)  # fmt: skip
LOOKS = device.ScanPolicy(ring_from=1 << 20, tile_threads=32, tile_items=3, **NONE_FEW | {"tile_states": 1})
POLICIES = [SMALL, FEW, LOOKS] if SIMULATOR else [None, SMALL, RINGS, FEW, LOOKS]
POLICY_NAMES = ["small", "few", "looks"] if SIMULATOR else ["default", "small", "rings", "few", "looks"]
DEFAULT = SMALL if SIMULATOR else None
SIZES = (
    [0, 1, 2, 33, 95, 96, 97, 193, 299, 300, 301]
    if SIMULATOR
    else [0, 1, 2, 31, 32, 33, 95, 96, 97, 255, 257, 3839, 3840, 3841, 65_536, (1 << 20) - 1, (1 << 20) + 1, 3_000_001]
)
SOME = [1, 130, 310] if SIMULATOR else [1, 130, 410, 4097, (1 << 21) + 3]


def values(name, dtype, count, seed=1):
    """Return `count` values whose sums, or products, are exact in any order."""
    rng = np.random.default_rng(seed)
    if name == "cumprod":
        return for_product(dtype, count, rng)
    found = for_sum(dtype, count, rng)
    return (found / 4).astype(dtype) if np.dtype(dtype) == np.float16 else found


def np_cumsum(x, total=None):
    """Return the running sums of values whose sums are exact, as `cumsum` gives them."""
    return halves(np.cumsum(single(x), dtype=total or total_dtype(x.dtype)), x)


def np_cumprod(x):
    """Return the running products of values whose products are exact, as `cumprod` gives them."""
    return halves(np.cumprod(single(x), dtype=total_dtype(x.dtype)), x)


def halves(found, x):
    """Return what was computed in float32 for halves as halves."""
    return found.astype(np.float16) if x.dtype == np.float16 else found


NUMPY = {"cumsum": np_cumsum, "cumprod": np_cumprod}


def fold(op, items, init=None, exclusive=False, reverse=False):
    """Return the scan of a list by a Python operator, from left to right."""
    items = items[::-1] if reverse else items
    found, run = [], init
    for item in items:
        before = run
        run = item if run is None else op(run, item)
        found.append(before if exclusive else run)
    return found[::-1] if reverse else found


def host(result):
    """Return a device array's contents, wherever it came from."""
    return result.copy_to_host()


def rubbish(n, dtype):
    """Return a device array of `n` elements that hold 77."""
    return cuda.to_device(np.full(n, 77, dtype))


def same(got, expected):
    """Assert that two arrays agree in dtype, shape and bits; a complex zero may have either sign."""
    expected = np.asarray(expected)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if got.dtype.kind == "c":
        assert (got == expected).all()
    else:
        bits = [np.ascontiguousarray(array).view(np.uint8) for array in (got, expected)]
        np.testing.assert_array_equal(*bits)


__all__ = [
    "DEFAULT", "FEW", "LOOKS", "NONE_FEW", "NUMPY", "POLICIES", "POLICY_NAMES", "RINGS", "SIMULATOR", "SIZES", "SMALL",
    "SOME", "fold", "host", "np_cumprod", "np_cumsum", "rubbish", "same", "to_device", "values",
]  # fmt: skip
