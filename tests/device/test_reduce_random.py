"""Reductions of random arrays, layouts, policies and operators, against NumPy and a fold from left to right."""

import functools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.warp.matrix import SIMULATOR
from warpkit import device

from .reductions import NEEDS_ITEMS, NUMPY, data, result, same, to_device

EXAMPLES = 60 if SIMULATOR else 400
MOST = 900 if SIMULATOR else 200_000
DTYPES = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()
policies = st.builds(
    device.ReducePolicy,
    threads=st.sampled_from([32, 64] if SIMULATOR else [32, 64, 256, 1024]),
    loads=st.integers(1, 5),
    waves=st.integers(1, 2),
    least_loads=st.integers(1, 3),
    single_loads=st.sampled_from([1, 40, 500]),
    single_threads=st.sampled_from([32, 64]),
)
slices = st.builds(slice, st.integers(0, 5), st.just(None), st.integers(1, 3))


@given(
    name=st.sampled_from(sorted(NUMPY)),
    dtype=st.sampled_from(DTYPES),
    n=st.integers(0, MOST),
    cut=slices,
    backwards=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
    policy=policies,
)
@settings(max_examples=EXAMPLES)
def test_named_reductions(name, dtype, n, cut, backwards, seed, policy):
    if name in ("min", "max", "argmin", "argmax", "minmax") and np.dtype(dtype).kind == "c":
        name = "sum"
    x = data(name, dtype, n, seed)[cut]
    x = x[::-1] if backwards else x
    if not x.size and name in NEEDS_ITEMS:
        return
    got, expected = getattr(device, name)(to_device(x), policy=policy), NUMPY[name](x)
    if name == "mean" and np.dtype(dtype).str[1:] in ("i8", "u8", "c8"):  # rounded, in another order
        scale = max(np.abs(x.astype(np.complex128)).max(initial=0), 1)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=0, atol=scale * (1e-6 if dtype == "c8" else 1e-13))
        return
    same(got, expected)


def keep_bits(a, b):
    """Keep of two 16-bit halves the lower one of the earlier, the upper one of the later: ordered, associative."""
    return (a & 0xFFFF) | (b & 0xFFFF0000)


@given(
    x=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=MOST if SIMULATOR else 3000),
    repeat=st.integers(1, 1 if SIMULATOR else 40),
    skip=st.integers(0, 3),
    init=st.none() | st.integers(0, 2**32 - 1),
    policy=policies,
)
@settings(max_examples=EXAMPLES)
def test_an_ordered_operator(x, repeat, skip, init, policy):
    memory = np.array([0] * skip + x * repeat, np.uint32)
    items = ([] if init is None else [init]) + x * repeat
    there = to_device(memory[skip:])
    assert device.reduce(there, keep_bits, init=init, policy=policy) == functools.reduce(keep_bits, items)


@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    axes=st.permutations(range(4)),
    steps=st.lists(st.sampled_from([1, 2, -1, -2]), min_size=4, max_size=4),
    policy=policies,
)
@settings(max_examples=EXAMPLES)
def test_any_strides(shape, axes, steps, policy):
    x = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    x = x[tuple(slice(None, None, step) for step in steps[: x.ndim])].transpose(
        [axis for axis in axes if axis < x.ndim]
    )
    there = to_device(x)
    assert device.sum(there, policy=policy) == x.sum()
    assert device.argmax(there, policy=policy) == np.argmax(x)
    assert device.reduce(there, lambda a, b: b, policy=policy) == x.ravel()[-1]
    out = result(np.int64)
    device.min(there, out=out, policy=policy)
    assert out.copy_to_host()[0] == x.min()
