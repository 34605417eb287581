"""What a scan costs: exact counts of shuffles, no memory, no call."""

import pytest
from numba import cuda

import warpkit as wk
from tests.ptx import assemble, assert_register_only, count, result_type, shuffles

from . import operators
from .literal import NUMBA, applied, compiled, one, with_op, words
from .matrix import FULL, WIDTHS
from .test_reduce_ptx import ROUNDS

NAMES = ["int8", "int32", "uint32", "float16", "float32", "int64", "float64", "complex64"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["float32", "int32", "float64"])
def test_an_inclusive_scan_takes_a_shuffle_a_word_and_round(compile_ptx, name, width):
    ptx = compiled(compile_ptx, one(wk.warp_inclusive_sum, width), name)
    assert shuffles(ptx) == ROUNDS[width] * words(name)
    assert count(ptx, "activemask") == 0
    assert_register_only(ptx)


@pytest.mark.parametrize("name", NAMES)
def test_an_inclusive_scan_of_every_type(compile_ptx, name):
    functions = [wk.warp_inclusive_sum, wk.warp_inclusive_product]
    if name != "complex64":
        functions += [wk.warp_inclusive_min, wk.warp_inclusive_max]
    for function in functions:
        ptx = compiled(compile_ptx, one(function), name)
        assert shuffles(ptx) == 5 * words(name)
        assert_register_only(ptx)


@pytest.mark.parametrize("name", NAMES)
def test_an_exclusive_scan_takes_one_more_at_most(compile_ptx, name):
    functions = [wk.warp_prefix_sum, wk.warp_prefix_product]
    if name != "complex64":
        functions += [wk.warp_prefix_min, wk.warp_prefix_max]
    for function in functions:
        ptx = compiled(compile_ptx, one(function), name)
        assert shuffles(ptx) <= 6 * words(name)
        assert count(ptx, "activemask") == 0
        assert_register_only(ptx)


@pytest.mark.parametrize("name", ["float32", "int32", "int64"])
def test_without_a_mask_both_paths_are_there(compile_ptx, name):
    # Full: 5 a word. Otherwise 5 a word and 4 for the pointers; the exclusive form one more a word.
    ptx = compiled(compile_ptx, one(wk.warp_inclusive_sum, masked=False), name)
    assert shuffles(ptx) == 10 * words(name) + 4
    assert_register_only(ptx)
    ptx = compiled(compile_ptx, one(wk.warp_prefix_sum, masked=False), name)
    assert shuffles(ptx) <= 12 * words(name) + 4
    assert_register_only(ptx)


@pytest.mark.parametrize("op", [operators.last_nonzero, wk.add, max], ids=["last_nonzero", "add", "max"])
def test_any_operator_is_inlined(compile_ptx, op):
    ptx = compiled(compile_ptx, with_op(wk.warp_inclusive_scan, op), "int32")
    assert shuffles(ptx) == 5
    assert_register_only(ptx)


def test_counting_needs_no_shuffle(compile_ptx):
    ptx = compiled(compile_ptx, one(wk.warp_prefix_count_bits), "boolean", NUMBA["int32"])
    assert shuffles(ptx) == 0
    assert count(ptx, "vote.sync.ballot") == 1
    assert_register_only(ptx)


def test_nothing_spills(compile_ptx):
    for function in (wk.warp_prefix_sum, wk.warp_inclusive_sum):
        made = assemble(compiled(compile_ptx, one(function, masked=False), "float64"))
        assert made.stack == made.spills == 0


@pytest.mark.parametrize("name", [n for n in NUMBA if n != "boolean"])
def test_the_result_has_the_type_of_the_value(name):
    for function in (wk.warp_prefix_sum, wk.warp_prefix_product, wk.warp_inclusive_sum):
        assert result_type(applied(function), NUMBA[name]) == NUMBA[name]


def in_a_loop(call):
    """Kernel: one scan a round, of which the number of rounds is known to nobody."""

    def run(x, out):
        i = cuda.grid(1)
        while i < x.size:
            out[i] = call(x[i])
            i += cuda.gridsize(1)

    return run


CALLS = {
    "prefix_sum": lambda value: wk.warp_prefix_sum(value, mask=FULL),
    "prefix_max of 8": lambda value: wk.warp_prefix_max(value, mask=FULL, width=8),
    "exclusive_scan, reverse": lambda value: wk.warp_exclusive_scan(value, wk.add, 7, reverse=True, mask=FULL),
    "prefix_sum of some": lambda value: wk.warp_prefix_sum(value, mask=0x55555555),
    "prefix_sum of any": lambda value: wk.warp_prefix_sum(value),
    "inclusive_sum": lambda value: wk.warp_inclusive_sum(value, mask=FULL),
}


@pytest.mark.parametrize("name", ["float32", "int32"])
@pytest.mark.parametrize("call", list(CALLS))
def test_a_loop_around_a_scan_is_not_copied_for_the_lanes_that_read_nothing(compile_ptx, call, name):
    function = cuda.jit(device=True)(CALLS[call])

    def once(x, out):
        out[0] = function(x[0])

    alone, repeated = (compiled(compile_ptx, kernel, name) for kernel in (once, in_a_loop(function)))
    assert shuffles(repeated) == shuffles(alone) > 0
