"""Faults that other libraries had (W… and N… are rows of a list of public bug reports): each must not happen here.

W04, W09: test_refusals.py. W11, W16–W18, W20: test_shuffle.py. W14: test_query.py. W19, N09: test_vote.py.
N06–N11, N14: test_compile_ptx.py.
"""

import numpy as np
import pytest

import warpkit as wk
from warpkit import LaneFault

from . import kernels, operators
from .kernels import b1, cuda, f32, f64, i32, i64, kernel, u32
from .matrix import FULL, SIMULATOR

SIZES = [1, 2, 3, 5, 11, 17, 31, 32, 33, 45, 48, 63, *([] if SIMULATOR else [1000, 1023, 1024])]


@kernel(i32, f32, i32)
def extremes(x, two, out):
    """Max, min, product, all and any over blocks whose last warp is not full."""
    i = cuda.grid(1)
    out[5 * i] = wk.warp_active_max(x[i])
    out[5 * i + 1] = wk.warp_active_min(-x[i])
    out[5 * i + 2] = wk.warp_active_product(two[i % 2])
    out[5 * i + 3] = wk.warp_active_all(x[i] < 0)
    out[5 * i + 4] = wk.warp_active_any(x[i] == -1)


def test_w01_lanes_that_are_not_there_do_not_count():
    x, out = -np.arange(1, 12, dtype=np.int32), np.zeros(55, np.int32)
    extremes[1, 11](x, np.full(2, 2.0, np.float32), out)
    assert (out.reshape(11, 5) == [-1, 1, 2048, 1, 1]).all()
    extremes[1, 11](-x, np.full(2, 2.0, np.float32), out)  # min of −(1…11)
    assert (out.reshape(11, 5)[:, 1] == -11).all()


