"""Softmax against NumPy: rows of one item to rows in parts, dtypes, layouts, what is not finite, refusals."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import cuda

import warpkit as wk
from tests.room import large
from tests.warp.matrix import FLOATS, SIMULATOR, label
from warpkit import device

from .reductions import result, to_device
from .refusing import check_refusal

SMALL = device.SoftmaxPolicy(words=8, most_threads=64, wide_threads=64, threads=32)
PARTS = device.SoftmaxPolicy(words=8, most_threads=32, wide_threads=32, part_threads=32)  # of more than 256 items
POLICIES = [SMALL, PARTS] if SIMULATOR else [None]
SHAPES = [(1, 1), (5, 1), (3, 3), (9, 8), (4, 33), (2, 64), (3, 250), (3, 300), (2, 301), (2, 302), (2, 900)]
if not SIMULATOR:
    SHAPES += [(70_001, 7), (1000, 256), (300, 1000), (40, 8192), (5, 32_768), (3, 40_000), (2, 10**6), (2, 10**6 + 1)]
ACCURACY = {np.dtype("e"): (2e-3, 1e-7), np.dtype("f"): (1e-5, 1e-30), np.dtype("d"): (1e-14, 1e-300)}


def expected(x):
    """Return the softmax in float64."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        powers = np.exp(x - x.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)


def normal(shape, dtype=np.float32, seed=1, scale=3.0):
    """Return numbers of which some are far from the others."""
    return (np.random.default_rng(seed).normal(0, scale, shape) + 5).astype(dtype)


def check(got, x, dtype):
    """Assert that a softmax is right."""
    got = got.copy_to_host()
    assert got.dtype == dtype
    assert got.shape == x.shape
    relative, absolute = ACCURACY[np.dtype(dtype)]
    np.testing.assert_allclose(got.astype(np.float64), expected(x), relative, absolute)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_length(shape):
    x = normal(shape)
    for policy in [*POLICIES, *([] if SIMULATOR or shape[1] > 1000 else [SMALL, PARTS])]:
        check(device.softmax(to_device(x), policy=policy), x, np.float32)


@pytest.mark.parametrize("dtype", [np.float16, np.float64], ids=label)
@pytest.mark.parametrize("shape", [(9, 8), (3, 33), (2, 600), (2, 301), (2, 302)], ids=str)
def test_other_floats(dtype, shape):
    x = normal(shape, dtype)
    for policy in POLICIES:
        check(device.softmax(to_device(x), policy=policy), x, dtype)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64], ids=label)
def test_integers(dtype):
    x = np.random.default_rng(2).integers(0, 9, (4, 70)).astype(dtype)
    check(device.softmax(to_device(x), policy=SMALL), x, np.float64)


def test_out_of_another_dtype():
    x = normal((4, 96))
    for dtype in FLOATS:
        out = to_device(np.zeros((4, 96), dtype))
        assert device.softmax(to_device(x), out=out, policy=SMALL) is out
        got = out.memory.copy_to_host().view(dtype).reshape(4, 96)
        np.testing.assert_allclose(
            got.astype(float), expected(x), *ACCURACY[np.dtype(min(dtype, np.float32, key=size))]
        )


def size(dtype):
    """Return the bytes of an item."""
    return np.dtype(dtype).itemsize


VIEWS = {
    "one axis": lambda base: base[0],
    "three axes": lambda base: base.reshape(3, 4, 60),
    "columns of a wider matrix": lambda base: base[:, 4:44],
    "some columns": lambda base: base[:, 1:38],
    "every other row": lambda base: base[::2],
    "every third column": lambda base: base[:, ::3],
    "backwards": lambda base: base[::-1, ::-1],
    "in Fortran's order": lambda base: base.T,
    "the same row again": lambda base: np.broadcast_to(base[0], (7, 60)),
    "the same item again": lambda base: np.broadcast_to(base[:, :1], (12, 60)),
    "axes of their own": lambda base: base.reshape(3, 4, 5, 12).transpose(2, 0, 3, 1)[:, ::2],
}


@pytest.mark.parametrize("view", VIEWS)
def test_every_layout(view):
    x = VIEWS[view](normal((12, 60)))
    for policy in POLICIES:
        check(device.softmax(to_device(x), policy=policy), x, np.float32)


