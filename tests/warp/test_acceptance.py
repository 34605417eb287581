"""The promised cases with their numbers (1–8), each on the machine at hand; a GPU takes the large sizes."""

import math

import numpy as np
import pytest

import warpkit as wk
from tests.reference import participants

from . import kernels, operators
from .kernels import b1, cuda, f32, f64, i16, i32, kernel, u16, u32
from .matrix import FULL, MASKS, SIMULATOR

SPARSE = [0, 1, 6]
SPARSE_MASK = np.array([0b1000011], np.uint32)


@kernel(u32, i32, i32)
def sparse_values(masks, x, out):
    """Everything of case 1 in the lanes {0, 1, 6}."""
    i = cuda.grid(1)
    if kernels.takes_part(masks[0], i):
        v = x[i]
        out[12 * i + 0] = wk.warp_active_sum(v)
        out[12 * i + 1] = wk.warp_active_product(v)
        out[12 * i + 2] = wk.warp_active_min(v)
        out[12 * i + 3] = wk.warp_active_max(v)
        out[12 * i + 4] = wk.warp_active_bit_and(v)
        out[12 * i + 5] = wk.warp_active_bit_or(v)
        out[12 * i + 6] = wk.warp_active_bit_xor(v)
        out[12 * i + 7] = wk.warp_prefix_sum(v)
        out[12 * i + 8] = wk.warp_prefix_product(v)
        out[12 * i + 9] = wk.warp_active_all_equal(42)
        out[12 * i + 10] = wk.warp_active_all_equal(i & 1)
        out[12 * i + 11] = wk.warp_active_all_equal(7)


def test_acceptance_1_sparse_lanes():
    x, out = np.zeros(32, np.int32), np.full(32 * 12, -77, np.int32)
    x[SPARSE] = 2, 3, 5
    sparse_values[1, 32](SPARSE_MASK, x, out)
    rows = out.reshape(32, 12)
    totals, flags = [10, 30, 2, 5, 0, 7, 4], [1, 0, 1]
    assert rows[0].tolist() == [*totals, 0, 1, *flags]
    assert rows[1].tolist() == [*totals, 2, 2, *flags]
    assert rows[6].tolist() == [*totals, 5, 6, *flags]
    assert (np.delete(rows, SPARSE, axis=0) == -77).all()


@pytest.mark.parametrize("k", [1, 2, 5, 13, 20, 31, 32] if SIMULATOR else range(1, 33))
def test_acceptance_1_low_lanes_as_in_a_partial_last_warp(k):
    x, out = np.ones(32), np.full(32, -1.0)
    kernels.launch(kernels.one(wk.warp_active_sum), np.array([(1 << k) - 1], np.uint32), x, out)
    assert (out[:k] == k).all()
    assert (out[k:] == -1).all()


