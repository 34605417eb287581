"""Every reduction over every dtype, size and layout, against NumPy."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.matrix import COMPLEX, NUMBERS, SIMULATOR, label
from warpkit import device

from .reductions import (
    DATA,
    DEFAULT,
    LAYOUTS,
    NEEDS_ITEMS,
    NUMPY,
    POLICIES,
    POLICY,
    SIZES,
    SOME,
    data,
    for_order,
    laid_out,
    negatives,
    result,
    same,
    to_device,
)

ORDERED = {"min", "max", "argmin", "argmax", "minmax"}
DTYPES = (np.bool_, *NUMBERS)
CELLS = [(name, dtype) for name in NUMPY for dtype in DTYPES if name not in ORDERED or dtype not in COMPLEX]


@pytest.mark.parametrize(("name", "dtype"), CELLS, ids=label)
def test_every_dtype(name, dtype):
    for n in SOME:
        x = data(name, dtype, n)
        for policy in POLICIES:
            agree(name, getattr(device, name)(to_device(x), policy=policy), NUMPY[name](x))


def agree(name, got, expected):
    """Assert `same`; a mean of numbers that a float does not hold exactly depends on the order in its last bits."""
    if name == "mean":
        assert got.dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(got, expected, rtol=8 * np.finfo(got.dtype).eps)
    else:
        same(got, expected)


@pytest.mark.parametrize("dtype", [np.float32] if SIMULATOR else [np.uint8, np.float32, np.complex128], ids=label)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", NUMPY)
def test_every_size(name, n, dtype):
    if name in ORDERED and dtype in COMPLEX:
        return
    x = data(name, dtype, n)
    for policy in POLICIES:
        if n == 0 and name in NEEDS_ITEMS:
            with pytest.raises(ValueError, match=rf"^{name}: there are no items"):
                getattr(device, name)(to_device(x), policy=policy)
        else:
            agree(name, getattr(device, name)(to_device(x), policy=policy), NUMPY[name](x))


def tile_edges(policy, dtype):
    """Return sizes around a thread's read, a block's tile and a whole grid's."""
    read = max(1, 16 // np.dtype(dtype).itemsize)
    tile = policy.threads * policy.loads * read
    several = [policy.single_loads * read, policy.threads * policy.least_loads * read, 4 * tile]
    return sorted({size + off for size in (read, tile, *several) for off in (-1, 0, 1)})


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.complex128], ids=label)
def test_around_tiles(dtype):
    for n in tile_edges(POLICY if SIMULATOR else DEFAULT, dtype)[:: 2 if SIMULATOR else 1]:
        x = data("sum", dtype, n)
        same(device.sum(to_device(x), policy=DEFAULT), NUMPY["sum"](x))
        if dtype not in COMPLEX:
            low = negatives(dtype, n, np.random.default_rng(n))
            same(device.max(to_device(low), policy=DEFAULT), low.max())


@pytest.mark.parametrize("few_until", [0, 1 << 12])
def test_complex64_at_addresses_that_are_multiples_of_4(few_until):
    """NumPy aligns it by its parts; what is read at once needs more, in calls that come again too."""
    policy = device.ReducePolicy(threads=32, single_threads=32, loads=2, few_until=few_until)
    whole = np.arange(402, dtype=np.float32)
    out, ordered = result(np.complex64), lambda a, b: a + b
    for skip in (0, 1, 1, 2, 3):
        part = whole[skip : skip + 398].view(np.complex64)
        there = cuda.to_device(whole)[skip : skip + 398].view(np.complex64)
        assert device.sum(there, policy=policy) == part.sum()
        assert device.reduce(there, ordered, init=0j, policy=policy) == part.sum()
        assert device.count_nonzero(there, policy=policy) == np.count_nonzero(part)
        for call in (lambda x=there: device.sum(x, out=out), wk.prepare(device.sum, there, out=out)):
            for _ in range(2):
                call()
                assert out.copy_to_host()[0] == part.sum()


@pytest.mark.parametrize("few_until", [0, 1 << 12])
@pytest.mark.parametrize("loads", [3, 5, 7])
def test_reads_in_flight_that_are_no_power_of_two(loads, few_until):
    """Of a grid in which every thread reads as often as it may, and of one that reads once more."""
    policy = device.ReducePolicy(
        threads=32, loads=np.int64(loads), least_loads=loads, single_loads=1, few_until=few_until
    )
    for vectors in (32 * loads, 2 * 32 * loads, 3 * 32 * loads - 5, 3 * 32 * loads + 1):
        x = np.arange(4 * vectors, dtype=np.int32)
        assert device.sum(to_device(x), policy=policy) == x.sum()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["sum", "argmax", "min"])
def test_every_layout(name, layout):
    for dtype in (np.float32, np.uint8, np.int64):
        for n in (7, 500) if SIMULATOR else (7, 500, 30_000, (1 << 20) + 5):
            view = laid_out(layout, n, lambda count, dtype=dtype: data(name, dtype, count))
            same(getattr(device, name)(to_device(view), policy=POLICIES[0]), NUMPY[name](view))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64], ids=label)
def test_every_misalignment(dtype):
    """The first aligned read begins anywhere, and what lies before and behind it counts."""
    for skip in range(16 // np.dtype(dtype).itemsize):
        for n in (1, 3, 40, 150):
            memory = data("sum", dtype, n + skip + 20)
            memory[:skip] = memory[skip + n :] = 99
            x = memory[skip : skip + n]
            same(device.sum(to_device(x), policy=POLICY), NUMPY["sum"](x))


def test_a_result_goes_to_out():
    for name in NUMPY:
        x = data(name, np.int32, 300)
        out = result(np.float64 if name == "mean" else np.int64, 2 if name == "minmax" else 1)
        assert getattr(device, name)(to_device(x), out=out, policy=POLICY) is out
        expected = NUMPY[name](x)
        assert out.copy_to_host().tolist() == [*np.atleast_1d(expected).tolist()]


@pytest.mark.parametrize("name", NUMPY)
def test_the_same_call_again(name):
    x = to_device(for_order(np.float32, 700, np.random.default_rng(5)))
    first = getattr(device, name)(x, policy=POLICY)
    for _ in range(3):
        same(getattr(device, name)(x, policy=POLICY), first)


def test_data_is_there_for_every_reduction():
    assert set(DATA) <= set(NUMPY)
    assert set(NUMPY) == set(device.REDUCTIONS) - {"ReducePolicy", "reduce", "transform_reduce"}
