"""Lanes: votes, matches, redux and the warp's barrier, on both machines."""

import functools

import numpy as np
import pytest
from numba import cuda

from tests import reference
from tests.reference import assert_same, at
from tests.simt.waist import SCALARS, VALUES, kernel
from tests.warp.kinds import COMPOUND, dummies
from tests.warp.matrix import INTEGERS, MASKS, bit_patterns, label
from warpkit.simt import lanes, memory, ops

COUNT = 32 * len(MASKS)
NARROW = [t for t in INTEGERS if np.dtype(t).itemsize <= 4]


@functools.cache
def voting(vote):
    """Kernel: out[i] = vote(mask, x[i]) in the lanes of a mask."""

    @cuda.jit
    def run(masks, x, out):
        i = cuda.grid(1)
        mask = masks[i // 32]
        if mask >> i % 32 & 1 != 0:
            out[i] = vote(mask, x[i])

    return run


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float32, np.float64], ids=label)
def test_w19_a_ballot_is_unsigned_and_takes_any_predicate(dtype):
    rng = np.random.default_rng(5)
    x = rng.choice(np.array([0, 1, 1, 3, 0, 64]), COUNT).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[::7] = np.nan  # true, as in Python
        x[::5] = -0.0  # false
    out = np.full(COUNT, 99, np.uint32)
    voting(lanes.ballot)[len(MASKS), 32](MASKS, x, out)

    def rule(warp, who):
        true = at(x, warp, who)
        return [sum(1 << k for k, t in zip(who, true) if t)] * len(who)

    assert_same(out, reference.over(MASKS, 32, rule, np.full(COUNT, 99, np.uint32)))


