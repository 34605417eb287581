"""Histograms against NumPy: dtypes, sizes, layouts, bins of every number, arguments, refusals, prepared calls."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.room import large
from tests.warp.matrix import REALS, SIMULATOR, label
from warpkit import device
from warpkit.simt import machine

from .reductions import LAYOUTS, laid_out, result, to_device
from .refusing import check_refusal

POLICY = device.HistogramPolicy(threads=32, loads=2, shared=1 << 11, most_shared=1 << 14, full_from=0)
POLICIES = (
    [POLICY] if SIMULATOR else [None, POLICY, device.HistogramPolicy(shared=0), device.HistogramPolicy(most_shared=0)]
)
SIZES = [0, 1, 33, 700] if SIMULATOR else [0, 1, 31, 33, 255, 257, 4095, 70_001, (1 << 20) + 3]
DTYPES = (np.bool_, *REALS)


def values(dtype, count, seed=1):
    """Return values with many on edges, some outside, of floats some that are none."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype == np.bool_:
        return rng.random(count) < 0.3
    if dtype.kind == "u":
        return rng.integers(0, 120, count).astype(dtype)
    if dtype.kind == "i":
        return rng.integers(-100, 120, count).astype(dtype)
    x = np.where(rng.random(count) < 0.5, rng.integers(-60, 60, count) / 4, rng.normal(0, 9, count))
    some = rng.permutation(count)[: count // 9]
    x[some] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], len(some))
    return x.astype(dtype)


def expected(x, bins, span=None):
    """Return NumPy's counts; of halves and bools as what they are counted as here."""
    x = x.astype({np.dtype("e"): np.float32, np.dtype("?"): np.uint8}.get(x.dtype, x.dtype))
    with np.errstate(all="ignore"):
        return np.histogram(x, bins, span)[0]


def check(x, bins, span=None, **options):
    """Assert that a histogram is NumPy's."""
    for policy in POLICIES:
        got = device.histogram(to_device(x), bins, span, policy=policy, **options).copy_to_host()
        assert got.dtype == np.int64
        np.testing.assert_array_equal(got, expected(x, bins, span), str(policy))


def test_edges_of_halves_are_not_rounded_to_halves():
    x = np.array([0.1], np.float16)  # 0.09998: below the edge, but NumPy's edge is that too
    assert device.histogram(to_device(x), 10, (0, 1)).copy_to_host().argmax() == 0
    assert np.histogram(x, 10, (0, 1))[0].argmax() == 1
    check(x, 10, (0, 1))


@pytest.mark.parametrize("dtype", DTYPES, ids=label)
def test_every_dtype(dtype):
    x = values(dtype, 500 if SIMULATOR else 100_003)
    for bins, span in ((1, (0, 1)), (7, (-3.5, 9)), (64, (-8, 8)), (100, (0.3, 77.7))):
        check(x, bins, span)


@pytest.mark.parametrize("dtype", DTYPES, ids=label)
def test_every_dtype_between_edges(dtype):
    x = values(dtype, 300 if SIMULATOR else 100_003)
    for edges in ([0, 1], [-9, 0, 0, 4.5, 5, 5], np.array([-3, 1, 2, 100], np.int16), np.linspace(-8, 8, 40)):
        check(x, edges)


@pytest.mark.parametrize("n", SIZES)
def test_every_size(n):
    for dtype in (np.float32, np.uint8, np.float64):
        check(values(dtype, n), 30, (-8, 9.5))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(layout):
    for dtype in (np.float32, np.int8, np.bool_):
        check(
            laid_out(layout, 200 if SIMULATOR else 50_000, lambda count, dtype=dtype: values(dtype, count)), 9, (-4, 5)
        )


@pytest.mark.parametrize("bins", [1, 2, 3, 31, 255, 256, 257, 1000, 4097, 9001])
def test_every_number_of_bins(bins):
    x = np.random.default_rng(bins).random(300 if SIMULATOR else 200_000, np.float32)
    check(x, bins, (0, 1))
    check(np.concatenate([x[:50], np.linspace(0, 1, 40, dtype=np.float32)]), bins, (0, 1))