@pytest.mark.parametrize("threads", SIZES)
def test_w02_partial_warps_of_every_block_size(threads):
    x, out = -np.arange(1, threads + 1, dtype=np.int32), np.zeros(5 * threads, np.int32)
    two = np.array([1.0, 2.0], np.float32)
    extremes[1, threads](x, two, out)
    for start in range(0, threads, 32):
        part = x[start : start + 32]
        product = 2 ** (len(part) // 2)
        expected = [part.max(), (-part).min(), product, 1, -1 in part]
        assert (out.reshape(threads, 5)[start : start + 32] == expected).all()


@kernel(i32, i32)
def ones(total, running):
    """Every thread holds 1."""
    i = cuda.grid(1)
    total[i] = wk.warp_active_sum(np.int32(1))
    running[i] = wk.warp_inclusive_sum(np.int32(1))


@pytest.mark.parametrize("threads", SIZES)
def test_w03_the_last_warp_counts_its_live_lanes(threads):
    total, running = np.zeros((2, threads), np.int32)
    ones[1, threads](total, running)
    index = np.arange(threads)
    assert (total == np.minimum(32, threads - index // 32 * 32)).all()
    assert (running == index % 32 + 1).all()


@kernel(u32, u32)
def or_of_lanes(x, out):
    """Bitwise or in a partial warp."""
    i = cuda.grid(1)
    out[i] = wk.warp_active_bit_or(x[i])


def test_w04_bit_or_of_20_lanes():
    x, out = np.uint32(1) << np.arange(20, dtype=np.uint32), np.zeros(20, np.uint32)
    or_of_lanes[1, 20](x, out)
    assert (out == 0xFFFFF).all()


@kernel(i32, i32)
def sums(x, out):
    """Sum by warps."""
    i = cuda.grid(1)
    out[i] = wk.warp_active_sum(x[i])


def test_w05_no_lane_past_a_power_of_two_is_lost():
    x, out = np.arange(1, 41, dtype=np.int32), np.zeros(40, np.int32)
    sums[1, 40](x, out)
    assert (out[0], out[32]) == (528, 820 - 528)
    x, out = np.ones(20), np.zeros(20, np.int32)
    sums_of_doubles[1, 20](x, out)
    assert (out == 20).all()


@kernel(f64, i32)
def sums_of_doubles(x, out):
    """Sum 64-bit floats by warps."""
    i = cuda.grid(1)
    out[i] = wk.warp_active_sum(x[i])


@kernel(i32, i32)
def two_level_min(x, out):
    """Minimum of a block: one slot a warp, then all 32 lanes of warp 0, the unused with the identity."""
    slots = cuda.shared.array(32, np.int32)
    i = cuda.grid(1)
    smallest = wk.warp_active_min(x[i])
    if wk.warp_is_first_active_lane():
        slots[wk.warp_id()] = smallest
    cuda.syncthreads()
    if i < 32:
        last = slots[i] if i < 2 else np.int32(2**31 - 1)
        out[i] = wk.warp_active_min(last)


def test_w06_the_last_stage_of_a_block_minimum():
    x, out = np.full(64, 100, np.int32), np.zeros(32, np.int32)
    x[13], x[50] = 9, 5
    two_level_min[1, 64](x, out)
    assert (out == 5).all()


@kernel(i32, i32)
def groups_that_leave(x, out):
    """Group g of 8 lanes goes round g + 1 times; each pass scans with the mask of its own group."""
    lane = cuda.grid(1)
    group = lane // 8
    mask = np.uint32(0xFF) << np.uint32(8 * group)
    for _ in range(group + 1):
        out[lane] = out[lane] * 10 + wk.warp_inclusive_sum(x[lane], mask=mask, width=8)


def test_w07_groups_leave_a_loop_one_by_one():
    x, out = np.ones(32, np.int32), np.zeros(32, np.int32)
    groups_that_leave[1, 32](x, out)
    assert out.tolist() == [int(str(lane % 8 + 1) * (lane // 8 + 1)) for lane in range(32)]


@kernel(i32, i32)
def pairs(x, out):
    """Sum by groups of two."""
    i = cuda.grid(1)
    out[i] = wk.warp_active_sum(x[i], width=2)


def test_w08_the_total_of_a_group_comes_from_its_own_lanes():
    x, out = np.arange(10, 16, dtype=np.int32), np.zeros(6, np.int32)
    pairs[1, 6](x, out)
    assert out.tolist() == [21, 21, 25, 25, 29, 29]


@kernel(i32, i32)
def mask_of_five(x, out):
    """All lanes call, the mask names five of them."""
    i = cuda.grid(1)
    out[i] = wk.warp_active_sum(x[i], mask=0x1F)


@pytest.mark.simulator
def test_w10_a_caller_outside_its_mask_is_a_fault():
    with pytest.raises(LaneFault):
        mask_of_five[1, 32](np.ones(32, np.int32), np.zeros(32, np.int32))


@kernel(i32, i32)
def mask_of_absent(x, out):
    """Half of the lanes call and name all."""
    i = cuda.grid(1)
    if i < 16:
        out[i] = wk.warp_active_sum(x[i], mask=FULL)


@kernel(u32, i32)
def masks_differ(masks, out):
    """Each lane passes a mask of its own."""
    i = cuda.grid(1)
    out[i] = wk.warp_active_sum(np.int32(1), mask=masks[i])


@kernel(i32, i32)
def absent_source(x, out):
    """Even lanes read an odd one."""
    i = cuda.grid(1)
    if i % 2 == 0:
        out[i] = wk.warp_read_lane(x[i], 1)


@pytest.mark.simulator
def test_named_lanes_that_never_come_and_masks_that_differ_are_faults():
    x, out = np.ones((2, 32), np.int32)
    with pytest.raises(LaneFault):
        mask_of_absent[1, 32](x, out)
    masks = np.full(32, FULL, np.uint32)
    masks[3] = 0x0000FFFF
    with pytest.raises(LaneFault):
        masks_differ[1, 32](masks, out)


@pytest.mark.simulator
def test_reading_a_lane_that_does_not_take_part_is_a_fault_that_names_the_line():
    x, out = np.ones((2, 32), np.int32)
    with pytest.raises(LaneFault) as caught:
        absent_source[1, 32](x, out)
    assert "test_pitfalls.py" in str(caught.value)


@kernel(i32, i32, i32)
def append(x, counter, out):
    """Keep the multiples of 3: one atomic a warp, under a branch that depends on the data."""
    i = cuda.grid(1)
    if i < x.size and x[i] % 3 == 0:
        mask = wk.warp_active_mask()
        rank = wk.warp_prefix_count_bits(True, mask=mask)
        count = wk.warp_active_count_bits(True, mask=mask)
        base = 0
        if wk.warp_is_first_active_lane(mask):
            base = cuda.atomic.add(counter, 0, count)
        base = wk.warp_read_first_active_lane(base, mask=mask)
        out[base + rank] = x[i]


@pytest.mark.parametrize("turn", range(2 if SIMULATOR else 100))
def test_w12_an_aggregated_append_loses_nothing(turn):
    x, counter, out = np.arange(1000, dtype=np.int32), np.zeros(1, np.int32), np.full(400, -1, np.int32)
    append[8, 128](x, counter, out)
    assert counter[0] == 334
    assert sorted(out[:334]) == list(range(0, 1000, 3))
    assert (out[334:] == -1).all()


@kernel(i32, i32)
def count_even(x, counter):
    """Count even values in a loop that lanes leave early; who goes round again is agreed while all are there."""
    i = cuda.grid(1)
    mask = wk.warp_active_bit_mask(i < x.size, mask=FULL)
    while i < x.size:
        count = wk.warp_active_count_bits(x[i] % 2 == 0, mask=mask)
        if wk.warp_is_first_active_lane(mask):
            cuda.atomic.add(counter, 0, count)
        i += 64
        mask = wk.warp_active_bit_mask(i < x.size, mask=mask)


def test_w13_a_stride_loop_that_lanes_leave_early():
    counter = np.zeros(1, np.int32)
    count_even[1, 64](np.arange(70, dtype=np.int32), counter)
    assert counter[0] == 35


@kernel(i32, i32, i32)
def twice_by_row(x, again, largest):
    """Two reductions in a row, one warp a row of the block."""
    i = cuda.threadIdx.x + 32 * cuda.threadIdx.y
    again[i] = wk.warp_active_sum(x[i])
    largest[i] = wk.warp_active_max(x[i])


@pytest.mark.parametrize("turn", range(2 if SIMULATOR else 50))
def test_w15_two_reductions_in_a_row_by_rows_of_the_block(turn):
    x, again, largest = np.repeat([1, 2], 32).astype(np.int32), *np.zeros((2, 64), np.int32)
    twice_by_row[1, (32, 2)](x, again, largest)
    assert (again == np.repeat([32, 64], 32)).all()
    assert (largest == x).all()


def test_w21_the_identity_goes_to_the_last_lane_of_every_group():
    x, start, out = np.ones(32, np.int32), np.zeros(1, np.int32), np.full(32, -9, np.int32)
    run = kernels.scan_from(wk.warp_exclusive_scan, wk.add, reverse=True, width=16)
    kernels.launch(run, np.array([FULL], np.uint32), x, start, out)
    assert out.tolist() == [*range(15, -1, -1)] * 2


# ------------------------------------------------------------------ numba-cuda's own traps


@cuda.jit(device=True)
def total_and_prefix(value):
    """Run two collectives on any type."""
    return wk.warp_active_sum(value) - wk.warp_prefix_sum(value)


@kernel(i32, f64, i32, f64)
def two_types(a, b, oa, ob):
    """One helper, two dtypes."""
    i = cuda.grid(1)
    oa[i] = total_and_prefix(a[i])
    ob[i] = total_and_prefix(b[i])


def test_n04_one_helper_serves_two_dtypes_in_one_kernel():
    a, b = np.arange(32, dtype=np.int32), np.arange(32) * 0.25
    oa, ob = np.zeros(32, np.int32), np.zeros(32)
    two_types[1, 32](a, b, oa, ob)
    before = np.concatenate([[0], np.cumsum(np.arange(31))])
    assert (oa == 496 - before).all()
    assert (ob == (496 - before) * 0.25).all()


last_by_another_name = operators.last_nonzero


@kernel(i32, i32)
def same_operator_by_two_names(x, out):
    """The same operator reached through two modules, one in each branch."""
    i = cuda.grid(1)
    if i < 16:
        out[i] = wk.warp_reduce(x[i], operators.last_nonzero)
    else:
        out[i] = wk.warp_reduce(x[i], last_by_another_name)


def test_n13_one_operator_through_two_modules():
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    same_operator_by_two_names[1, 32](x, out)
    assert (out == np.repeat([15, 31], 16)).all()


named_lambda = cuda.jit(device=True)(lambda a, b: a if a < b else b)


@kernel(i32, i32)
def ways_to_pass_an_operator(x, out):
    """A lambda, a named lambda, an inner function, one that goes through a helper."""
    i = cuda.grid(1)
    first = lambda a, b: a

    def last(a, b):
        return b

    out[4 * i] = wk.warp_reduce(x[i], lambda a, b: a if a > b else b)
    out[4 * i + 1] = wk.warp_reduce(x[i], first)
    out[4 * i + 2] = wk.warp_reduce(x[i], last)
    out[4 * i + 3] = reduced_by(x[i], named_lambda)


@cuda.jit(device=True)
def reduced_by(value, op):
    """Pass an operator on."""
    return wk.warp_reduce(value, op)


def test_operators_may_be_lambdas_inner_functions_and_passed_on():
    x, out = np.roll(np.arange(32, dtype=np.int32), 5), np.zeros(128, np.int32)
    ways_to_pass_an_operator[1, 32](x, out)
    assert (out.reshape(32, 4) == [31, 27, 26, 0]).all()


SEEN = []


def noted(earlier, later):
    """Add, and note the operands (simulator only)."""
    SEEN.append((int(earlier), int(later)))
    return earlier + later


@pytest.mark.simulator
def test_an_operator_sees_only_items_that_exist():
    masks, x = np.array([0b1000011, 1 << 20 | 1 << 31], np.uint32), np.full(64, 1000, np.int32)
    for function in (wk.warp_reduce, wk.warp_inclusive_scan):
        SEEN.clear()
        kernels.launch(kernels.with_op(function, cuda.jit(device=True)(noted)), masks, x, np.zeros(64, np.int32))
        assert SEEN
        assert all(a > 0 and b > 0 and a % 1000 == b % 1000 == 0 and a + b <= 3000 for a, b in SEEN)


@kernel(i64, i32)
def literals(out, narrow):
    """A literal is an int64 in Numba, and so is its sum."""
    i = cuda.grid(1)
    out[i] = wk.warp_active_sum(1 << 40)
    narrow[i] = wk.warp_active_sum(np.int32(2**30))


def test_the_result_has_the_type_of_the_value():
    out, narrow = np.zeros(32, np.int64), np.zeros(32, np.int32)
    literals[1, 32](out, narrow)
    assert (out == 32 << 40).all()
    assert (narrow == 0).all()  # 2**35 wraps


@kernel(b1, i32)
def both_sides(on, out):
    """Each side of a branch is a set of its own; so are the lanes after an early return."""
    i = cuda.grid(1)
    if on[i]:
        out[i] = wk.warp_active_sum(i)
    else:
        out[i] = -wk.warp_active_sum(i)
    if i >= 20:
        return
    out[i] += 1000 * wk.warp_active_count_bits(True)


def test_both_sides_of_a_branch_and_an_early_return():
    lane = np.arange(32)
    on, out = lane % 3 == 1, np.zeros(32, np.int32)
    both_sides[1, 32](on, out)
    side = np.where(on, lane[on].sum(), -lane[~on].sum())
    assert (out == side + np.where(lane < 20, 20000, 0)).all()
