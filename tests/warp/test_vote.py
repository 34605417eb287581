"""Votes: all, any, count, mask of the lanes whose predicate is true; all_equal by `==`."""

import numpy as np
import pytest

import warpkit as wk
from tests import reference
from tests.reference import assert_same, at

from . import kernels
from .kernels import b1, cuda, f32, i32, kernel, u32
from .kinds import COMPOUND, HALVES, PAIR, VECTORS, dummies
from .matrix import FULL, MASKS, NUMBERS, WIDTHS, bit_patterns, label

COUNT = 32 * len(MASKS)


def predicates(seed=20):
    """Return per-lane predicates; some warps are all true, some all false."""
    rng = np.random.default_rng(seed)
    p = rng.random(COUNT) < np.repeat(rng.choice([0.1, 0.5, 0.9], len(MASKS)), 32)
    p.reshape(-1, 32)[::4] = True
    p.reshape(-1, 32)[1::4] = False
    return p


def mask_of(p, warp, lanes):
    """Return the mask of the lanes whose predicate is true."""
    return sum(1 << lane for lane in lanes if p[warp * 32 + lane])


def counts_before(p, warp, lanes):
    """Return, per lane, how many participants before it are true."""
    return [mask_of(p, warp, [k for k in lanes if k < lane]).bit_count() for lane in lanes]


VOTES = {
    "all": (wk.warp_active_all, np.bool_, lambda p, w, lanes: [all(at(p, w, lanes))] * len(lanes)),
    "any": (wk.warp_active_any, np.bool_, lambda p, w, lanes: [any(at(p, w, lanes))] * len(lanes)),
    "count_bits": (
        wk.warp_active_count_bits,
        np.int32,
        lambda p, w, lanes: [mask_of(p, w, lanes).bit_count()] * len(lanes),
    ),
    "bit_mask": (wk.warp_active_bit_mask, np.uint32, lambda p, w, lanes: [mask_of(p, w, lanes)] * len(lanes)),
    "prefix_count_bits": (wk.warp_prefix_count_bits, np.int32, counts_before),
}


def background(dtype):
    """Return an array whose items no vote gives where it matters: lanes outside must keep them."""
    return np.arange(COUNT) % 3 == 0 if dtype is np.bool_ else np.full(COUNT, 99, dtype)


@pytest.mark.parametrize("named", [False, True], ids=["implicit", "named"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", VOTES)
def test_votes_of_every_mask_and_width(name, width, named):
    function, dtype, rule = VOTES[name]
    p, out = predicates(), background(dtype)
    expected = reference.over(MASKS, width, lambda warp, lanes: rule(p, warp, lanes), out.copy())
    kernels.launch(kernels.one(function, width, named), MASKS, p, out)
    assert_same(out, expected)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint64], ids=label)
@pytest.mark.parametrize("name", VOTES)
def test_an_integer_is_true_when_it_is_not_0(name, dtype):
    function, kept, rule = VOTES[name]
    p, out = predicates(21), background(kept)
    x = np.where(p, np.arange(COUNT) % 100 + 1, 0).astype(dtype)
    if np.dtype(dtype).itemsize == 8:
        x <<= np.uint64(32)  # true only in the upper half
    expected = reference.over(MASKS, 32, lambda warp, lanes: rule(p, warp, lanes), out.copy())
    kernels.launch(kernels.one(function), MASKS, x, out)
    assert_same(out, expected)


@kernel(i32, b1, i32)
def shift_out(x, same, steps):
    """Shift the ballot of lane 31 to nothing, counting steps; compare a full ballot with the literal."""
    i = cuda.grid(1)
    m = wk.warp_active_bit_mask(x[i] == 31)
    n = 0
    while m:
        m >>= 1
        n += 1
    steps[i] = n
    same[i] = wk.warp_active_bit_mask(x[i] >= 0) == 0xFFFFFFFF


