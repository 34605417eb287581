"""What a push of several items costs: barriers, one global atomic, shared bytes, stores; nothing in local memory."""

import numba
import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.ptx import assemble, assert_register_only, count

from .literal import SCAN_BARRIERS, barriers, shared_bytes
from .test_queue_items import FORMS

i32, u32, i64 = numba.int32[::1], numba.uint32[::1], numba.int64[::1]
SCAN, POOL = 128, 8192  # bytes of shared memory: of a block scan of int32, of the pool


def keeping(function, size, dtype, own=0):
    """Kernel: push the positive items of a vector load."""

    def run(buffer, counter, x):
        items, flags = wk.local_array(size, dtype), wk.local_array(size, np.bool_)
        base = cuda.blockIdx.x * cuda.blockDim.x * size
        wk.block_load_vectorized(items, x, base, min(x.size - base, cuda.blockDim.x * size), 0)
        for k in range(size):
            flags[k] = items[k] > 0
        function(buffer, counter, items, flags)

    def run_with_scratch(buffer, counter, x):
        items, flags = wk.local_array(size, dtype), wk.local_array(size, np.bool_)
        scratch = wk.shared_array(own, dtype)
        base = cuda.blockIdx.x * cuda.blockDim.x * size
        wk.block_load_vectorized(items, x, base, min(x.size - base, cuda.blockDim.x * size), 0)
        for k in range(size):
            flags[k] = items[k] > 0
        function(buffer, counter, items, flags, None, scratch)

    return run_with_scratch if own else run


@pytest.mark.parametrize("size", [4, 16])
@pytest.mark.parametrize("function", FORMS)
@pytest.mark.parametrize("counter", [u32, i64], ids=str)
def test_one_global_atomic_and_the_barriers_of_the_docstring(compile_ptx, function, size, counter):
    ordered = function is wk.block_queue_push_items_ordered
    ptx = compile_ptx(keeping(function, size, np.int32), i32, counter, i32)
    assert_register_only(ptx)
    assert count(ptx, "atom.global") == 1
    assert count(ptx, "atom.shared") == count(ptx, "div") == count(ptx, "rem") == 0
    assert barriers(ptx) == SCAN_BARRIERS + 2
    assert count(ptx, "vote.sync") == (0 if ordered else 2 * size)  # once with the mask of whole warps, once of a part
    assert sorted(shared_bytes(ptx).values()) == [SCAN, POOL][: 2 if ordered else 1]


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize("function", FORMS)
def test_sixteen_items_stay_in_registers(compile_ptx, function, dtype):
    array = numba.types.Array(numba.from_dtype(np.dtype(dtype)), 1, "C")
    made = assemble(compile_ptx(keeping(function, 16, dtype), array, u32, array))
    assert made.stack == made.spills == 0
    assert made.registers <= 64


def test_an_own_scratch_takes_the_place_of_the_pool(compile_ptx):
    ptx = compile_ptx(keeping(wk.block_queue_push_items_ordered, 4, np.int32, 1024), i32, u32, i32)
    assert sorted(shared_bytes(ptx).values()) == [SCAN, 4096]
    assert_register_only(ptx)


@pytest.mark.parametrize("function", FORMS)
def test_compiles_without_optimisation(compile_ptx, function):
    for debug in (False, True):
        assert "atom" in compile_ptx(keeping(function, 3, np.int32), i32, u32, i32, debug=debug, opt=False)