@pytest.mark.parametrize("span", [(0, 1), (0.1, 0.9), (1000, 1000.5), (-1e-3, 1e-3), (-1e30, 1e30), (5, 1005)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=label)
def test_items_on_and_beside_every_edge(dtype, span):
    for bins in (3, 10, 60):
        edges = np.histogram_bin_edges(np.zeros(0, dtype), bins, span)
        x = np.concatenate([edges, np.nextafter(edges, dtype(-np.inf)), np.nextafter(edges, dtype(np.inf))])
        check(x.astype(dtype), bins, span)


@pytest.mark.parametrize("dtype", [np.int16, np.uint32, np.int64], ids=label)
def test_integers_on_and_beside_every_edge(dtype):
    x = np.arange(0, 130).astype(dtype)
    for bins, span in ((13, (0, 130)), (7, (0, 130)), (50, (3, 97)), (16, (0.5, 64.5)), (3, (10, 12))):
        check(x, bins, span)


def test_all_items_in_one_bin():
    n = 1000 if SIMULATOR else 1 << 22
    for dtype in (np.float32, np.uint8, np.int64):
        check(np.full(n, 3, dtype), 256, (0, 256))
        check(np.full(n, 3, dtype), 5000, (0, 256))


def test_the_range_of_the_items():
    for x in (np.array([3, 9, 4, 4]), values(np.int16, 200), np.array([2.5] * 4), np.zeros(0), np.array([True, False])):
        check(x, 5)
    assert device.histogram(to_device(np.arange(20))).copy_to_host().tolist() == [2] * 10


def test_bincount():
    for dtype in (np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.bool_):
        x = np.abs(values(dtype, 300 if SIMULATOR else 100_000)) if dtype != np.bool_ else values(dtype, 300)
        for least in (0, 3, 200):
            got = device.bincount(to_device(x), least, policy=POLICY).copy_to_host()
            np.testing.assert_array_equal(got, np.bincount(x.astype(np.int64), minlength=least))
    assert device.bincount(to_device(np.zeros(0, np.int32))).shape == (0,)
    assert device.bincount(to_device(np.zeros(0, np.int32)), 4).copy_to_host().tolist() == [0] * 4


def test_bincount_with_out_leaves_other_numbers_out():
    out = result(np.int32, 5)
    x = np.array([1, -1, 4, 5, 4, np.iinfo(np.int64).max, np.iinfo(np.int64).min])
    assert device.bincount(to_device(x), out=out) is out
    assert out.copy_to_host().tolist() == [0, 1, 0, 0, 2]
    device.bincount(to_device(np.array([1, 2**64 - 1], np.uint64)), out=out)
    assert out.copy_to_host().tolist() == [0, 1, 0, 0, 0]


# ------------------------------------------------------------------ out, num_items, stream


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64, np.float64], ids=label)
@pytest.mark.parametrize("bins", [10, 6000])
def test_out_is_overwritten_in_its_dtype(dtype, bins):
    x, out = values(np.float32, 400), result(dtype, bins)
    for _ in range(2):
        assert device.histogram(to_device(x), bins, (-8, 8), out=out, policy=POLICY) is out
        np.testing.assert_array_equal(out.copy_to_host(), expected(x, bins, (-8, 8)))


def test_a_strided_out_keeps_what_is_between():
    out = to_device(np.full(20, 7)[::2])
    device.histogram(to_device(np.arange(10)), 10, (0, 10), out=out, policy=POLICY)
    assert out.memory.copy_to_host().view(np.int64).tolist() == [1, 7] * 10