def test_w19_masks_are_unsigned():
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int64)
    kernels.launch(kernels.one(wk.warp_active_bit_mask), np.array([FULL], np.uint32), x == 31, out)
    assert (out == 2147483648).all()
    same, steps = np.zeros(32, np.bool_), np.zeros(32, np.int32)
    shift_out[1, 32](x, same, steps)
    assert same.all()
    assert (steps == 32).all()


@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize("dtype", [np.bool_, *NUMBERS], ids=label)
def test_all_equal_compares_values(dtype, width):
    x, out = bit_patterns(np.uint8, COUNT) % 2, background(np.bool_)
    x.reshape(-1, 32)[::2] = 1  # every second warp agrees; in the others lanes differ
    x = x.astype(dtype)
    expected = reference.over(MASKS, width, lambda w, lanes: [len(set(at(x, w, lanes))) == 1] * len(lanes), out.copy())
    kernels.launch(kernels.one(wk.warp_active_all_equal, width), MASKS, x, out)
    assert_same(out, expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=label)
def test_all_equal_is_by_value_so_zeros_are_equal_and_nans_are_not(dtype):
    masks = np.array([FULL, 0b1000011, FULL], np.uint32)
    x, out = np.zeros(96, dtype), np.zeros(96, np.bool_)
    x[:64:2] = -0.0
    x[64:] = np.nan
    kernels.launch(kernels.one(wk.warp_active_all_equal), masks, x, out)
    assert out[:32].all()
    assert out[[32, 33, 38]].all()
    assert not out[64:].any()


@pytest.mark.parametrize("kind", [k for k in COMPOUND if k in (PAIR, HALVES, *VECTORS)], ids=str)
def test_all_equal_of_vectors_and_tuples_is_one_bool_a_part(kind):
    store = {2: store_bools_2, 3: store_bools_3, 4: store_bools_4}[len(kind.dtypes)]
    rng = np.random.default_rng(22)
    inputs = [
        np.where(np.arange(COUNT) // 32 % (k + 2) == 0, 3, rng.integers(0, 2, COUNT)) for k in range(len(kind.dtypes))
    ]
    inputs = [x.astype(dtype) for x, dtype in zip(inputs, kind.dtypes)]
    outputs = [background(np.bool_) for _ in inputs]
    expected = [
        reference.over(MASKS, 32, lambda w, lanes, x=x: [len(set(at(x, w, lanes))) == 1] * len(lanes), out.copy())
        for x, out in zip(inputs, outputs)
    ]
    run = kernels.columns(wk.warp_active_all_equal, kind.build, store)
    kernels.launch(run, MASKS, *dummies(inputs), *dummies(outputs))
    for got, right in zip(outputs, expected):
        assert_same(got, right, kind.name)


@cuda.jit(device=True)
def store_bools_2(v, a, b, c, d, i):
    """Tuple of two bools."""
    a[i] = v[0]
    b[i] = v[1]


@cuda.jit(device=True)
def store_bools_3(v, a, b, c, d, i):
    """Tuple of three bools."""
    a[i] = v[0]
    b[i] = v[1]
    c[i] = v[2]


@cuda.jit(device=True)
def store_bools_4(v, a, b, c, d, i):
    """Tuple of four bools."""
    a[i] = v[0]
    b[i] = v[1]
    c[i] = v[2]
    d[i] = v[3]


@kernel(f32, u32)
def in_a_loop_with_break(x, out):
    """Count rounds until no lane is left: the ballot must not move out of the loop, nor into a branch."""
    i = cuda.grid(1)
    rounds = 0
    while True:
        left = wk.warp_active_bit_mask(x[i] > rounds, mask=FULL)
        if left == 0:
            break
        rounds += 1
    out[i] = rounds


def test_n09_a_ballot_in_a_loop_with_break_sees_every_lane():
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.uint32)
    in_a_loop_with_break[1, 32](x, out)
    assert (out == 31).all()
