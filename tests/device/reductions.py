"""What the tests of reductions are run over: sizes, layouts, data that cannot hide a fault, and NumPy's answer.

The simulator runs small sizes with small policies, whose grids have up to four blocks and whose tiles are 64 reads.
"""

from dataclasses import replace

import numpy as np
from numba import cuda

from tests.warp.matrix import SIMULATOR, away_from_zero, random_bits
from warpkit import device
from warpkit.host.arrays import as_argument

POLICY = device.ReducePolicy(threads=32, loads=2, least_loads=1, single_loads=32, single_threads=32, few_until=0)
DEFAULT = POLICY if SIMULATOR else device.ReducePolicy()
# Few items: of one warp; of one block, of two kinds; of several blocks. And then the kernel of any number.
FEW = replace(POLICY, few_threads=64, few_loads=2, single_threads=64, single_loads=256, few_until=400)
POLICIES = [POLICY, FEW] if SIMULATOR else [None, POLICY, FEW, device.ReducePolicy(few_until=0)]
SIZES = (
    [0, 1, 2, 31, 33, 257, 1100]
    if SIMULATOR
    else [0, 1, 2, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 8192 + 5, 1 << 16, (1 << 20) + 1]
)
SOME = [1, 257] if SIMULATOR else [1, 257, 4097, (1 << 18) + 3]


class View:
    """A NumPy view's twin in device memory, strides, holes, misalignment and all; shown by the array interface."""

    def __init__(self, view):
        base = view
        while isinstance(base.base, np.ndarray):
            base = base.base
        self.memory = cuda.to_device(base.ravel(order="K").view(np.uint8)) if base.size else None
        start = as_argument(self.memory, "memory").pointer if base.size else 0
        shown = view.__array_interface__
        offset = shown["data"][0] - base.__array_interface__["data"][0]
        self.__cuda_array_interface__ = {
            "shape": view.shape,
            "strides": view.strides,
            "typestr": shown["typestr"],
            "descr": shown["descr"],
            "data": (start + offset if view.size else 0, False),
            "version": 3,
        }


def to_device(array):
    """Return the device twin of a NumPy array."""
    return View(np.asarray(array))


def result(dtype, count=1):
    """Return a device array for results that holds rubbish."""
    return cuda.to_device(np.full(count, 77, dtype))


def for_sum(dtype, count, rng):
    """Return values whose sums are exact in any order, in the accumulator's type."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.random(count) < 0.4
    if dtype.kind in "iu":
        return random_bits(dtype, count, rng)
    values = rng.integers(-8, 9, count) * 0.5
    return (values + 1j * rng.integers(-8, 9, count) if dtype.kind == "c" else values).astype(dtype)


def for_product(dtype, count, rng):
    """Return values whose products are exact in any order, in the accumulator's type."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.random(count) < 0.999
    if dtype.kind in "iu":
        return random_bits(dtype, count, rng) | dtype.type(1)
    values = rng.choice([-1.0, 1.0], count)
    some = rng.permutation(count)[:40]
    values[some] = rng.choice([2.0, -0.5], len(some))
    return (values * rng.choice([1, 1j], count) if dtype.kind == "c" else values).astype(dtype)


def for_order(dtype, count, rng):
    """Return values of few kinds, so that there are ties, the extremes away from the identities."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.random(count) < 0.5
    if dtype.kind == "f":
        return (rng.integers(-7, 8, count) / 4).astype(dtype)
    return rng.integers(1, 9, count).astype(dtype) if dtype.kind == "u" else rng.integers(-9, -1, count).astype(dtype)


def negatives(dtype, count, rng):
    """Return values below 0 (of unsigned types any), so that a 0 from nowhere wins a maximum."""
    return away_from_zero(dtype, count, rng, -1)


LAYOUTS = {
    "contiguous": lambda n: (n, lambda base: base),
    "one item on": lambda n: (n + 1, lambda base: base[1:]),
    "three items on": lambda n: (n + 3, lambda base: base[3:]),
    "every other": lambda n: (2 * n, lambda base: base[::2]),
    "backwards": lambda n: (n, lambda base: base[::-1]),
    "transposed": lambda n: (3 * (n // 3 + 1), lambda base: base.reshape(3, -1).T),
    "some columns": lambda n: (5 * (n // 2 + 1), lambda base: base.reshape(-1, 5)[:, 1:3]),
    "three axes": lambda n: (
        4 * 5 * (n // 6 + 1),
        lambda base: base.reshape(4, -1, 5)[::2, :, ::2].transpose(1, 0, 2),
    ),
    "four axes": lambda n: (
        2 * 3 * 4 * (n // 12 + 1),
        lambda base: base.reshape(2, 3, 4, -1)[:, ::2, ::3, ::-1].transpose(3, 1, 0, 2),
    ),
    "the same again": lambda n: (1, lambda base: np.broadcast_to(base[0], n)),
}


def laid_out(layout, n, values):
    """Return an array of about n items in a layout; `values(count)` makes the memory that it is a view of."""
    count, view = LAYOUTS[layout](n)
    return view(values(count))


def same(got, expected):
    """Assert that two scalars, or tuples of them, agree in dtype and bits."""
    if isinstance(expected, tuple):
        assert isinstance(got, tuple)
        assert len(got) == len(expected)
        for one, other in zip(got, expected):
            same(one, other)
        return
    assert isinstance(got, np.generic)
    expected = np.asarray(expected)
    assert got.dtype == expected.dtype
    if got.dtype.kind in "fc" and np.isnan(expected):
        assert np.isnan(got)
    elif got.dtype.kind == "c":
        assert got == expected  # the sign of a zero depends on the order
    else:
        assert got.tobytes() == expected.tobytes(), (got, expected)


# ------------------------------------------------------------------ NumPy's answers


def single(x):
    """Return halves as float32."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def total_dtype(dtype):
    """Return the dtype of a sum."""
    dtype = np.dtype(dtype)
    if dtype.kind in "biu":
        return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def np_sum(x):
    """Return the sum of values whose sums are exact."""
    return single(x).sum(dtype=total_dtype(x.dtype))


def np_prod(x):
    """Return the product of values whose products are exact."""
    return single(x).prod(dtype=total_dtype(x.dtype))


def np_mean(x):
    """Return the mean of values whose sums are exact."""
    if not x.size:
        return (np.float64 if x.dtype.kind in "biu" else single(x).dtype.type)(np.nan)
    if x.dtype.kind in "biu":
        total = x.sum(dtype=np.int64) if x.dtype.itemsize <= 2 else x.sum(dtype=np.float64)
        return np.float64(total) / x.size
    return single(x).dtype.type(np_sum(x) / single(x).dtype.type(x.size))


NUMPY = {
    "sum": np_sum,
    "prod": np_prod,
    "min": np.min,
    "max": np.max,
    "any": np.any,
    "all": np.all,
    "count_nonzero": lambda x: np.int64(np.count_nonzero(x)),
    "argmin": np.argmin,
    "argmax": np.argmax,
    "minmax": lambda x: (x.min(), x.max()),
    "mean": np_mean,
}
DATA = {
    "sum": for_sum,
    "prod": for_product,
    "any": lambda dtype, count, rng: np.zeros(count, dtype) if count % 2 else for_order(dtype, count, rng),
    "all": for_product,
    "count_nonzero": for_sum,
    "mean": for_sum,
}
NEEDS_ITEMS = {"min", "max", "argmin", "argmax", "minmax"}


def data(name, dtype, count, seed=1):
    """Return `count` values for a reduction."""
    return DATA.get(name, for_order)(dtype, count, np.random.default_rng(seed))