def test_fewer_items():
    x, count = values(np.float32, 400), cuda.to_device(np.zeros(1, np.int32))
    for n in (0, 1, 130, 400, 900):
        count.copy_to_device(np.array([n], np.int32))
        right = expected(x[:n], 9, (-8, 8))
        got = device.histogram(to_device(x), 9, (-8, 8), num_items=count, policy=POLICY)
        np.testing.assert_array_equal(got.copy_to_host(), right)
        if n <= 400:
            got = device.histogram(to_device(x), 9, (-8, 8), num_items=n, policy=POLICY)
            np.testing.assert_array_equal(got.copy_to_host(), right)
    count.copy_to_device(np.zeros(1, np.int32))
    assert device.histogram(to_device(x), 3, num_items=count).copy_to_host().tolist() == [0, 0, 0]
    assert device.bincount(to_device(np.arange(5)), num_items=count).shape == (0,)


def test_on_several_streams():
    x = to_device(values(np.float32, 400))
    right = expected(values(np.float32, 400), 8, (-8, 8)).tolist()
    for stream in (wk.Stream(), wk.Stream(), 2, None):
        out = result(np.int64, 8)
        for _ in range(2):
            device.histogram(x, 8, (-8, 8), out=out, stream=stream, policy=POLICY)
        machine.synchronize()
        assert out.copy_to_host().tolist() == right


def test_prepared():
    x, out = cuda.to_device(values(np.float32, 400)), result(np.int64, 8)
    call = wk.prepare(device.histogram, x, 8, (-8, 8), out=out, policy=POLICY)
    for seed in (3, 4):
        x.copy_to_device(values(np.float32, 400, seed))
        assert call() is out
        assert out.copy_to_host().tolist() == expected(values(np.float32, 400, seed), 8, (-8, 8)).tolist()
    call.bind(x=to_device(np.zeros(5, np.float32)))()
    assert out.copy_to_host().tolist() == [0, 0, 0, 0, 5, 0, 0, 0]
    numbers = wk.prepare(device.bincount, to_device(np.array([1, 3, 1])))
    assert numbers().copy_to_host().tolist() == [0, 2, 0, 1]
    with pytest.raises(
        TypeError, match=r"^bind: bincount has no argument 'minlength' to replace, only x, out, num_items"
    ):
        numbers.bind(minlength=3)


def test_edges_of_the_device():
    edges = cuda.to_device(np.array([0, 2, 5], np.float32))
    x = values(np.float64, 300)
    got = device.histogram(to_device(x), edges, policy=POLICY).copy_to_host()
    np.testing.assert_array_equal(got, expected(x, np.array([0, 2, 5.0])))


# ------------------------------------------------------------------ refusals

