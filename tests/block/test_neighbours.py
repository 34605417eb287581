"""What a thread asks its neighbours: discontinuity, adjacent difference, block shuffle."""

import functools
import operator

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.reference import assert_same
from tests.warp.kinds import RECORDS
from tests.warp.matrix import NUMBERS, bit_patterns, label, sentinel

from .items import moved, tiles
from .kernels import OF_1024_THREADS, item, launch
from .matrix import FEW, SIMULATOR, threads

SHAPES = [(1,), (2,), (33,)] if SIMULATOR else FEW


@cuda.jit(device=True)
def far(a, b):
    """Say whether two items are more than 2 apart, in this order."""
    return b - a > 2


@functools.cache
def flagging(op, size, dtype):
    """Kernel: masks and flags of heads and tails."""

    @cuda.jit(**OF_1024_THREADS)
    def run(x, heads, head_flags, tails, tail_flags):
        i = item()
        items, flags = wk.local_array(size, dtype), wk.local_array(size, np.int8)
        for k in range(size):
            items[k] = x[i * size + k]
        heads[i] = wk.block_discontinuity_heads(items, op)
        tails[i] = wk.block_discontinuity_tails(items, op)
        wk.block_discontinuity_heads(items, op, flags)
        for k in range(size):
            head_flags[i * size + k] = flags[k]
        wk.block_discontinuity_tails(items, op, flags)
        for k in range(size):
            tail_flags[i * size + k] = flags[k]

    return run


OPS = {"ne": (operator.ne, lambda a, b: a != b), "far": (far, lambda a, b: b - a > 2)}


@pytest.mark.parametrize("shape", SHAPES, ids=label)
@pytest.mark.parametrize("size", [1, 3, 33])
@pytest.mark.parametrize("op", OPS)
def test_heads_and_tails(op, size, shape):
    device, plain = OPS[op]
    x = np.random.default_rng(1).integers(0, 4, 2 * size * threads(shape)).astype(np.int32)
    masks = [np.zeros(2 * threads(shape), np.uint32) for _ in range(2)]
    flags = [np.zeros(len(x), np.int8) for _ in range(2)]
    launch(flagging(device, size, np.int32), shape, x, masks[0], flags[0], masks[1], flags[1])
    heads = np.concatenate([np.r_[True, plain(t[:-1], t[1:])] for t in tiles(x)])
    tails = np.concatenate([np.r_[plain(t[:-1], t[1:]), True] for t in tiles(x)])
    for mask, flag, expected in zip(masks, flags, (heads, tails)):
        assert (flag == expected).all()
        bits = (expected.reshape(-1, size)[:, :32].astype(np.uint64) << np.arange(min(size, 32), dtype=np.uint64)).sum(
            1
        )
        assert (mask == bits).all()


@cuda.jit(device=True)
def subtract(items):
    """Subtract the item before."""
    wk.block_adjacent_difference(items, operator.sub)


@pytest.mark.parametrize("shape", SHAPES, ids=label)
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.complex64], ids=label)
def test_adjacent_differences_are_those_of_numpy(dtype, shape):
    size = 3
    x = np.random.default_rng(2).integers(0, 100, 2 * size * threads(shape)).astype(dtype)
    out = sentinel(dtype, len(x))
    launch(moved(subtract, size, dtype), shape, x, out)
    assert_same(out, np.concatenate([np.r_[t[:1], np.diff(t)] for t in tiles(x)]))


# ------------------------------------------------------------------ block shuffle


@functools.cache
def shuffling(function, filled, own=0, dtype=np.int32):
    """Kernel: out[i] = function(x[i], delta[i], fill[0])."""
    if own:

        @cuda.jit
        def run(x, delta, fill, out):
            i = item()
            out[i] = function(x[i], delta[i], fill[0], wk.shared_array(own, dtype))
    elif filled:

        @cuda.jit
        def run(x, delta, fill, out):
            i = item()
            out[i] = function(x[i], delta[i], fill[0])
    else:

        @cuda.jit
        def run(x, delta, fill, out):
            i = item()
            out[i] = function(x[i], delta[i])

    return run


def shifted(x, delta, size, fill):
    """Return x[i + delta[i]] within the blocks of `size`, `fill` (None: own) outside."""
    out = x.copy()
    for i, d in enumerate(delta.tolist()):
        inside = 0 <= i % size + d < size
        out[i] = x[i + d] if inside else x[i] if fill is None else fill
    return out


DELTAS = [0, 1, 2, 31, 32, 33, -1, -40, 1 << 31, (1 << 32) + 1, -(1 << 62)]


@pytest.mark.parametrize("shape", SHAPES, ids=label)
def test_shuffles_reach_any_distance(shape):
    x = np.arange(1, 2 * threads(shape) + 1, dtype=np.int32)
    fill, out = np.array([-7], np.int8), np.zeros_like(x)
    for d in DELTAS:
        delta = np.full(len(x), d)
        for function, sign in ((wk.block_shuffle_down, 1), (wk.block_shuffle_up, -1)):
            launch(shuffling(function, True), shape, x, delta, fill, out)
            assert_same(out, shifted(x, sign * delta, threads(shape), -7), f"delta {d}")
            launch(shuffling(function, False), shape, x, delta, fill, out)
            assert_same(out, shifted(x, sign * delta, threads(shape), None), f"delta {d}")


@pytest.mark.parametrize("own", [1, 7, 40, 100])
def test_threads_may_differ_and_an_own_scratch_of_any_length_will_do(own):
    x, out = np.arange(1, 81, dtype=np.int32), np.zeros(80, np.int32)
    delta = np.random.default_rng(3).integers(-50, 50, 80)
    launch(shuffling(wk.block_shuffle_down, True, own), (40,), x, delta, np.array([-7], np.int32), out)
    assert_same(out, shifted(x, delta, 40, -7))


@pytest.mark.parametrize("dtype", [*NUMBERS, *RECORDS], ids=label)
def test_a_shuffle_moves_the_bits_of_every_type(dtype):
    dtype = np.dtype(RECORDS.get(dtype, dtype))
    x, out = bit_patterns(dtype, 66), np.zeros(66, dtype)
    launch(shuffling(wk.block_shuffle_up, False), (33,), x, np.ones(66, np.int8), x[:1], out)
    expected = shifted(x, -np.ones(66, np.int8), 33, None)
    for field in dtype.names or [...]:
        assert out[field].tobytes() == expected[field].tobytes()


def test_more_values_than_the_pool_holds_take_more_rounds():
    x = bit_patterns(np.complex128, 600 if SIMULATOR else 1024)
    out = np.zeros_like(x)
    launch(shuffling(wk.block_shuffle_up, False), (len(x),), x, np.full(len(x), 513), x[:1], out, blocks=1)
    assert out.tobytes() == shifted(x, np.full(len(x), -513), len(x), None).tobytes()
