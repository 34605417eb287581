"""Where a function ends, a call that the source has once is compiled once, whatever Python makes of it (tails.py)."""

import numba
import pytest
from numba import cuda

import warpkit as wk
from tests.ptx import count

from . import test_tails

I64 = numba.int64
VALUES = I64[::1], I64, I64[::1]


@cuda.jit
def plain(x, n, out):
    """Store the block's sum of values that are there before the call."""
    i = cuda.threadIdx.x
    value = 0
    if i < n:
        value = x[i]
    total = wk.block_sum(value)
    out[i] = total
    return None


@pytest.mark.parametrize("kernel", test_tails.KERNELS, ids=lambda kernel: kernel.py_func.__name__)
def test_one_call_is_compiled_once(compile_ptx, kernel):
    ptx, wanted = compile_ptx(kernel, *VALUES), compile_ptx(plain, *VALUES)
    for name in ("bar.sync", "shfl", "redux"):
        assert count(ptx, name) == count(wanted, name)


@cuda.jit
def both(x, n, out):
    """Store one of two sums, which two calls on one line make."""
    i = cuda.threadIdx.x
    out[i] = wk.warp_active_sum(x[i]) if n > 3 else wk.warp_active_sum(-x[i])


def test_two_calls_on_one_line_remain_two(compile_ptx):
    assert count(compile_ptx(both, *VALUES), "shfl") == 2 * count(compile_ptx(one, *VALUES), "shfl")


@cuda.jit
def one(x, n, out):
    """Store a sum."""
    i = cuda.threadIdx.x
    total = wk.warp_active_sum(x[i])
    out[i] = total
    return None


def test_numbas_own_operations_too(compile_ptx):
    def last(x, n, out):
        i = cuda.threadIdx.x
        out[i] = cuda.syncthreads_count(x[i] if i < n else 0)

    assert count(compile_ptx(last, I64[::1], I64, I64[::1]), "bar") == 1
