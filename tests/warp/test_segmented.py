"""Segments marked by heads or tails: every lane gets its own segment's total, under every mask."""

import numpy as np
import pytest

import warpkit as wk
from tests import reference
from tests.reference import assert_same, at, segmented

from . import kernels, operators
from .kernels import b1, cuda, i32, kernel, u32
from .kinds import INT_PAIR
from .matrix import FULL, MASKS, NUMBERS, WIDTHS, data, label, sentinel
from .test_reduce import ORDERED, TUPLE_OPS, check_tuples, parts

COUNT = 32 * len(MASKS)
FORMS = {"head": (wk.warp_segmented_reduce, False), "tail": (wk.warp_tail_segmented_reduce, True)}


def flags(seed=30):
    """Return flags: per warp none, all, or some."""
    rng = np.random.default_rng(seed)
    return rng.random(COUNT) < np.repeat(rng.choice([0.0, 0.1, 0.4, 1.0], len(MASKS)), 32)


@pytest.mark.parametrize("named", [False, True], ids=["implicit", "named"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("op", "dtype"), [("last_nonzero", np.int32), ("append_bits", np.int64)], ids=label)
@pytest.mark.parametrize("form", FORMS)
def test_each_segment_is_folded_in_order(form, op, dtype, width, named):
    function, tail = FORMS[form]
    device, plain, make = ORDERED[op]
    x, f, out = make(dtype, COUNT), flags(), sentinel(dtype, COUNT)

    def rule(warp, lanes):
        return segmented(plain, at(x, warp, lanes), at(f, warp, lanes), tail)

    expected = reference.over(MASKS, width, rule, out.copy())
    kernels.launch(kernels.two_with_op(function, device, width, named), MASKS, x, f, out)
    assert_same(out, expected)


@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize("dtype", NUMBERS, ids=label)
def test_segmented_sum_of_every_type(dtype, width):
    x, f, out = data("sum", dtype, COUNT), flags(31), sentinel(dtype, COUNT)
    rule = lambda warp, lanes: segmented(np.add, at(x, warp, lanes), at(f, warp, lanes))
    expected = reference.over(MASKS, width, rule, out.copy())
    kernels.launch(kernels.two(wk.warp_segmented_sum, width), MASKS, x, f, out)
    assert_same(out, expected)


@kernel(u32, i32, i32, i32, i32, i32, i32, i32, i32)
def affine_segments(masks, a, b, c, d, oa, ob, oc, od):
    """Fold pairs between heads: lanes whose first part is 3 begin a segment."""
    i = cuda.grid(1)
    if kernels.takes_part(masks[i // 32], i):
        v = wk.warp_segmented_reduce((a[i], b[i]), a[i] == 3, operators.affine)
        oa[i] = v[0]
        ob[i] = v[1]


def test_tuples_are_folded_by_segment():
    kind, _, plain = TUPLE_OPS["affine int32"]
    assert (parts(INT_PAIR, COUNT)[0] == 3).any()
    check_tuples(
        affine_segments, kind, lambda items: segmented(plain, items, [item[0] == 3 for item in items]), MASKS, 32
    )


def test_s16_a_flag_belongs_to_its_own_lane_only():
    x, f, out = np.zeros(32, np.int32), np.zeros(32, np.bool_), np.zeros(32, np.int32)
    x[:4], f[2] = [5, 2, 3, 1], True
    kernels.launch(kernels.two(wk.warp_segmented_sum), np.array([0xF], np.uint32), x, f, out)
    assert out[:4].tolist() == [7, 7, 4, 4]


def test_every_lane_a_segment_and_one_segment_for_all():
    x, out = np.arange(1, 65, dtype=np.int32), np.zeros(64, np.int32)
    f = np.arange(64) < 32
    kernels.launch(kernels.two(wk.warp_segmented_sum), np.array([FULL, FULL], np.uint32), x, f, out)
    assert (out[:32] == x[:32]).all()
    assert (out[32:] == x[32:].sum()).all()


@kernel(b1, i32, i32)
def two_kinds_of_flag(f, x, out):
    """Use heads and tails of the same flags in one kernel."""
    i = cuda.grid(1)
    heads = wk.warp_segmented_reduce(x[i], f[i], operators.last_nonzero)
    tails = wk.warp_tail_segmented_reduce(x[i], f[i], operators.last_nonzero)
    out[i] = heads * 100 + tails


def test_a_head_begins_and_a_tail_ends_a_segment():
    f, x, out = np.zeros(32, np.bool_), np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    f[10] = True
    two_kinds_of_flag[1, 32](f, x, out)
    lane = np.arange(32)
    assert (out == np.where(lane < 10, 9, 31) * 100 + np.where(lane <= 10, 10, 31)).all()