@pytest.mark.parametrize(
    "view", ["columns of a wider matrix", "every other row", "in Fortran's order", "axes of their own"]
)
def test_out_in_every_layout_keeps_what_is_between(view):
    memory = np.full((12, 60), 7, np.float32)
    place = VIEWS[view](memory)
    x = normal(place.shape)
    out = to_device(place)
    device.softmax(to_device(x), out=out, policy=SMALL)
    place[...] = expected(x)
    got = out.memory.copy_to_host().view(np.float32).reshape(12, 60)
    np.testing.assert_allclose(got, memory, 1e-5)


@pytest.mark.parametrize("length", [8, 60, 400])
def test_in_place(length):
    x = normal((3, length))
    for policy in POLICIES:
        there = cuda.to_device(x)
        assert device.softmax(there, out=there, policy=policy) is there
        check(there, x, np.float32)


@pytest.mark.parametrize("length", [7, 60, 400])
def test_what_is_not_finite(length):
    x = normal((8, length))
    x[1] = -np.inf
    x[2, length // 2] = np.nan
    x[3, 1] = np.inf
    x[4, : length - 2] = -np.inf
    x[5, length - 1] = -np.inf
    x[6] = np.nan
    x[7, ::2] = -np.inf
    for policy in POLICIES:
        check(device.softmax(to_device(x), policy=policy), x, np.float32)


@pytest.mark.parametrize("length", [7, 400])
def test_far_from_zero(length):
    base = normal((3, length), scale=30)
    for offset in (1e4, -1e4, 3e38):
        x = (base + np.float32(offset)).astype(np.float32)
        for policy in POLICIES:
            check(device.softmax(to_device(x), policy=policy), x, np.float32)
    halves = np.full((2, length), 65500, np.float16)
    check(device.softmax(to_device(halves), policy=SMALL), halves, np.float16)


def test_each_row_by_itself():
    x = normal((6, 40))
    x[2] = np.nan
    for policy in POLICIES:
        got = device.softmax(to_device(x), policy=policy).copy_to_host()
        assert np.isnan(got).any(axis=1).tolist() == [False, False, True, False, False, False]
        np.testing.assert_allclose(got.sum(axis=1)[[0, 1, 3, 4, 5]], 1, 1e-6)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0,), (2, 0, 3)], ids=str)
def test_nothing(shape):
    made = device.softmax(to_device(np.zeros(shape, np.float32)))
    assert made.shape == shape


@pytest.mark.parametrize("length", [40, 300])
def test_the_same_bits_again(length):
    x = cuda.to_device(normal((3, length)))
    first = device.softmax(x, policy=PARTS).copy_to_host()
    for _ in range(3):
        np.testing.assert_array_equal(device.softmax(x, policy=PARTS).copy_to_host(), first)


def test_rows_of_different_lengths_one_after_the_other():
    for shape in ((2, 400), (5, 300), (1, 900), (3, 400), (2, 60), (1, 600)):
        x = normal(shape, seed=shape[1])
        check(device.softmax(to_device(x), policy=PARTS), x, np.float32)


def test_rows_that_overlap():
    x = normal(70)
    there = to_device(x)
    there.__cuda_array_interface__ |= {"shape": (30, 40), "strides": (4, 4)}
    right = np.lib.stride_tricks.sliding_window_view(x, 40)[:30]
    check(device.softmax(there, policy=SMALL), right, np.float32)


@pytest.mark.parametrize("length", [60, 400])
def test_prepared(length):
    x = cuda.to_device(normal((3, length)))
    call = wk.prepare(device.softmax, x, policy=PARTS)
    for seed in (2, 3):
        x.copy_to_device(normal((3, length), seed=seed))
        check(call(), normal((3, length), seed=seed), np.float32)
    other, out = normal((2, length)), cuda.to_device(np.zeros((2, length), np.float32))
    assert call.bind(x=to_device(other), out=out)() is out
    check(out, other, np.float32)


@settings(max_examples=15 if SIMULATOR else 60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.integers(1, 5),
    length=st.integers(1, 70),
    items=st.lists(st.floats(-90, 90, width=32) | st.sampled_from([-np.inf, np.inf, np.nan]), min_size=1, max_size=30),
)
def test_random(rows, length, items):
    x = np.resize(np.array(items, np.float32), (rows, length))
    check(device.softmax(to_device(x), policy=SMALL), x, np.float32)