@kernel(u32, f64, f64)
def both_sides(masks, x, out):
    """Sum on both sides of a branch."""
    i = cuda.grid(1)
    if kernels.takes_part(masks[i // 32], i):
        out[i] = wk.warp_active_sum(x[i])
    else:
        out[i] = wk.warp_active_sum(x[i]) + 0.5


def test_acceptance_1_both_sides_of_a_branch_for_random_masks():
    n = 32 * len(MASKS)
    x, out = np.random.default_rng(50).integers(-99, 99, n).astype(np.float64), np.zeros(n)
    kernels.launch(both_sides, MASKS, x, out)
    for warp, mask in enumerate(MASKS):
        on = np.isin(np.arange(32), participants(mask))
        values = x[32 * warp : 32 * warp + 32]
        assert (out[32 * warp : 32 * warp + 32] == np.where(on, values[on].sum(), values[~on].sum() + 0.5)).all()


@kernel(f32, f32)
def even_prefix(out, halves):
    """Prefix sum of 0.5 in the even lanes; the same on a tuple of four halves."""
    i = cuda.grid(1)
    if i % 2 == 0:
        out[i] = wk.warp_prefix_sum(np.float32(0.5))
        h = np.float16(0.5)
        t = wk.warp_prefix_sum((h, h, h, h))
        for k in range(4):
            halves[4 * i + k] = np.float32(t[k])


def test_acceptance_2_prefix_sum_in_even_lanes():
    out, halves = np.full(128, -1, np.float32), np.full(512, -1, np.float32)
    even_prefix[2, 64](out, halves)
    lane = np.arange(128) % 32
    expected = np.where(lane % 2 == 0, 0.5 * (lane // 2), -1)
    assert (out == expected).all()
    assert (halves.reshape(128, 4) == expected[:, None]).all()


@kernel(i16, u16, f32, f32)
def read_first(s, u, f, out):
    """Shorts, unsigned shorts, halves and a matrix of the first lane of {0, 1, 6}."""
    i = cuda.grid(1)
    if i == 0 or i == 1 or i == 6:
        a = wk.warp_read_first_active_lane((s[3 * i], s[3 * i + 1], s[3 * i + 2]))
        b = wk.warp_read_first_active_lane((u[3 * i], u[3 * i + 1], u[3 * i + 2]))
        h = (np.float16(f[9 * i]), np.float16(f[9 * i + 1]), np.float16(f[9 * i + 2]))
        c = wk.warp_read_first_active_lane(h)
        g = 9 * i
        m = wk.warp_read_first_active_lane(
            ((f[g], f[g + 1], f[g + 2]), (f[g + 3], f[g + 4], f[g + 5]), (f[g + 6], f[g + 7], f[g + 8]))
        )
        for k in range(3):
            out[18 * i + k] = a[k]
            out[18 * i + 3 + k] = b[k]
            out[18 * i + 6 + k] = np.float32(c[k])
            for j in range(3):
                out[18 * i + 9 + 3 * k + j] = m[k][j]


def test_acceptance_3_read_first_of_shorts_halves_and_a_matrix():
    s, u = np.arange(96, dtype=np.int16) + 11, np.arange(96, dtype=np.uint16) + 21
    out = np.full(32 * 18, -1, np.float32)
    read_first[1, 32](s, u, np.arange(288, dtype=np.float32) + 1, out)
    halves = np.full(32 * 18, -1, np.float32)
    read_first[1, 32](s, u, np.arange(288, dtype=np.float32) + 1.5, halves)
    for lane in range(32):
        expected = [11, 12, 13, 21, 22, 23, 1, 2, 3, *range(1, 10)] if lane in SPARSE else [-1] * 18
        assert out.reshape(32, 18)[lane].tolist() == expected
        assert halves.reshape(32, 18)[lane, 6:9].tolist() == ([1.5, 2.5, 3.5] if lane in SPARSE else [-1] * 3)


@kernel(f32, f32, f32, i32)
def warp_matmul(left, right, out, sizes):
    """Multiply rows of `left` by rows of `right`: one warp an output, 32 products at a time."""
    m, k = sizes[0], sizes[1]
    row, column = cuda.grid(1) // 32, cuda.blockIdx.y
    lane = wk.warp_lane_id()
    if row < m:
        total = np.float32(0)
        for tile in range((k + 31) // 32):
            at = tile * 32 + lane
            product = np.float32(0)
            if at < k:
                product = left[row * k + at] * right[column * k + at]
            total += wk.warp_active_sum(product)
        if lane == 0:
            out[column * m + row] = total


MATMULS = [(5, 3, 70), (4, 2, 64)] if SIMULATOR else [(256, 256, 256), (64, 32, 250), (5, 3, 70)]


@pytest.mark.parametrize(("m", "n", "k"), MATMULS)
def test_acceptance_5_warp_matrix_product(m, n, k):
    rng = np.random.default_rng(51)
    left, right = rng.uniform(0.5, 1.5, (m, k)).astype(np.float32), rng.uniform(0.5, 1.5, (n, k)).astype(np.float32)
    out = np.zeros((n, m), np.float32)
    warp_matmul[(-(-m // 2), n), 64](left.ravel(), right.ravel(), out.ravel(), np.array([m, k], np.int32))
    assert np.abs(out - right.astype(float) @ left.T).max() <= 1e-2


@kernel(f32, f32)
def sums_of_16(x, out):
    """Eight lanes sum sixteen inputs."""
    i = cuda.grid(1)
    group = i // 8
    total = wk.warp_active_sum(x[16 * group + i % 8] + x[16 * group + 8 + i % 8], width=8)
    if i % 8 == 0:
        out[group] = total


def test_acceptance_6a_groups_of_8_lanes():
    x = (0.5 * np.sin(0.17 * np.arange(1024) + 0.25) + 0.75).astype(np.float32)
    out = np.zeros(64, np.float32)
    sums_of_16[8, 64](x, out)
    assert out[0] == pytest.approx(17.75304, abs=1e-4)
    assert out[63] == pytest.approx(11.43993, abs=1e-4)
    assert out == pytest.approx(x.reshape(64, 16).sum(axis=1), abs=1e-4)


@kernel(f32, f32)
def softmax_of_8(x, out):
    """Softmax of rows of eight, one group of lanes a row."""
    i = cuda.grid(1)
    e = np.float32(math.exp(x[i] - wk.warp_active_max(x[i], width=8)))
    out[i] = e / wk.warp_active_sum(e, width=8)


def test_acceptance_6b_softmax_of_rows_of_8():
    x, out = np.cos(0.11 * np.arange(256) + 1.5).astype(np.float32), np.zeros(256, np.float32)
    softmax_of_8[4, 64](x, out)
    e = np.exp(x.astype(float)).reshape(32, 8)
    assert np.abs(out.reshape(32, 8) - e / e.sum(axis=1, keepdims=True)).max() <= 1e-4


@kernel(f32, f32)
def group_sums(x, out):
    """Sum groups of eight."""
    i = cuda.grid(1)
    out[i] = wk.warp_active_sum(x[i], width=8)


def test_acceptance_6_an_infinity_stays_in_its_group():
    x, out = np.ones(32, np.float32), np.zeros(32, np.float32)
    x[11] = np.inf
    group_sums[1, 32](x, out)
    assert np.isinf(out[8:16]).all()
    assert (np.delete(out, range(8, 16)) == 8).all()


@kernel(i32, b1, i32, i32)
def warp_and_tails(x, tail, total, segment):
    """Sum by warp, and by segments that end every ten items and at each warp's end."""
    i = cuda.grid(1)
    total[i] = wk.warp_active_sum(x[i])
    segment[i] = wk.warp_tail_segmented_reduce(x[i], tail[i], wk.add)


def test_acceptance_7_warp_sums_and_tail_segments():
    x = np.arange(512, dtype=np.int32)
    tail, total, segment = x % 10 == 9, np.zeros(512, np.int32), np.zeros(512, np.int32)
    warp_and_tails[2, 256](x, tail, total, segment)
    assert (total == 1024 * (x // 32) + 496).all()
    for i in range(512):
        first = max(i // 10 * 10, i // 32 * 32)
        last = min(i // 10 * 10 + 9, i // 32 * 32 + 31)
        assert segment[i] == (first + last) * (last - first + 1) // 2


@kernel(i32, i32, i32)
def shuffle_down_reduce(x, num_valid, out):
    """Reduce the first `num_valid` lanes."""
    i = cuda.grid(1)
    out[i] = wk.warp_reduce_valid(x[i], wk.add, num_valid[0])
    out[32 + i] = wk.warp_reduce_valid(x[i], operators.last_nonzero, num_valid[0])


@pytest.mark.parametrize("num_valid", [0, 1, 20, 32])
def test_acceptance_7_reduce_of_the_valid_lanes(num_valid):
    x, out = np.arange(100, 132, dtype=np.int32), np.zeros(64, np.int32)
    shuffle_down_reduce[1, 32](x, np.array([num_valid], np.int32), out)
    if num_valid:
        assert (out[:32] == x[:num_valid].sum()).all()
        assert (out[32:] == x[num_valid - 1]).all()
    else:
        assert (out.reshape(2, 32) == x).all()


def test_acceptance_8_the_sum_of_equal_values_is_count_times_value():
    x, out = np.full(32, 7, np.int32), np.zeros(32, np.int32)
    kernels.launch(kernels.one(wk.warp_active_sum), np.array([FULL], np.uint32), x, out)
    assert (out == 224).all()
    kernels.launch(kernels.one(wk.warp_active_sum), SPARSE_MASK, x, out)
    assert (out[SPARSE] == 21).all()


# ------------------------------------------------------------------ the seed's own idioms


@kernel(f32, f32)
def butterfly(x, out):
    """Largest of eight lanes by reading across (the seed's §2.2)."""
    i = cuda.grid(1)
    lane = wk.warp_lane_id()
    m = x[i]
    m = max(m, wk.warp_read_lane(m, lane ^ 4))
    m = max(m, wk.warp_read_lane(m, lane ^ 2))
    out[i] = max(m, wk.warp_read_lane(m, lane ^ 1))


@kernel(i32, i32)
def prefix_difference(x, out):
    """Sums of eight lanes from one prefix sum and two reads (the seed's §2.3)."""
    i = cuda.grid(1)
    group = wk.warp_lane_id() // 8
    inclusive = wk.warp_prefix_sum(x[i]) + x[i]
    last = group * 8 + 7
    before = 0 if group == 0 else last - 8
    total, earlier = wk.warp_read_lane(inclusive, last), wk.warp_read_lane(inclusive, before)
    out[i] = total - (0 if group == 0 else earlier)


def test_the_seeds_group_idioms():
    x, out = -np.random.default_rng(52).random(32).astype(np.float32), np.zeros(32, np.float32)
    butterfly[1, 32](x, out)
    assert (out == np.repeat(x.reshape(4, 8).max(axis=1), 8)).all()
    y, sums = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    prefix_difference[1, 32](y, sums)
    assert (sums == np.repeat(y.reshape(4, 8).sum(axis=1), 8)).all()