@kernel("uint32", "int32", "boolean")
def agreement(masks, x, out):
    """Each lane asks about its own group of 8, about a tuple and about one flag."""
    i = cuda.grid(1)
    mask = masks[i // 32]
    if mask >> i % 32 & 1 != 0:
        group = mask & lanes.group_lanes(8)
        flags = lanes.all_among(mask, group, (x[i] & 1 != 0, x[i] & 2 != 0, x[i] & 4 != 0))
        out[4 * i] = flags[0]
        out[4 * i + 1] = flags[1]
        out[4 * i + 2] = flags[2]
        out[4 * i + 3] = lanes.all_among(mask, group, x[i] != 7)


def test_all_among_asks_each_lane_about_lanes_of_its_own():
    x = np.random.default_rng(6).choice(np.array([7, 7, 7, 6, 5, 3]), COUNT).astype(np.int32)
    out = np.zeros((COUNT, 4), np.bool_)
    agreement[len(MASKS), 32](MASKS, x, out.reshape(-1))
    expected = np.zeros((COUNT, 4), np.bool_)

    def rule(warp, who):
        mine = at(x, warp, who)
        return [[*(all(v & b for v in mine) for b in (1, 2, 4)), all(v != 7 for v in mine)]] * len(who)

    assert (out == reference.over(MASKS, 8, rule, expected)).all()


def few(dtype, seed):
    """Return values of two or three bit patterns; every third warp holds one only."""
    index = np.random.default_rng(seed).integers(0, 3, COUNT)
    index.reshape(-1, 32)[::3] = 1
    return bit_patterns(dtype, 3, seed)[index]


def alike(keys, warp, who):
    """Return, per lane, the mask of the lanes with the same key."""
    mine = at(keys, warp, who)
    return [sum(1 << k for k, other in zip(who, mine) if other == key) for key in mine]


@pytest.mark.parametrize("name", [*SCALARS, "rec3", "rec6", "rec12", "rec24", "rec16_aligned"])
def test_match_finds_the_same_bits(name):
    x = few(VALUES[name], 7)
    keys, out = [v.tobytes() for v in x], np.full(COUNT, 99, np.uint32)
    voting(lanes.match_any)[len(MASKS), 32](MASKS, x, out)
    assert_same(out, reference.over(MASKS, 32, lambda w, who: alike(keys, w, who), np.full(COUNT, 99, np.uint32)))


@functools.cache
def matching(kind):
    """Kernel for values of several parts: out[i] = match_any(mask, value)."""
    build = kind.build

    @cuda.jit
    def run(masks, a, b, c, d, out):
        i = cuda.grid(1)
        mask = masks[i // 32]
        if mask >> i % 32 & 1 != 0:
            out[i] = lanes.match_any(mask, build(a, b, c, d, i))

    return run


@pytest.mark.parametrize("kind", COMPOUND, ids=str)
def test_parts_match_all_together(kind):
    columns = [few(dtype, 8 + k) for k, dtype in enumerate(kind.dtypes)]
    keys = [b"".join(part.tobytes() for part in row) for row in zip(*columns)]
    out = np.full(COUNT, 99, np.uint32)
    matching(kind)[len(MASKS), 32](MASKS, *dummies(columns), out)
    assert_same(out, reference.over(MASKS, 32, lambda w, who: alike(keys, w, who), np.full(COUNT, 99, np.uint32)))


# ------------------------------------------------------------------ redux

ORDERED = {ops.minimum: reference.minimum, ops.maximum: reference.maximum}
ON_INTEGERS = ORDERED | {
    ops.add: np.add,
    ops.fmin: np.minimum,
    ops.fmax: np.maximum,
    ops.bit_and: np.bitwise_and,
    ops.bit_or: np.bitwise_or,
    ops.bit_xor: np.bitwise_xor,
}


@functools.cache
def reducing(op):
    """Kernel: out[i] = redux(op, mask, x[i]) in the lanes of a mask, where there is one."""

    @cuda.jit
    def run(masks, x, out):
        i = cuda.grid(1)
        mask = masks[i // 32]
        if mask >> i % 32 & 1 != 0:
            if lanes.has_redux(op, x[i]):
                out[i] = lanes.redux(op, mask, x[i])

    return run


def reduced(op, x):
    """Return what `redux` gives, and what folding in lane order gives."""
    meaning = ON_INTEGERS[op]
    out = np.full(COUNT, 77, x.dtype)
    reducing(op)[len(MASKS), 32](MASKS, x, out)
    fold = lambda warp, who: [reference.fold(meaning, at(x, warp, who))] * len(who)
    return out, reference.over(MASKS, 32, fold, np.full(COUNT, 77, x.dtype))


@pytest.mark.parametrize("dtype", NARROW, ids=label)
@pytest.mark.parametrize("op", ON_INTEGERS, ids=label)
def test_redux_of_integers_wraps_and_keeps_the_sign(op, dtype):
    assert_same(*reduced(op, bit_patterns(dtype, COUNT)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32], ids=label)
@pytest.mark.parametrize("op", ORDERED, ids=label)
def test_redux_of_floats_orders_infinities_zeros_and_nan(op, dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    pool = np.array(
        [np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, tiny, -tiny, np.finfo(dtype).max, np.finfo(dtype).min], dtype
    )
    rng = np.random.default_rng(9)
    for share in (1, 2, 4, len(pool)):  # few kinds of values at a time, so that the zeros and others get to win
        x = np.concatenate([rng.choice(rng.permutation(pool)[:share], 32) for _ in MASKS])
        assert_same(*reduced(op, x))
        x[rng.random(COUNT) < 0.03] = np.nan
        x[rng.random(COUNT) < 0.03] = -np.nan
        assert_same(*reduced(op, x))
    assert_same(*reduced(op, bit_patterns(dtype, COUNT)))


@functools.cache
def asking(op):
    """Kernel: out[0] = has_redux(op, x[0])."""

    @cuda.jit
    def run(x, out):
        out[0] = lanes.has_redux(op, x[0])

    return run


@pytest.mark.parametrize("op", ops.IDENTITIES, ids=label)
def test_where_there_is_a_redux(op):
    for name, dtype in SCALARS.items():
        out = np.zeros(1, np.bool_)
        asking(op)[1, 1](np.ones(1, dtype), out)
        expected = (dtype in NARROW and op in ON_INTEGERS) or (name in ("float16", "float32") and op in ORDERED)
        assert out[0] == expected, name


# ------------------------------------------------------------------ the warp's barrier


@kernel("uint32", "int32")
def pass_on_in_shared_memory(masks, out):
    """Each named lane reads what the next named one stored, round after round."""
    me = cuda.threadIdx.x
    mask = masks[cuda.blockIdx.x]
    box = memory.shared_array(32, np.int32)
    if mask >> me & 1 != 0:
        source = (me + 1) % 32
        while mask >> source & 1 == 0:
            source = (source + 1) % 32
        value = np.int32(me)
        for _ in range(3):
            box[me] = value
            lanes.sync_warp(mask)
            value = box[source]
            lanes.sync_warp(mask)
        out[cuda.blockIdx.x * 32 + me] = value


def test_sync_warp_orders_shared_memory_among_the_named_lanes():
    out = np.full(COUNT, -1, np.int32)
    pass_on_in_shared_memory[len(MASKS), 32](MASKS, out)
    rule = lambda warp, who: [who[(n + 3) % len(who)] for n in range(len(who))]
    assert_same(out, reference.over(MASKS, 32, rule, np.full(COUNT, -1, np.int32)))
