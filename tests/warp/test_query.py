"""Who am I: lane and warp numbers in any block shape, masks of lanes, the first lane, one elected lane."""

import math

import numpy as np
import pytest

import warpkit as wk
from tests.reference import WARP, participants

from . import kernels
from .kernels import b1, cuda, i32, kernel, u32
from .matrix import MASKS

COUNT = 32 * len(MASKS)
SHAPES = [(8, 8), (4, 4, 4), (3, 5, 2), (1, 64), (64,), (5,), (1, 1, 33), (2, 3, 11)]


@kernel(i32, i32, i32, u32, b1)
def who(lane, warp, count, active, first):
    """Write every query at the thread's linear index in its block."""
    i = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    lane[i] = wk.warp_lane_id()
    warp[i] = wk.warp_id()
    count[i] = wk.warp_lane_count()
    active[i] = wk.warp_active_mask()
    first[i] = wk.warp_is_first_active_lane()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_w14_lanes_follow_the_linear_index_in_every_block_shape(shape):
    n = math.prod(shape)
    lane, warp, count, active = np.zeros((4, n), np.int32)
    active, first = active.astype(np.uint32), np.zeros(n, np.bool_)
    who[1, shape](lane, warp, count, active, first)
    index = np.arange(n)
    assert (lane == index % 32).all()
    assert (warp == index // 32).all()
    assert (count == 32).all()
    assert (first == (index % 32 == 0)).all()
    assert first.sum() == -(-n // 32)
    last = n // 32 * 32
    assert (active[:last] == 0xFFFFFFFF).all()
    assert (active[last:] == (1 << n % 32) - 1).all()


@pytest.mark.parametrize("shape", [(8, 8), (4, 4, 4)], ids=str)
def test_acceptance_4_two_full_warps_each_see_every_lane_once(shape):
    lane, warp, count, active = np.zeros((4, 64), np.int32)
    who[1, shape](lane, warp, count, active.astype(np.uint32), np.zeros(64, np.bool_))
    for w in (0, 1):
        assert sorted(lane[warp == w]) == list(range(32))


@kernel(u32, u32, u32, u32, u32)
def lane_masks(lt, le, eq, ge, gt):
    """Write the five masks around the own lane."""
    i = cuda.grid(1)
    lt[i] = wk.warp_lane_mask_lt()
    le[i] = wk.warp_lane_mask_le()
    eq[i] = wk.warp_lane_mask_eq()
    ge[i] = wk.warp_lane_mask_ge()
    gt[i] = wk.warp_lane_mask_gt()


def test_the_lane_masks_divide_the_warp_around_the_own_lane():
    got = np.zeros((5, 64), np.uint32)
    lane_masks[1, 64](*got)
    for i in range(64):
        eq = 1 << i % 32
        below = eq - 1
        assert [int(v) for v in got[:, i]] == [below, below | eq, eq, 0xFFFFFFFF ^ below, 0xFFFFFFFF ^ below ^ eq]


@kernel(u32, u32, i32, b1, b1)
def under_a_mask(masks, active, first, is_first, elected):
    """Ask in the lanes of a mask, which the hardware knows by itself."""
    i = cuda.grid(1)
    if kernels.takes_part(masks[i // 32], i):
        active[i] = wk.warp_active_mask()
        first[i] = wk.warp_first_active_lane()
        is_first[i] = wk.warp_is_first_active_lane()
        elected[i] = wk.warp_elect()


@kernel(u32, u32, i32, b1, b1)
def under_a_named_mask(masks, active, first, is_first, elected):
    """Ask in the lanes of a mask, which is passed."""
    i = cuda.grid(1)
    mask = masks[i // 32]
    if kernels.takes_part(mask, i):
        active[i] = mask
        first[i] = wk.warp_first_active_lane(mask)
        is_first[i] = wk.warp_is_first_active_lane(mask)
        elected[i] = wk.warp_elect(mask)


@pytest.mark.parametrize("run", [under_a_mask, under_a_named_mask], ids=["implicit", "named"])
def test_first_and_elected_lanes_of_every_mask(run):
    active, first = np.zeros(COUNT, np.uint32), np.full(COUNT, -1, np.int32)
    is_first, elected = np.zeros((2, COUNT), np.bool_)
    kernels.launch(run, MASKS, active, first, is_first, elected)
    for warp, mask in enumerate(MASKS):
        here = slice(warp * WARP, warp * WARP + WARP)
        lanes = participants(mask)
        on = np.isin(np.arange(32), lanes)
        low = lanes[0] if lanes else -1
        assert (active[here] == np.where(on, mask, 0)).all()
        assert (first[here] == np.where(on, low, -1)).all()
        assert (is_first[here] == (np.arange(32) == low)).all()
        assert elected[here].sum() == bool(lanes)
        assert not elected[here][~on].any()


def test_compute_warp_size_is_32():
    assert wk.compute_warp_size() == 32
    assert wk.compute_warp_size(device=None) == 32


@kernel(i32)
def sized(out):
    """State the warp size, as LuisaCompute's kernels do."""
    wk.set_warp_size(32)
    out[cuda.grid(1)] = wk.warp_lane_count()


def test_set_warp_size_accepts_32():
    out = np.zeros(32, np.int32)
    sized[1, 32](out)
    assert (out == 32).all()
