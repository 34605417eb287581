"""Numba's own warp, vote, match, barrier and grid calls in unchanged kernels, with Numba's result types."""

import numpy as np
import pytest
from numba import cuda

from warpkit.errors import Refused
from warpkit.simt.simulator.scalars import Int32, Int64, UInt32

FULL = 0xFFFFFFFF


def each_lane(body, lanes=32):
    """Run `body(lane)` in every lane of one warp; return the results in lane order."""
    results = {}

    @cuda.jit
    def kernel():
        results[int(cuda.laneid)] = body(cuda.laneid)

    kernel[1, lanes]()
    return [results[lane] for lane in range(lanes)]


def test_shuffles_read_the_lane_they_name_and_keep_their_own_at_the_edges():
    lanes = list(range(32))
    assert each_lane(lambda lane: cuda.shfl_sync(FULL, lane, lane + 5)) == [(lane + 5) % 32 for lane in lanes]
    assert each_lane(lambda lane: cuda.shfl_up_sync(FULL, lane, 3)) == [
        max(lane - 3, lane if lane < 3 else 0) for lane in lanes
    ]
    assert each_lane(lambda lane: cuda.shfl_down_sync(FULL, lane, 3)) == [
        lane + 3 if lane < 29 else lane for lane in lanes
    ]
    assert each_lane(lambda lane: cuda.shfl_xor_sync(FULL, lane, 5)) == [lane ^ 5 for lane in lanes]


def test_shuffle_distances_use_their_low_five_bits():
    lanes = list(range(32))
    assert each_lane(lambda lane: cuda.shfl_up_sync(FULL, lane, 32)) == lanes
    assert each_lane(lambda lane: cuda.shfl_up_sync(FULL, lane, -1)) == [*range(31), 0]
    assert each_lane(lambda lane: cuda.shfl_sync(-1, lane, -1)) == [31] * 32


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
def test_shuffles_keep_type_and_bits(dtype):
    values = (np.arange(32) * 0.25 - 3).astype(dtype)
    got = each_lane(lambda lane: cuda.shfl_xor_sync(FULL, values[lane], 1))
    assert np.array(got).dtype == dtype
    assert np.array(got).tobytes() == values[np.arange(32) ^ 1].tobytes()


@pytest.mark.parametrize("dtype", ["u4", "i2", "f2", "?"])
def test_shuffles_refuse_what_numba_refuses(dtype):
    with pytest.raises(Refused, match="takes int32, int64, float32 or float64, not"):
        each_lane(lambda lane: cuda.shfl_sync(FULL, np.dtype(dtype).type(1), 0))


def test_votes_and_masks_have_numba_types():
    assert each_lane(lambda lane: cuda.all_sync(FULL, lane >= 0)) == [True] * 32
    assert each_lane(lambda lane: cuda.all_sync(FULL, lane > 0)) == [False] * 32
    assert each_lane(lambda lane: cuda.any_sync(FULL, lane == 31)) == [True] * 32
    assert each_lane(lambda lane: cuda.any_sync(FULL, 0)) == [False] * 32
    assert each_lane(lambda lane: cuda.eq_sync(FULL, lane < 99)) == [True] * 32
    assert each_lane(lambda lane: cuda.eq_sync(FULL, lane < 9)) == [False] * 32
    ballot = each_lane(lambda lane: cuda.ballot_sync(FULL, lane == 31))
    assert ballot == [-(2**31)] * 32
    assert type(ballot[0]) is Int32
    active = each_lane(lambda lane: cuda.activemask(), 20)
    assert active == [0xFFFFF] * 20
    assert type(active[0]) is UInt32
    below = each_lane(lambda lane: cuda.lanemask_lt())
    assert below == [(1 << lane) - 1 for lane in range(32)]
    assert type(below[0]) is UInt32
    assert type(each_lane(lambda lane: cuda.grid(1))[0]) is Int64
    assert type(each_lane(lambda lane: cuda.threadIdx.x)[0]) is Int32
    assert each_lane(lambda lane: cuda.warpsize + 0) == [32] * 32


def test_matches_compare_bits():
    keys = np.array([0.0, -0.0, np.nan, 1.5], np.float32)
    got = each_lane(lambda lane: cuda.match_any_sync(FULL, keys[lane % 4]))
    assert [g & FULL for g in got] == [sum(1 << o for o in range(lane % 4, 32, 4)) for lane in range(32)]
    assert type(got[0]) is Int32
    assert each_lane(lambda lane: cuda.match_all_sync(0xF, lane * 0) if lane < 4 else None)[:4] == [(0xF, True)] * 4
    assert each_lane(lambda lane: cuda.match_all_sync(FULL, lane // 31))[0] == (0, False)


def test_syncwarp_waits_in_partial_warps_and_after_returns():
    out = np.zeros(48, np.int64)

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i % 5 == 0:
            return
        s = cuda.shared.array(48, np.int64)
        s[i] = i
        cuda.syncwarp()
        neighbour = i ^ 1
        if neighbour % 5:
            out[i] = s[neighbour]

    kernel[1, 48](out)
    assert out.tolist() == [i ^ 1 if i % 5 and (i ^ 1) % 5 else 0 for i in range(48)]


def test_block_barriers_and_their_predicates():
    out = np.zeros((2, 80, 4), np.int64)

    @cuda.jit
    def kernel(out):
        t, b = cuda.threadIdx.x, cuda.blockIdx.x
        s = cuda.shared.array(80, np.int32)
        s[t] = t + b
        cuda.syncthreads()
        out[b, t, 0] = s[79 - t]
        out[b, t, 1] = cuda.syncthreads_count(t % 3 == 0)
        out[b, t, 2] = cuda.syncthreads_and(t >= b)
        out[b, t, 3] = cuda.syncthreads_or(t == 90 - b * 20)

    kernel[2, 80](out)
    for b in range(2):
        assert (out[b, :, 0] == 79 - np.arange(80) + b).all()
        assert (out[b, :, 1:] == [27, 1 - b, b]).all()


@pytest.mark.parametrize("blocks", [1, 5, 20])
def test_grid_sync_waits_for_every_block(blocks):
    out = np.zeros((blocks, 33), np.int64)

    @cuda.jit
    def kernel(cells, out):
        group = cuda.cg.this_grid()
        b, t = cuda.blockIdx.x, cuda.threadIdx.x
        for turn in range(3):
            cells[b, t] = b + turn
            group.sync()
            out[b, t] += cells[(b + 1) % cuda.gridDim.x, t]
            group.sync()

    kernel[blocks, 33](np.zeros_like(out), out)
    expected = 3 * ((np.arange(blocks) + 1) % blocks) + 3
    assert (out == expected[:, None]).all()
    assert kernel.overloads[()].max_cooperative_grid_blocks(64) >= 1


def test_blocks_are_interleaved_so_that_one_can_wait_for_another():
    @cuda.jit
    def kernel(flags, order):
        b = cuda.blockIdx.x
        last = cuda.gridDim.x - 1
        if b < last:
            while flags[b + 1] == 0:
                cuda.nanosleep(20)
        order[cuda.atomic.add(order, last + 1, 1)] = b
        cuda.atomic.exch(flags, b, 1)

    for blocks in (4, 30):
        order = np.zeros(blocks + 1, np.int32)
        kernel[blocks, 1](np.zeros(blocks, np.int32), order)
        assert order[:-1].tolist() == list(range(blocks))[::-1]