X = np.zeros((2, 3), np.float32)
REFUSED = {
    "a number": (lambda x: device.softmax(3.0), "^softmax: x must be a device array of real numbers, not a float"),
    "a NumPy array": (lambda x: device.softmax(X), "^x is a NumPy array"),
    "complex items": (lambda x: device.softmax(to_device(X * 1j)), "^softmax: x must be a device array of real"),
    "bools": (lambda x: device.softmax(to_device(X > 0)), "^softmax: x must be a device array of .*, not bool"),
    "no axis": (lambda x: device.softmax(to_device(np.array(1.0))), "^softmax: x has no axis"),
    "another axis": (lambda x: device.softmax(x, axis=0), "^softmax: axis must be the last one, -1, not 0"),
    "out of another shape": (
        lambda x: device.softmax(x, out=result("f4", 6)),
        r"^softmax: out must have shape \(2, 3\), as the result has, not \(6,\)",
    ),
    "out of integers": (
        lambda x: device.softmax(x, out=to_device(np.zeros((2, 3), int))),
        "^softmax: float32 does not go into out of int64",
    ),
    "complex out": (
        lambda x: device.softmax(x, out=to_device(X * 1j)),
        "^softmax: out must be of a float dtype, not complex",
    ),
    "shared memory": (lambda x: device.softmax(x[:1], out=x.reshape(6)[1:4].reshape(1, 3)), "^softmax: out shares"),
    "a policy": (lambda x: device.softmax(x, policy=3), "^softmax: policy must be a SoftmaxPolicy, not a int"),
    "words": (lambda x: device.SoftmaxPolicy(words=3), "^SoftmaxPolicy: words must be 8, 16 or 32, not 3"),
    "threads": (lambda x: device.SoftmaxPolicy(threads=48), "^SoftmaxPolicy: threads must be a power of two from 32"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_in_one_sentence(what):
    check_refusal(REFUSED[what], cuda.to_device(X))


@large(8)
def test_more_items_than_32_bits_count():
    rows, length = 3, 1 << 30
    x = cuda.device_array((rows, length), np.float16)
    cuda.cudadrv.driver.device_memset(x, 0, x.nbytes)
    ones = np.full(1 << 15, 10.0, np.float16)
    for row in range(rows):
        x[row][length - ones.size :].copy_to_device(ones)
    device.softmax(x, out=x)
    right = np.exp(10.0) / (ones.size * np.exp(10.0) + length - ones.size)
    for row in range(rows):
        np.testing.assert_allclose(x[row][length - 3 :].copy_to_host().astype(float), right, 0.05)


@large(18)
def test_more_rows_than_32_bits_count_items():
    x = cuda.device_array((1 << 28, 17), np.float16)
    cuda.cudadrv.driver.device_memset(x, 0, x.nbytes)
    made = device.softmax(x)
    for row in (0, (1 << 28) - 1):
        np.testing.assert_allclose(made[row].copy_to_host().astype(float), 1 / 17, 1e-3)


@pytest.mark.gpu
@pytest.mark.parametrize("length", [1000, 200_000])
def test_in_a_graph(length):
    import torch

    x, out = torch.zeros((40, length), device="cuda"), torch.zeros((40, length), device="cuda")
    device.softmax(x, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        device.softmax(x, out=out)
    for seed in range(20):
        x.copy_(torch.from_numpy(normal((40, length), seed=seed)))
        graph.replay()
        torch.testing.assert_close(out, torch.softmax(x, -1))


@pytest.mark.gpu
def test_long_rows_beside_other_work():
    x = cuda.to_device(normal((6, 300_000)))
    right = device.softmax(x).copy_to_host()
    streams = [wk.Stream() for _ in range(3)]
    outs = [cuda.device_array(x.shape, np.float32) for _ in range(30)]
    for k, out in enumerate(outs):
        device.softmax(x, out=out, stream=streams[k % 3])
    for stream in streams:
        stream.synchronize()
    for out in outs:
        np.testing.assert_array_equal(out.copy_to_host(), right)
