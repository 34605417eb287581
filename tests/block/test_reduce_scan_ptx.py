"""What reductions and scans cost: barriers, shuffles, shared bytes; no local memory, no call, no division."""

import numba
import numpy as np
import pytest

import warpkit as wk
from tests.ptx import assemble, assert_register_only, count, mistaken_bounds, places, result_type, shuffles
from tests.warp import operators
from tests.warp.literal import NUMBA, applied, words
from warpkit.block.shape import between

from .literal import REDUCTION_BARRIERS, SCAN_BARRIERS, barriers, compiled, one, scratch_bytes, shared_bytes, with_op

NAMES = ["int8", "float16", "float32", "complex128"]
FUNCTIONS = {
    "sum": wk.block_sum,
    "prefix_sum": wk.block_prefix_sum,
    "inclusive_sum": wk.block_inclusive_sum,
}


def assert_lean(ptx):
    """Assert registers only, no division, no search for the active mask."""
    assert_register_only(ptx)
    assert count(ptx, "div") == count(ptx, "rem") == count(ptx, "activemask") == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_two_barriers_on_every_way_and_32_slots(compile_ptx, function, name):
    """A reduction of more than eight warps is finished by one of them, which hands out the result in a slot more."""
    ptx = compiled(compile_ptx, one(FUNCTIONS[function]), name)
    assert barriers(ptx) == (REDUCTION_BARRIERS if function == "sum" else SCAN_BARRIERS)
    handed_out = [scratch_bytes(name) // 32] if function == "sum" and name != "int8" else []
    assert sorted(shared_bytes(ptx).values()) == [*handed_out, scratch_bytes(name)]
    assert_lean(ptx)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_branch_keeps_arithmetic_behind_the_barrier_that_need_not_wait_for_the_totals(compile_ptx, function):
    ptx = compiled(compile_ptx, one(FUNCTIONS[function]), "float32")
    reads = places(ptx, "ld.shared.v4")
    assert len(reads) == (2 if function == "sum" else 1)  # the first warp of many reads too, and hurries no barrier
    parted = []
    for read in reads:
        barrier = min(n for n in places(ptx, "bar.") if n > read)
        branches = [n for n in places(ptx, "bra") if read < n < barrier]
        early = [n for n in places(ptx, "add.rn.f32") if read < n < barrier]
        parted.append(bool(branches) and not early)
    assert parted.count(True) == 1


@pytest.mark.parametrize("name", NAMES)
def test_shuffles_of_a_whole_warp_and_of_a_partial_one(compile_ptx, name):
    whole, partial, some, many = 0 if name == "int8" else 5, 5, 1, 3  # of the totals of 5 to 8 warps, of more
    once = some if name == "int8" else some + many  # more: by one instruction
    assert shuffles(compiled(compile_ptx, one(wk.block_sum), name)) == (whole + partial + once) * words(name)
    assert shuffles(compiled(compile_ptx, one(wk.block_inclusive_sum), name)) == (5 + partial + many) * words(name)
    assert shuffles(compiled(compile_ptx, one(wk.block_prefix_sum), name)) == (7 + partial + 1 + many) * words(name)


def test_narrow_integers_take_one_redux_a_warp_and_one_for_many_warps(compile_ptx):
    for function in (wk.block_sum, wk.block_max):
        assert count(compiled(compile_ptx, one(function), "int16"), "redux.sync") == 2


def total_only(x, out):
    """Keep only the total of a scan."""
    i = numba.cuda.grid(1)
    out[i] = wk.block_inclusive_scan_total(x[i], operators.last_nonzero)[1]


KERNELS = {
    "reduce": with_op(wk.block_reduce, operators.last_nonzero),
    "scan": with_op(wk.block_inclusive_scan, operators.last_nonzero),
    "total": total_only,
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_any_operator_is_inlined(compile_ptx, kernel):
    ptx = compiled(compile_ptx, KERNELS[kernel], "int32")
    assert barriers(ptx) == (REDUCTION_BARRIERS if kernel == "reduce" else SCAN_BARRIERS)
    assert_lean(ptx)


def test_all_collectives_of_a_size_share_one_memory(compile_ptx):
    def run(x, y, out):
        i = numba.cuda.grid(1)
        a = wk.block_sum(x[i]) + wk.block_prefix_sum(y[i]) + wk.block_reduce(x[i], lambda a, b: a if b == 0 else b)
        b = wk.block_exclusive_scan((x[i], y[i]), wk.add, (0, 0))
        c = wk.block_broadcast(wk.block_max(x[i]), 3) + wk.block_inclusive_sum(numba.float64(y[i]))
        out[i] = a + b[0] + b[1] + c

    ptx = compile_ptx(run, numba.float32[::1], numba.int32[::1], numba.float64[::1])
    assert sorted(shared_bytes(ptx).values()) == [4, 128, 256]  # 4: the result of a reduction by one warp
    assert_lean(ptx)


def test_a_size_class_is_a_whole_power_of_two_of_words(compile_ptx):
    def run(x, out):
        i = numba.cuda.grid(1)
        out[i] = wk.block_reduce((x[i], x[i], x[i]), wk.add)[1]

    assert sorted(shared_bytes(compiled(compile_ptx, run, "float32")).values()) == [4 * 4, 32 * 4 * 4]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_spills(compile_ptx, function):
    for name, most in (("float32", 40), ("complex128", 72)):
        made = assemble(compiled(compile_ptx, one(FUNCTIONS[function]), name))
        assert made.stack == made.spills == 0
        assert made.registers <= most


@pytest.mark.parametrize("name", ["int8", "uint16", "int64", "float16", "complex64"])
def test_the_result_has_the_type_of_the_value(name):
    for function in FUNCTIONS.values():
        assert result_type(applied(function), NUMBA[name]) == NUMBA[name]
    total = result_type(applied(wk.block_prefix_sum_total), NUMBA[name])
    assert list(total) == [NUMBA[name]] * 2


def bounded_from_above_first(number):
    """Do what `between` does from 0 to 25, in the order that the assembler of CUDA 13.0 gets wrong."""
    return max(min(number, np.int32(25)), np.int32(0))


def bounded(number):
    """Return `number` from 0 to 25."""
    return between(number, 0, 25)


@pytest.mark.parametrize(("bound", "mistakes"), [(bounded_from_above_first, 1), (bounded, 0)])
def test_counts_are_compared_as_the_assembler_understands_them(compile_ptx, bound, mistakes):
    bound = numba.cuda.jit(device=True)(bound)

    def kernel(numbers, out):
        count = bound(numbers[0])
        out[0], out[2] = count, 7 if count == 25 else out[1]

    array = numba.types.Array(numba.types.int32, 1, "C")
    assert len(mistaken_bounds(compile_ptx(kernel, array, array))) == mistakes
