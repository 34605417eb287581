"""What look-back, queues and grid reductions cost: accesses, atomics, barriers, shared bytes; registers only."""

import re

import numba
import numpy as np
import pytest
from numba.cuda.np.numpy_support import from_dtype

import warpkit as wk
from tests.ptx import assemble, assert_register_only, count
from tests.warp import operators
from tests.warp.kinds import build_pair, store_pair
from warpkit.block.states import packed_dtype
from warpkit.simt.states import state_dtype

from . import tiles
from .test_grid import reducing
from .test_queue import pushing, pushing_if

i32, i64, u32 = numba.int32[::1], numba.int64[::1], numba.uint32[::1]


def states_of(dtype):
    """Return the Numba type of the states of values of `dtype`."""
    return numba.types.Array(from_dtype(state_dtype(packed_dtype("test", dtype))), 1, "C")


def array_of(dtype):
    """Return the Numba type of a contiguous array."""
    return numba.types.Array(from_dtype(np.dtype(dtype)), 1, "C")


def shared_bytes(ptx):
    """Return {symbol: bytes} of the kernel's shared memory."""
    return {name: int(size) for name, size in re.findall(r"\.shared \.align \d+ \.b8 (\w+)\[(\d+)\]", ptx)}


def look_back(compile_ptx, dtype, op=wk.add, kernel=tiles.prefixes):
    """Compile a look-back kernel of one array."""
    matrix = numba.types.Array(from_dtype(np.dtype(dtype)), 2, "C")
    return compile_ptx(kernel(op), states_of(dtype), numba.int64, array_of(dtype), array_of(dtype), matrix)


ONE_ACCESS = [(np.uint8, "u64"), (np.float16, "u64"), (np.int32, "u64"), (np.float32, "u64")]
ONE_ACCESS += [(np.int64, "b128"), (np.float64, "b128"), (np.complex64, "b128")]


@pytest.mark.parametrize(("dtype", "width"), ONE_ACCESS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_value_and_status_travel_in_one_access(compile_ptx, dtype, width):
    ptx = look_back(compile_ptx, dtype)
    assert_register_only(ptx)
    assert count(ptx, f"ld.relaxed.gpu.global.{width}") >= 2  # the nearest window, and the loop over the others
    assert count(ptx, f"st.relaxed.gpu.global.{width}") >= 2  # aggregate and inclusive
    assert count(ptx, "ld.acquire") == count(ptx, "st.release") == 0
    assert count(ptx, "membar") == count(ptx, "fence") == 0


def test_twelve_bytes_travel_in_one_access_too(compile_ptx):
    ptx = compile_ptx(
        tiles.of_parts(operators.affine, build_pair, store_pair, True),
        states_of((np.int32, np.int64)),
        numba.int64,
        numba.int64,
        *(i32, i64, i32, i32) * 2,
    )
    assert_register_only(ptx)
    assert count(ptx, "ld.relaxed.gpu.global.b128") >= 2
    assert count(ptx, "st.release") == 0


def test_larger_values_are_released_and_acquired(compile_ptx):
    ptx = look_back(compile_ptx, np.complex128)
    assert_register_only(ptx)
    assert count(ptx, "ld.acquire.gpu.global.u32") >= 2
    assert count(ptx, "st.release.gpu.global.u32") >= 2


def test_barriers_atomics_and_shuffles_of_look_back(compile_ptx):
    ptx = look_back(compile_ptx, np.int32)
    assert count(ptx, "bar.sync") == 2 + 2 + 2  # next_tile before and in the loop, the prefix
    assert count(ptx, "atom.global") == 2 + 2  # next_tile twice: the number, and the end of the launch
    assert count(ptx, "shfl.sync") == 2 * 2 * 5  # nearest window, others; whole warps, smaller blocks
    assert count(look_back(compile_ptx, np.float64), "shfl.sync") == 2 * 2 * 10
    assert count(ptx, "nanosleep") == 2 * 2
    assert count(ptx, "div") == count(ptx, "rem") == 0


def test_shared_memory_of_look_back(compile_ptx):
    for kernel in (tiles.prefixes, tiles.published_ahead):
        sizes = shared_bytes(look_back(compile_ptx, np.int32, kernel=kernel))
        assert sorted(sizes.values()) == [4, 32]  # the prefix on its way to the block, the block's notes
        assert sorted(shared_bytes(look_back(compile_ptx, np.float64, kernel=kernel)).values()) == [8, 32]


def test_look_back_fits_into_few_registers(compile_ptx):
    used = assemble(look_back(compile_ptx, np.int32))
    assert used.spills == used.stack == 0
    assert used.registers <= 40


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
def test_compiles_without_optimisation(compile_ptx, debug):
    for dtype in (np.int32, np.int64, np.complex128):
        matrix = numba.types.Array(from_dtype(np.dtype(dtype)), 2, "C")
        types = states_of(dtype), numba.int64, array_of(dtype), array_of(dtype), matrix
        assert "atom" in compile_ptx(tiles.prefixes(wk.add), *types, debug=debug, opt=False)


@pytest.mark.parametrize("counter", [numba.int32, numba.uint32, numba.int64, numba.uint64], ids=str)
@pytest.mark.parametrize("function", [wk.block_queue_push_if, wk.block_queue_push_if_ordered])
def test_a_push_is_one_global_atomic_and_three_barriers(compile_ptx, function, counter):
    ptx = compile_ptx(pushing_if(function), i32, counter[::1], i32, i32, i64)
    ordered = function is wk.block_queue_push_if_ordered
    assert_register_only(ptx)
    assert count(ptx, "atom.global") == 1
    assert count(ptx, "atom.shared") == (0 if ordered else 1)
    assert count(ptx, "bar") + count(ptx, "barrier") == 3
    assert count(ptx, "shfl.sync") == (6 if ordered else 1)
    assert list(shared_bytes(ptx).values()) == [256 if ordered else 16]
    assert count(ptx, "div") == count(ptx, "rem") == 0


def test_pushing_a_record_needs_no_memory_of_its_own(compile_ptx):
    record = array_of(np.dtype([("a", "f4"), ("b", "i4"), ("c", "f4")], align=True))
    ptx = compile_ptx(pushing(wk.block_queue_push), record, u32, record, i64)
    assert_register_only(ptx)


def test_a_grid_reduction_is_one_atomic_and_two_fences(compile_ptx):
    for dtype in (np.int32, np.float64, np.complex128):
        ptx = compile_ptx(reducing(wk.add), array_of(dtype), array_of(dtype), numba.boolean[::1], states_of(dtype))
        assert_register_only(ptx)
        assert count(ptx, "atom.global") == 1
        assert count(ptx, "membar.gl") + count(ptx, "fence") == 2
        assert count(ptx, "div") == count(ptx, "rem") == 0
