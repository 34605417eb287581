"""Which lanes are together at a call: program order, loops, early returns, masks, callers and helpers."""

import numpy as np
import pytest
from numba import cuda

from warpkit.simt import simulator

FULL = 0xFFFFFFFF


def run(kernel, lanes=32, columns=1, dtype=np.int64):
    out = np.full((lanes, columns), -1, dtype)
    kernel[1, lanes](out)
    return out[:, 0] if columns == 1 else out


def together(lanes):
    return sum(1 << lane for lane in lanes)


def test_both_sides_of_a_branch_are_apart_and_meet_again_after_it():
    @cuda.jit
    def kernel(out):
        lane = cuda.laneid
        if lane % 3 == 0:
            out[lane, 0] = cuda.activemask()
        elif lane % 3 == 1:
            out[lane, 0] = cuda.activemask()
        else:
            pass
        out[lane, 1] = cuda.activemask()

    out = run(kernel, columns=2)
    for lane in range(32):
        assert out[lane, 0] == (-1 if lane % 3 == 2 else together(range(lane % 3, 32, 3)))
        assert out[lane, 1] == FULL


def test_a_side_that_meets_more_often_does_not_shift_the_other():
    @cuda.jit
    def kernel(out):
        lane = cuda.laneid
        if lane < 5:
            for _ in range(lane):
                cuda.activemask()
        out[lane, 0] = cuda.activemask()

    assert (run(kernel) == FULL).all()


def test_lanes_that_left_a_loop_wait_for_those_still_in_it():
    @cuda.jit
    def kernel(out):
        lane = cuda.laneid
        for turn in range(lane + 1):
            out[lane, turn] = cuda.activemask()
        out[lane, 32] = cuda.activemask()

    out = run(kernel, columns=33)
    for lane in range(32):
        for turn in range(lane + 1):
            assert out[lane, turn] == together(range(turn, 32))
        assert out[lane, 32] == FULL


def test_the_condition_of_a_while_is_one_call_though_python_compiles_it_twice():
    @cuda.jit
    def kernel(out):
        lane, turns = cuda.laneid, 0
        if lane >= 16:
            while cuda.ballot_sync(0xFFFF0000, turns < 2) != 0:
                turns += 1
        while turns < lane % 4 and cuda.activemask() != 0:
            turns += 1
            out[lane, 0] = turns
        out[lane, 1] = cuda.activemask()

    out = run(kernel, columns=2)
    assert (out[:, 1] == FULL).all()


def test_a_finally_that_python_compiles_for_each_way_out_is_one_call():
    def helper(lane):
        try:
            if lane % 2:
                return lane
            lane += 1
        finally:
            together.append(int(cuda.activemask()))
        return lane

    @cuda.jit
    def kernel(out):
        out[cuda.laneid, 0] = helper(cuda.laneid)

    together = []
    run(kernel)
    assert together == [FULL] * 32


def test_break_continue_and_early_return():
    """A lane that skips the call in one turn waits at it in the next: the same call, so those behind join it there."""

    @cuda.jit
    def kernel(out):
        lane = cuda.laneid
        if lane == 7:
            return
        for turn in range(4):
            if turn == 1 and lane % 2:
                continue
            if turn == 2 and lane < 10:
                break
            out[lane, turn] = cuda.activemask()
        out[lane, 4] = cuda.activemask()

    out = run(kernel, columns=5)
    alive = [lane for lane in range(32) if lane != 7]
    assert out[0, 0] == together(alive)
    assert out[0, 1] == together(lane for lane in alive if lane % 2 == 0 or lane >= 10)
    assert (out[1, 1], out[0, 2]) == (-1, -1)
    assert out[3, 4] == together(alive)
    assert (out[7] == -1).all()


def test_a_helper_called_from_two_places_makes_two_groups():
    def helper():
        return cuda.activemask()

    @cuda.jit
    def kernel(out):
        lane = cuda.laneid
        out[lane, 0] = helper() if lane < 4 else helper()  # noqa: RUF034
        out[lane, 1] = (helper(), helper())[lane % 2]

    out = run(kernel, columns=2)
    assert out[0, 0] == 0xF
    assert out[5, 0] == FULL ^ 0xF
    assert (out[:, 1] == FULL).all()


