"""Grid reductions: one block gets the total, in block order, launch after launch."""

import functools

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.reference import fold
from tests.warp import operators
from tests.warp.matrix import NUMBERS, SIMULATOR, label, random_bits
from warpkit.simt.states import state_dtype

from .kernels import place
from .refusing import check_refusal, launch_or_compile


@functools.cache
def reducing(op):
    """Kernel: out[i] = total and last[i] = is_last, for every thread of the launch."""

    @cuda.jit
    def run(x, out, last, scratch):
        i = place()[2]
        is_last, total = wk.grid_reduce(x[i], op, scratch)
        out[i] = total
        last[i] = is_last

    return run


def reduce(op, x, block, scratch):
    """Reduce all of `x`; return (total, the totals of the other blocks), each checked to be the same in its threads."""
    threads = int(np.prod(block))
    out, last = np.zeros_like(x), np.zeros(len(x), bool)
    reducing(op)[len(x) // threads, block](x, out, last, scratch)
    out, last = out.reshape(-1, threads), last.reshape(-1, threads)
    assert (out == out[:, :1]).all()
    assert (last == last[:, :1]).all()
    assert last[:, 0].sum() == 1
    return out[last[:, 0], 0][0], {b: out[b, 0] for b in np.flatnonzero(~last[:, 0])}


@pytest.mark.parametrize("dtype", NUMBERS, ids=label)
def test_every_number_type(dtype):
    rng = np.random.default_rng(6)
    x = random_bits(dtype, 200, rng) if np.dtype(dtype).kind in "iu" else rng.integers(-8, 8, 200).astype(dtype)
    scratch = wk.grid_scratch(5, dtype)
    for _ in range(2):
        total, others = reduce(wk.add, x, 40, scratch)
        assert total == x.sum(dtype=dtype)
        assert all(part == x[40 * b : 40 * b + 40].sum(dtype=dtype) for b, part in others.items())


@pytest.mark.parametrize("block", [(1,), (31,), (8, 5), (64,)], ids=str)
@pytest.mark.parametrize("blocks", [1, 2, 7, 40])
def test_every_shape_more_blocks_than_threads_too(block, blocks):
    threads = int(np.prod(block))
    x = np.zeros(blocks * threads, np.int32)
    x[:: max(1, threads - 3)] = np.arange(len(x[:: max(1, threads - 3)])) + 1
    total, _ = reduce(operators.last_nonzero, x, block, wk.grid_scratch(50, np.int32))
    assert total == fold(operators.py_last_nonzero, x.tolist())


def test_operands_stay_in_order():
    x = np.zeros(58 * 3, np.int64)  # 58 bits, spread
    x[::3] = np.random.default_rng(1).integers(0, 2, 58) << 6 | 1
    total, _ = reduce(operators.append_bits, x, 6, wk.grid_scratch(29, np.int64))
    assert total == fold(operators.py_append_bits, x.tolist())


@cuda.jit
def affine_grid(a, b, out, scratch):
    """Compose the affine maps of the whole grid."""
    i = cuda.grid(1)
    is_last, total = wk.grid_reduce((a[i], b[i]), operators.affine, scratch)
    if is_last and cuda.threadIdx.x == 0:
        out[0] = total[0]
        out[1] = total[1]


@pytest.mark.parametrize("dtype", [np.int32, np.int64], ids=label)
def test_tuples(dtype):
    a, b = (random_bits(dtype, 99, np.random.default_rng(s)) for s in (1, 2))
    out, scratch = np.zeros(2, dtype), wk.grid_scratch(9, (dtype, dtype))
    for _ in range(2):
        affine_grid[9, 11](a, b, out, scratch)
        assert tuple(out.tolist()) == fold(operators.py_affine(dtype), list(zip(a.tolist(), b.tolist())))


def test_grids_of_different_sizes_one_after_the_other():
    scratch = wk.grid_scratch(30, np.int32)
    for blocks in (30, 1, 17, 2):
        total, _ = reduce(wk.add, np.arange(blocks * 8, dtype=np.int32), 8, scratch)
        assert total == np.arange(blocks * 8).sum()


@pytest.mark.gpu
def test_large_grids():
    for blocks, threads in ((100_000, 32), (4096, 256), (132, 1024)):
        total, _ = reduce(wk.add, np.ones(blocks * threads, np.int64), threads, wk.grid_scratch(blocks, np.int64))
        assert total == blocks * threads


@pytest.mark.everywhere
def test_host_refusals():
    with pytest.raises(ValueError, match="must not be negative"):
        wk.grid_scratch(-1, np.int32)
    with pytest.raises(ValueError, match="num_tiles must be 0 to"):
        wk.tile_states(-1, np.int32)
    for make in (wk.grid_scratch, wk.tile_states):
        for dtype in (object, "S3", "M8[s]", [("a", "f4", 3)]):
            with pytest.raises(wk.Refused, match="dtype must be a NumPy number"):
                make(3, dtype)


BAD = {
    "no scratch": (lambda s, v: wk.grid_reduce(v, wk.add, v), "scratch must come from grid_scratch"),
    "another array": (lambda s, v: wk.grid_reduce(v, wk.add, s), "need an array from tile_states or grid_scratch"),
    "no states": (lambda s, v: wk.lookback_next_tile(v, 3), "states must come from tile_states"),
    "other states": (lambda s, v: wk.lookback_publish(s, 0, v), "need an array from tile_states or grid_scratch"),
    "no tile": (lambda s, v: wk.lookback_publish(s, v, v), "tile must be an integer"),
    "no operator": (lambda s, v: wk.lookback_exclusive_prefix(s, 0, v, 3, 0), "op must be a function"),
    "an operator as init": (lambda s, v: wk.lookback_exclusive_prefix(s, 0, v, wk.add, wk.add), "init must be a value"),
    "no number of tiles": (lambda s, v: wk.lookback_next_tile(s, v), "num_tiles must be an integer"),
}


@pytest.mark.everywhere
@pytest.mark.parametrize("what", BAD)
def test_refusals(what):
    check_refusal(BAD[what], np.zeros(4, np.float32), np.zeros(1, np.float32))


@pytest.mark.everywhere
def test_a_float_does_not_go_into_states_of_integers():
    @cuda.jit
    def run(states, x):
        wk.lookback_publish(states, 0, x[0])

    states = states_for_typing(np.int32)
    with pytest.raises(wk.Refused, match=r"a value of float32 does not go into states of int32"):
        launch_or_compile(run, states, np.zeros(1, np.float32))


def states_for_typing(dtype):
    """Return states as the machine at hand has them; without a GPU a host array of the same type."""
    return wk.tile_states(3, dtype) if SIMULATOR else np.zeros(19, state_dtype(np.dtype(dtype)))
