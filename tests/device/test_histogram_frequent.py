"""Histograms of what is often the same: exact counts where bins share places of a table, overflow it, come and go."""

import itertools

import numpy as np
import pytest
from numba import cuda

from tests.warp.matrix import SIMULATOR, label
from warpkit import device
from warpkit.device.histogram import read_histogram
from warpkit.device.histogram_even import even_bins
from warpkit.simt import machine

from .reductions import result, to_device
from .test_histogram import expected

BINS = 200 if SIMULATOR else 100_000
COUNT = 300 if SIMULATOR else 300_001
TABLES = [
    device.HistogramPolicy(threads=32, loads=1, shared=0, most_shared=0, table=size, emptied=emptied)
    for size, emptied in ((2, 1), (32, 256))
]
TABLES += [] if SIMULATOR else [device.HistogramPolicy(most_shared=0)]
POLICIES = [*TABLES, device.HistogramPolicy(threads=32, loads=2, shared=1 << 9, full_from=0)]


def same(rng, count):
    """Return one number again and again."""
    return np.full(count, 0.3)


def few(rng, count):
    """Return a few numbers in any order."""
    return rng.choice(rng.random(7), count)


def rising(rng, count):
    """Return numbers in order, each several times."""
    return np.sort(rng.integers(0, BINS, count // 5 + 1).repeat(5)[:count]) / BINS


def changing(rng, count):
    """Return many numbers, then always the same one, then another."""
    return np.concatenate([rng.random(count // 3), np.full(count // 3, 0.7), np.full(count - 2 * (count // 3), 0.2)])


def many(rng, count):
    """Return numbers that seldom come twice."""
    return rng.random(count)


def all_but(rng, count):
    """Return one number, among others and what is in no bin."""
    return np.where(rng.random(count) < 0.9, 0.5, rng.choice([0.0, 1.0, -1.0, 2.0, 1e9, -1e30], count))


DATA = (same, few, rising, changing, many, all_but)


def numbers(data, dtype, count):
    """Return `count` such numbers: floats from 0 to 1, integers up to the number of bins."""
    x = data(np.random.default_rng(count), count)
    if np.dtype(dtype).kind != "f":
        return np.clip(x * BINS, 0 if np.dtype(dtype).kind == "u" else -3, BINS + 3).astype(np.int64).astype(dtype)
    with np.errstate(over="ignore"):
        return x.astype(dtype)


DTYPES = [np.float32, np.int32, np.float64, np.float16, np.uint64, np.int16]
CELLS = [(data, dtype) for place, dtype in enumerate(DTYPES) for data in (DATA if place < 2 else DATA[place - 2 :: 4])]


@pytest.mark.parametrize(
    ("data", "dtype"),
    CELLS if SIMULATOR else list(itertools.product(DATA, DTYPES)),
    ids=lambda value: value.__name__,
)
def test_counts_are_exact(data, dtype):
    x = numbers(data, dtype, COUNT)
    for bins, span in ((BINS, (0, 1)), (200, (0.1, 0.9))):
        span = span if np.dtype(dtype).kind == "f" else (0, BINS)
        for policy in POLICIES:
            got = device.histogram(to_device(x), bins, span, policy=policy).copy_to_host()
            np.testing.assert_array_equal(got, expected(x, bins, span), str(policy))


@pytest.mark.parametrize("data", DATA, ids=lambda data: data.__name__)
def test_numbers_are_counted_exactly(data):
    x = np.abs(numbers(data, np.int32, COUNT))
    for policy in POLICIES:
        got = device.bincount(to_device(x), BINS + 4, policy=policy).copy_to_host()
        np.testing.assert_array_equal(got, np.bincount(x, minlength=BINS + 4), str(policy))


@pytest.mark.parametrize("data", [same, few], ids=lambda data: data.__name__)
@pytest.mark.parametrize("count", [1, 31, 128, 129] if SIMULATOR else [1, 3, 31, 32, 127, 128, 129, 257])
def test_ends_of_blocks_and_vectors(data, count):
    x = numbers(data, np.float32, count + 5)
    there = cuda.to_device(x)
    for first in (0, 1, 3):
        right = expected(x[first : first + count], BINS, (0, 1))
        for policy in POLICIES:
            got = device.histogram(there[first : first + count], BINS, (0, 1), policy=policy).copy_to_host()
            np.testing.assert_array_equal(got, right, str(policy))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.uint64, np.float64], ids=label)
def test_counts_of_every_type_and_a_count_on_the_device(dtype):
    x, count = numbers(few, np.float32, COUNT), cuda.to_device(np.zeros(1, np.int32))
    for policy in POLICIES:
        out = result(dtype, BINS)
        for n in (0, 1, COUNT // 3, COUNT):
            count.copy_to_device(np.array([n], np.int32))
            device.histogram(to_device(x), BINS, (0, 1), out=out, num_items=count, policy=policy)
            np.testing.assert_array_equal(out.copy_to_host(), expected(x[:n], BINS, (0, 1)), str(policy))


def test_bins_that_share_their_places():
    """Multiples of a power of two, and what is hashed to the same two places of the smallest table: all of them."""
    x = np.tile(np.arange(0, BINS, 64), COUNT // BINS + 2)
    for policy in TABLES:
        got = device.bincount(to_device(x), BINS, policy=policy).copy_to_host()
        np.testing.assert_array_equal(got, np.bincount(x, minlength=BINS))


# ------------------------------------------------------------------ ways of finding a bin

WAYS = {
    "aligned": [((0, 1), 8), ((-4, 4), 16), ((-1, 3), 4), ((0, 256), 256), ((0, 1024), 256), ((0.5, 0.75), 2)],
    "near": [((0, 1), 7), ((0.3, 77.7), 100), ((-1e30, 1e30), 5), ((-8, 8), 60), ((0, 1e-30), 9)],
    "beside one": [((1000, 1000.5), 100), ((0, 1), 5000), ((2, 2.001), 20)],
    "any": [((16777216, 16777228), 5), ((-33554432, -33554400), 7)],
}


def on_and_beside(dtype, bins, span):
    """Return numbers on every edge of some, next to them, everywhere between, and as far away as they go."""
    rng = np.random.default_rng(bins)
    edges = np.histogram_bin_edges(np.zeros(0, dtype), bins, span)
    edges = np.concatenate([edges[:40], rng.choice(edges, 40), edges[-3:]])
    around = [edges, np.nextafter(edges, dtype(-np.inf)), np.nextafter(edges, dtype(np.inf))]
    tiny, most = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, tiny, -tiny, most, -most, *span, 2.0**22, 2.0**23, 2.0**24, -(2.0**23)]
    return np.concatenate([*around, rng.uniform(*span, 60).astype(dtype), np.array(odd, dtype)])


@pytest.mark.parametrize("how", WAYS)
def test_every_way_finds_numpys_bins(how):
    for span, bins in WAYS[how]:
        assert even_bins("histogram", np.dtype(np.float32), bins, span).types[0] == how, (span, bins)
        x = on_and_beside(np.float32, bins, span)
        for policy in POLICIES[-2:]:
            got = device.histogram(to_device(x), bins, span, policy=policy).copy_to_host()
            np.testing.assert_array_equal(got, expected(x, bins, span), f"{span}, {bins} bins, {policy}")


@pytest.mark.parametrize("span", [(0, 1), (-3, 9), (0.1, 0.3), (2**53, 2**53 + 6), (1e300, 1.1e300)], ids=str)
def test_float64_on_and_beside_every_edge(span):
    x = on_and_beside(np.float64, 3, span)
    for policy in POLICIES[-2:]:
        got = device.histogram(to_device(x), 3, span, policy=policy).copy_to_host()
        np.testing.assert_array_equal(got, expected(x, 3, span))


@pytest.mark.gpu
@pytest.mark.parametrize("span", [(0, 1), (0, 0.999), (-3, 3), (0.25, 0.26)], ids=str)
def test_every_float_of_a_range(span):
    """All 2^23 floats of several binades, in bins with exact edges and without."""
    for exponent in (-30, -1, 0):
        x = np.ldexp(np.arange(1 << 23, 1 << 24, dtype=np.float32), exponent - 23)
        for bins in (256, 100, 3000):
            got = device.histogram(to_device(x), bins, span).copy_to_host()
            np.testing.assert_array_equal(got, expected(x, bins, span), f"2^{exponent}, {bins} bins")


# ------------------------------------------------------------------ blocks


def test_few_bytes_take_a_block_a_multiprocessor_and_more_all_that_there_are():
    x, per = cuda.to_device(np.zeros(1 << 17, np.float32)), machine.properties().multiprocessors
    few, all_of_them = (
        read_histogram(x, 4, (0, 1), policy=device.HistogramPolicy(threads=32, loads=1, full_from=least)).grid[0]
        for least in ((1 << 19) + 1, 1 << 19)
    )
    assert few == per < all_of_them