def test_an_explicit_mask_waits_for_every_named_lane_wherever_it_comes_from():
    @cuda.jit
    def kernel(out):
        lane = cuda.laneid
        value = lane * 10
        if lane == 3:
            for _ in range(5):
                value += cuda.activemask() * 0 + 1
        if lane < 8:
            out[lane, 0] = cuda.shfl_sync(0xFF, value, 3)
        out[lane, 1] = cuda.shfl_xor_sync(FULL, lane, 16)

    out = run(kernel, columns=2)
    assert (out[:8, 0] == 35).all()
    assert (out[8:, 0] == -1).all()
    assert (out[:, 1] == np.arange(32) ^ 16).all()


def test_disjoint_masks_at_one_call_with_different_numbers_of_turns():
    @cuda.jit
    def kernel(out):
        lane = cuda.laneid
        group = lane // 8
        mask = 0xFF << (8 * group)
        total = 0
        for _ in range(group + 1):
            total += cuda.shfl_sync(mask, lane, 8 * group)
        out[lane, 0] = total

    lanes = np.arange(32)
    assert (run(kernel) == (lanes // 8 + 1) * (lanes // 8 * 8)).all()


def test_meet_gives_each_lane_its_own_result_or_all_the_same():
    seen = []

    def resolve(lanes):
        seen.append(list(lanes))
        return {lane: sum(lanes.values()) - value for lane, value in lanes.items()}

    @cuda.jit
    def kernel(out):
        lane = cuda.laneid
        if lane % 2:
            out[lane, 0] = simulator.meet(1, resolve)
        out[lane, 1] = simulator.meet(lane, lambda lanes: max(lanes), mask=0b11 << (lane & ~1), name="pair")

    out = run(kernel, columns=2)
    assert (out[1::2, 0] == 15).all()
    assert (out[:, 1] == np.arange(32) | 1).all()
    assert seen == [list(range(1, 32, 2))]


def test_partial_warps_blocks_of_every_size_and_what_a_thread_knows_of_itself():
    @cuda.jit
    def kernel(out):
        me = simulator.thread()
        out[me.index, 0] = cuda.activemask()
        out[me.index, 1] = me.warp * 100 + me.lane
        out[me.index, 2] = me.warp_lanes
        assert tuple(me.block_dim) == (cuda.blockDim.x, 1, 1)
        assert tuple(me.thread_idx) == (cuda.threadIdx.x, 0, 0)
        assert tuple(me.block_idx) == (0, 0, 0)
        assert tuple(me.grid_dim) == (1, 1, 1)

    for size in (1, 5, 31, 32, 33, 48, 100, 1024):
        out = run(kernel, size, 3)
        for index in range(size):
            lanes = min(32, size - index // 32 * 32)
            assert out[index].tolist() == [(1 << lanes) - 1, index // 32 * 100 + index % 32, lanes]


def test_an_implicit_group_goes_on_when_its_missing_lane_spins_on_it():
    """Lane 0 waits in memory for lane 1, which waits without a mask: a GPU's scheduler lets lane 1 go on."""

    @cuda.jit
    def kernel(out, flag):
        lane = cuda.laneid
        if lane == 0:
            while flag[0] == 0:
                pass
        else:
            out[lane, 0] = cuda.activemask()
            if lane == 1:
                flag[0] = 1

    out, flag = np.zeros((32, 1), np.int64), np.zeros(1, np.int32)
    kernel[1, 32](out, flag)
    assert (out[1:, 0] == FULL ^ 1).all()


@pytest.mark.parametrize("seed", range(4))
def test_groups_do_not_depend_on_the_seed(monkeypatch, seed):
    monkeypatch.setenv("WARPKIT_SIM_SEED", str(seed))
    test_lanes_that_left_a_loop_wait_for_those_still_in_it()
    test_break_continue_and_early_return()
