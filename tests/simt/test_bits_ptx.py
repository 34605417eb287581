"""What the bit operations cost and give."""

import numba
import pytest

from tests.ptx import assert_register_only, count, result_type
from tests.simt import test_bits
from tests.simt.waist import array_of
from warpkit.simt import bits

FUNCTIONS = {bits.popcount: "int32", bits.highest_bit: "int32", bits.lowest_bit: "int32", bits.reverse_bits: "uint32"}


@pytest.mark.parametrize("run", [test_bits.every_operation, test_bits.every_operation_on_the_rest])
def test_words_stay_32_bits_wide(compile_ptx, run):
    ptx = compile_ptx(run, array_of("uint32"), array_of("int32"), array_of("uint32"))
    for name in ("popc", "clz", "brev"):
        assert count(ptx, f"{name}.b32") >= 1
        assert count(ptx, f"{name}.b64") == 0
    assert_register_only(ptx)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_have_the_promised_type(function):
    for word in (numba.uint32, numba.uint64, numba.int32):
        assert str(result_type(lambda x: function(x), word)) == FUNCTIONS[function]


def test_a_high_product_is_one_instruction(compile_ptx):
    for dtype, bits_wide in (("uint32", 32), ("uint64", 64)):
        run = test_bits.high_words if bits_wide == 32 else test_bits.high_long_words
        ptx = compile_ptx(run, *[array_of(dtype)] * 3)
        assert count(ptx, f"mul.hi.u{bits_wide}") == count(ptx, "mul.hi") >= 1
        assert_register_only(ptx)
        assert str(result_type(lambda x: bits.multiply_high(x, x), getattr(numba, dtype))) == dtype


def test_a_word_is_shifted_in_its_own_width(compile_ptx):
    def run(x, places, out):
        out[0] = bits.shift_right(x[0], places[0])

    ptx = compile_ptx(run, *[array_of("uint32")] * 3)
    assert (count(ptx, "shr.u32"), count(ptx, "shr.u64")) == (1, 0)
    for dtype in (numba.uint32, numba.uint64):
        assert result_type(lambda x: bits.shift_right(x, 3), dtype) == dtype
