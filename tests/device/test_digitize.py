"""Digitising against NumPy: dtypes, edges up and down, in host and device memory, layouts, NaN, refusals."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import cuda

import warpkit as wk
from tests.warp.matrix import SIMULATOR, label
from warpkit import device

from .reductions import LAYOUTS, laid_out, result, to_device
from .refusing import check_refusal
from .test_histogram import values

SMALL = device.TransformPolicy(32, 1)
POLICIES = [SMALL] if SIMULATOR else [None]
MANY = 150 if SIMULATOR else 100_003
EDGES = {
    "ascending": [-9, 0, 0, 4.5, 5, 5, 60],
    "descending": [30, 2.5, 2, 2, -7],
    "the same": [1, 1, 1],
    "one": [2],
    "none": np.zeros(0),
    "integers": np.array([-3, 1, 2, 100], np.int16),
    "halves": np.array([-3, 0.5, 2], np.float16),
    "infinite": [-np.inf, 0, np.inf],
}


def single(x):
    """Return halves as float32, as they are compared."""
    x = np.asarray(x)
    return x.astype(np.float32) if x.dtype == np.float16 else x


def check(x, bins, **options):
    """Assert that bins are NumPy's, with edges of the host and of the device."""
    for right in (False, True):
        expected = np.digitize(single(x), single(bins), right)
        there = to_device(np.asarray(bins)) if len(bins) else bins
        for edges in (bins, there):
            for policy in POLICIES:
                got = device.digitize(to_device(x), edges, right, policy=policy, **options).copy_to_host()
                assert got.dtype == np.int64
                np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.uint64, np.float16, np.float64] if SIMULATOR else [np.int8, np.float16], ids=label
)
def test_every_kind_of_item(dtype):
    for edges in ("ascending", "descending"):
        check(values(dtype, MANY), EDGES[edges])


@pytest.mark.parametrize("edges", EDGES)
def test_every_kind_of_edges(edges):
    x = np.concatenate([values(np.float64, MANY), single(np.asarray(EDGES[edges], float))])
    check(x, EDGES[edges])
    check(values(np.float32, 1), EDGES[edges])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(layout):
    x = laid_out(layout, MANY, lambda count: values(np.float32, count))
    np.testing.assert_array_equal(
        device.digitize(to_device(x), [-3, 0, 4], policy=SMALL).copy_to_host(), np.digitize(x, [-3, 0, 4])
    )


def test_on_and_beside_every_edge():
    edges = np.linspace(-1, 2, 20, dtype=np.float32)
    check(np.concatenate([edges, np.nextafter(edges, np.float32(-9)), np.nextafter(edges, np.float32(9))]), edges)


def test_edges_with_strides():
    edges = np.arange(20.0)[::-3]
    x = np.arange(40) / 2
    got = device.digitize(to_device(x), to_device(edges), policy=SMALL).copy_to_host()
    np.testing.assert_array_equal(got, np.digitize(x, edges))


def test_out_and_num_items():
    x = np.arange(50) / 3
    out = cuda.to_device(np.full(50, -1, np.int32))
    assert device.digitize(to_device(x), [2, 5], out=out, num_items=20, policy=SMALL) is out
    np.testing.assert_array_equal(out.copy_to_host(), np.where(np.arange(50) < 20, np.digitize(x, [2, 5]), -1))
    count = cuda.to_device(np.array([7]))
    device.digitize(to_device(x), [0, 0], out=out, num_items=count, policy=SMALL)
    assert out.copy_to_host()[:8].tolist() == [2] * 7 + [1]


def test_prepared():
    x = cuda.to_device(np.arange(30.0))
    call = wk.prepare(device.digitize, x, [5, 9], True, policy=SMALL)
    np.testing.assert_array_equal(call().copy_to_host(), np.digitize(np.arange(30.0), [5, 9], True))
    found = call.bind(bins=[20, 3])().copy_to_host()
    np.testing.assert_array_equal(found, np.digitize(np.arange(30.0), [20, 3], True))


def test_nothing():
    assert device.digitize(to_device(np.zeros((0, 3))), [1]).shape == (0, 3)


@settings(max_examples=20 if SIMULATOR else 100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    x=st.lists(st.floats(width=32), min_size=1, max_size=40),
    edges=st.lists(st.floats(width=32, allow_nan=False), max_size=9),
    falls=st.booleans(),
    right=st.booleans(),
)
def test_random(x, edges, falls, right):
    edges = np.sort(np.array(edges))
    edges = edges[::-1] if falls else edges
    got = device.digitize(to_device(np.array(x)), edges, right, policy=SMALL).copy_to_host()
    np.testing.assert_array_equal(got, np.digitize(x, edges, right))


X = np.arange(6, dtype=np.float32)
REFUSED = {
    "complex items": (lambda x: device.digitize(to_device(X * 1j), [1]), "^digitize: x must be a device array"),
    "a number": (lambda x: device.digitize(3.0, [1]), "^digitize: x must be a device array of numbers"),
    "records": (lambda x: device.digitize(to_device(np.zeros(3, "i4,f4")), [1]), "^digitize: x must be a device array"),
    "unsorted edges": (lambda x: device.digitize(x, [1, 3, 2]), "^digitize: the edges in bins must ascend or descend"),
    "edges of NaN": (lambda x: device.digitize(x, [1, np.nan]), "^digitize: the edges in bins must ascend or descend"),
    "a number of bins": (lambda x: device.digitize(x, 3), "^digitize: bins must be edges in a sequence"),
    "two axes": (lambda x: device.digitize(x, np.eye(2)), "^digitize: the edges in bins must have one axis"),
    "out of another shape": (
        lambda x: device.digitize(x, [1], out=result("i8", 5)),
        r"^digitize: out must have shape \(6,\), as the result has, not \(5,\)",
    ),
    "out without a sign": (
        lambda x: device.digitize(x, [1], out=result("u8", 6)),
        "^digitize: int64 does not go into out of uint64",
    ),
    "bins that out does not hold": (
        lambda x: device.digitize(x, range(128), out=result("i1", 6)),
        "^digitize: out must be of signed integers that hold 128, the last bin, not of int8; use int64",
    ),
    "neither right nor left": (lambda x: device.digitize(x, [1], "no"), "^digitize: right must be True or False, not "),
    "a policy": (lambda x: device.digitize(x, [1], policy=3), "^digitize: policy must be a TransformPolicy, not a int"),
    "a NumPy array": (lambda x: device.digitize(X, [1]), "^x is a NumPy array"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_in_one_sentence(what):
    check_refusal(REFUSED[what], cuda.to_device(X))


def test_out_is_not_the_edges():
    edges = cuda.to_device(np.arange(6))
    with pytest.raises(TypeError, match=r"^digitize: out is an array that every item is compared with"):
        device.digitize(cuda.to_device(X), edges, out=edges)


def test_integers_are_compared_exactly():
    x = np.array([2**53, 2**53 + 1, 2**53 + 2])
    check(x, np.array([2**53 + 1]))