X = np.arange(10, dtype=np.float32)
REFUSED = {
    "weights": (lambda x: device.histogram(x, weights=x), r"^histogram: weights= does not exist"),
    "weights of numbers": (lambda x: device.bincount(x, weights=x), r"^bincount: weights= does not exist"),
    "a rule": (lambda x: device.histogram(x, "auto"), "^histogram: bins must be a number or edges; there is no rule"),
    "no bins": (lambda x: device.histogram(x, 0), r"^histogram: bins must be 1 to 2\^31 - 1, not 0"),
    "half a range": (lambda x: device.histogram(x, 3, (1,)), "^histogram: range must be two numbers"),
    "a float of bins": (
        lambda x: device.histogram(x, 16.0, (0, 1)),
        r"^histogram: bins must be an int or edges, and the float 16\.0 is neither; write int\(bins\)",
    ),
    "NumPy's float of bins": (lambda x: device.histogram(x, np.float32(3)), r"^histogram: bins must be an int or .* 3"),
    "both": (lambda x: device.histogram(x, [1, 2], (1, 2)), "^histogram: range= has no meaning beside"),
    "one edge": (lambda x: device.histogram(x, [1]), "^histogram: bins must be at least two edges"),
    "unsorted edges": (lambda x: device.histogram(x, [1, 3, 2]), "^histogram: the edges in bins must ascend"),
    "edges of NaN": (lambda x: device.histogram(x, [1, np.nan, 2]), "^histogram: the edges in bins must ascend"),
    "two axes of edges": (lambda x: device.histogram(x, np.eye(2)), "^histogram: the edges in bins must have one axis"),
    "complex edges": (lambda x: device.histogram(x, [1j, 2]), "^histogram: the edges in bins must be integers or"),
    "complex items": (lambda x: device.histogram(to_device(X * 1j)), "^histogram: x must hold numbers that have an"),
    "records": (lambda x: device.histogram(to_device(np.zeros(3, "i4,f4"))), "^histogram: x must hold numbers that"),
    "too many bins": (lambda x: device.histogram(x, 10**6, (1000, 1001)), "^histogram: 1000000 bins are too many for"),
    "out of another dtype": (
        lambda x: device.histogram(x, 3, (0, 1), out=result("i2", 3)),
        "^histogram: out must be one of int32, uint32, int64, uint64, float64, on which",
    ),
    "out of another size": (
        lambda x: device.histogram(x, 3, (0, 1), out=result("i8", 4)),
        r"^histogram: out must have shape \(3,\), as the result has, not \(4,\)",
    ),
    "numbers of floats": (lambda x: device.bincount(x), "^bincount: x must hold integers, not float32"),
    "negative numbers": (lambda x: device.bincount(to_device(-X.astype(int))), "^bincount: x must hold no negative"),
    "a negative length": (lambda x: device.bincount(to_device(X.astype(int)), -1), "^bincount: minlength must not be"),
    "a short out": (
        lambda x: device.bincount(to_device(X.astype(int)), 9, out=result("i8", 3)),
        "^bincount: out must have at least minlength = 9 elements, not 3",
    ),
    "a policy": (lambda x: device.histogram(x, policy=3), "^histogram: policy must be a HistogramPolicy, not a int"),
    "threads": (lambda x: device.HistogramPolicy(threads=48), "^HistogramPolicy: threads must be a power of two"),
    "a NumPy array": (lambda x: device.histogram(X), "^x is a NumPy array"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_in_one_sentence(what):
    check_refusal(REFUSED[what], to_device(X))


@large(3)
def test_more_items_than_32_bits_count():
    n = 2**31 + 10
    memory = cuda.device_array(n, np.uint8)
    cuda.cudadrv.driver.device_memset(memory, 5, n)
    for place in (0, 2**31, n - 1):
        memory[place : place + 1].copy_to_device(np.array([200], np.uint8))
    right = np.zeros(256, np.int64)
    right[[5, 200]] = n - 3, 3
    np.testing.assert_array_equal(device.bincount(memory, 256).copy_to_host(), right)
    np.testing.assert_array_equal(device.histogram(memory, 256, (0, 256)).copy_to_host(), right)
    halves = device.histogram(to_device(np.broadcast_to(np.float32(0.5), 2**32 + 5)), 4, (0, 1))
    assert halves.copy_to_host().tolist() == [0, 0, 2**32 + 5, 0]


@pytest.mark.gpu
def test_many_bins():
    x = np.random.default_rng(7).random(10**7, np.float32).astype(np.float64)
    for bins in (16, 4096, 16, 50_000, 300_000, 10**7):
        got = device.histogram(to_device(x), bins, (0, 1)).copy_to_host()
        np.testing.assert_array_equal(got, np.histogram(x, bins, (0, 1))[0])


@pytest.mark.gpu
def test_in_a_graph():
    import torch

    x = torch.zeros(1 << 20, device="cuda")
    out = torch.zeros(64, dtype=torch.int64, device="cuda")
    device.histogram(x, 64, (0, 1), out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        device.histogram(x, 64, (0, 1), out=out)
    for seed in range(5):
        data = np.random.default_rng(seed).random(1 << 20, np.float32)
        x.copy_(torch.from_numpy(data))
        graph.replay()
        np.testing.assert_array_equal(out.cpu().numpy(), np.histogram(data, 64, (0, 1))[0])
