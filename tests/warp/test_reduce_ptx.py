"""What a reduction costs: exact counts of shuffles and redux, no memory, no call."""

import numba
import pytest

import warpkit as wk
from tests.ptx import assemble, assert_register_only, count, result_type, shuffles

from . import kernels, operators
from .kinds import INT_PAIR
from .literal import NUMBA, applied, compiled, one, with_op, words
from .matrix import WIDTHS

ROUNDS = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4, 32: 5}
NARROW = ["int8", "int16", "int32", "uint8", "uint16", "uint32"]
ARITHMETIC = {
    "sum": wk.warp_active_sum,
    "product": wk.warp_active_product,
    "min": wk.warp_active_min,
    "max": wk.warp_active_max,
}
BITS = {"and": wk.warp_active_bit_and, "or": wk.warp_active_bit_or, "xor": wk.warp_active_bit_xor}


def assert_lean(ptx):
    """Assert registers only, no division, no search for the active mask."""
    assert_register_only(ptx)
    assert count(ptx, "div") == count(ptx, "rem") == 0


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["float32", "float16", "float64", "int64", "uint64", "complex64", "complex128"])
def test_a_sum_takes_a_shuffle_a_word_and_round_with_a_full_mask(compile_ptx, name, width):
    ptx = compiled(compile_ptx, one(wk.warp_active_sum, width), name)
    assert shuffles(ptx) == ROUNDS[width] * words(name)
    assert count(ptx, "redux") == count(ptx, "activemask") == count(ptx, "vote") == 0
    assert_lean(ptx)


@pytest.mark.parametrize("width", [w for w in WIDTHS if w < 32])
@pytest.mark.parametrize("name", NARROW)
def test_a_group_of_narrow_integers_takes_a_shuffle_a_round(compile_ptx, name, width):
    ptx = compiled(compile_ptx, one(wk.warp_active_sum, width), name)
    assert shuffles(ptx) == ROUNDS[width]
    assert_lean(ptx)


@pytest.mark.parametrize("masked", [True, False], ids=["full", "no mask"])
@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("function", [*(f for n, f in ARITHMETIC.items() if n != "product"), *BITS.values()])
def test_narrow_integers_take_one_redux(compile_ptx, function, name, masked):
    ptx = compiled(compile_ptx, one(function, masked=masked), name)
    assert count(ptx, "redux.sync") == 1
    assert shuffles(ptx) == 0
    assert count(ptx, "activemask") == (0 if masked else 1)
    assert_lean(ptx)


@pytest.mark.parametrize(("sign", "name"), [("s32", "int32"), ("u32", "uint32"), ("s32", "int8"), ("u32", "uint16")])
def test_redux_compares_with_the_sign_of_the_type(compile_ptx, sign, name):
    assert f"redux.sync.max.{sign}" in compiled(compile_ptx, one(wk.warp_active_max), name)
    assert f"redux.sync.min.{sign}" in compiled(compile_ptx, one(wk.warp_active_min), name)


@pytest.mark.parametrize("function", [wk.warp_active_sum, wk.warp_active_min, wk.warp_active_bit_xor])
def test_there_is_no_redux_before_sm_80(compile_ptx, function):
    ptx = compiled(compile_ptx, one(function), "int32", cc=(7, 5))
    assert count(ptx, "redux") == 0
    assert shuffles(ptx) == 5
    assert_lean(ptx)


@pytest.mark.parametrize("name", ["float32", "float16"])
@pytest.mark.parametrize("function", [wk.warp_active_min, wk.warp_active_max])
def test_min_and_max_of_floats_go_through_integers_of_the_same_order(compile_ptx, function, name):
    ptx = compiled(compile_ptx, one(function), name)
    assert (count(ptx, "redux.sync"), shuffles(ptx)) == (1, 0)
    assert_lean(ptx)
    ptx = compiled(compile_ptx, one(function), name, cc=(7, 5))
    assert (count(ptx, "redux.sync"), shuffles(ptx)) == (0, 5)


@pytest.mark.parametrize("name", ["float32", "float16", "float64"])
@pytest.mark.parametrize("function", ARITHMETIC.values())
def test_without_a_mask_both_paths_are_there(compile_ptx, function, name):
    if function in (wk.warp_active_min, wk.warp_active_max) and name != "float64":
        return_redux = compiled(compile_ptx, one(function, masked=False), name)
        assert (count(return_redux, "redux.sync"), shuffles(return_redux)) == (1, 0)
        return
    ptx = compiled(compile_ptx, one(function, masked=False), name)
    # Full: 5 a word. Otherwise 5 rounds and the broadcast a word, and 4 for the pointers.
    assert shuffles(ptx) == 5 * words(name) + 6 * words(name) + 4
    assert count(ptx, "activemask") == 1
    assert_lean(ptx)


def test_a_product_of_integers_keeps_their_width(compile_ptx):
    for name, number in [("int32", 5), ("int8", 5), ("uint64", 10)]:
        ptx = compiled(compile_ptx, one(wk.warp_active_product), name)
        assert shuffles(ptx) == number
        assert ("mul.lo.s64" in ptx or "mul.lo.u64" in ptx) == (name == "uint64")
        assert_lean(ptx)


@pytest.mark.parametrize("masked", [True, False], ids=["full", "no mask"])
def test_any_operator_is_inlined(compile_ptx, masked):
    ptx = compiled(compile_ptx, with_op(wk.warp_reduce, operators.last_nonzero, masked=masked), "int32")
    assert shuffles(ptx) == (5 if masked else 15)
    assert_lean(ptx)


def test_the_lane_order_of_a_full_warp_costs_no_more_shuffles_for_tuples(compile_ptx):
    run = kernels.columns_with_op(wk.warp_reduce, operators.affine, INT_PAIR.build, INT_PAIR.store, 32, True)
    i32 = numba.int32[::1]
    ptx = compile_ptx(run, numba.uint32[::1], *[i32] * 8)
    assert shuffles(ptx) == 5 * 2 + 6 * 2 + 4  # a run-time mask: both paths
    assert_lean(ptx)


@pytest.mark.parametrize("name", ["float32", "int32", "float64", "complex64"])
def test_nothing_spills(compile_ptx, name):
    for masked in (True, False):
        made = assemble(compiled(compile_ptx, one(wk.warp_active_sum, masked=masked), name))
        assert made.stack == made.spills == 0
        assert made.registers <= 40


@pytest.mark.parametrize("name", [n for n in NUMBA if n != "boolean"])
def test_the_result_has_the_type_of_the_value(name):
    functions = [wk.warp_active_sum, wk.warp_active_product]
    if not name.startswith("complex"):
        functions += [wk.warp_active_min, wk.warp_active_max]
    if "int" in name:
        functions += BITS.values()
    for function in functions:
        assert result_type(applied(function), NUMBA[name]) == NUMBA[name]
