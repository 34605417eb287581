"""Calls that Python writes twice, where a function ends and in the test of a loop: one call, as the source has it."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk

N = 300


@cuda.jit(device=True)
def returned(x, n):
    """Return the block's sum at once."""
    i = cuda.threadIdx.x
    return wk.block_sum(x[i] if i < n else 0)


@cuda.jit(device=True)
def named(x, n):
    """Return the block's sum by a name."""
    i = cuda.threadIdx.x
    total = wk.block_sum(x[i] if i < n else 0)
    return total


@cuda.jit(device=True)
def chosen(x, n):
    """Return the block's sum of what is chosen among three."""
    i = cuda.threadIdx.x
    return wk.block_sum(x[i] if i < n - 20 else x[i] if i < n else 0)


@cuda.jit
def by_return(x, n, out):
    out[cuda.threadIdx.x] = returned(x, n)


@cuda.jit
def by_name(x, n, out):
    out[cuda.threadIdx.x] = named(x, n)


@cuda.jit
def by_choice(x, n, out):
    out[cuda.threadIdx.x] = chosen(x, n)


@cuda.jit
def by_store(x, n, out):
    i = cuda.threadIdx.x
    out[i] = wk.block_sum(x[i] if i < n else 0)


@cuda.jit
def by_helper(x, n, out):
    i = cuda.threadIdx.x
    put(out, x[i] if i < n else 0)


@cuda.jit(device=True)
def put(out, value):
    """Store the block's sum."""
    out[cuda.threadIdx.x] = wk.block_sum(value)


@cuda.jit
def by_two_calls(x, n, out):
    i = cuda.threadIdx.x
    if i < 320:
        out[i] = wk.warp_active_sum(x[i] if i < n else 0)
    else:
        out[i] = wk.warp_active_sum(0)


KERNELS = [by_return, by_name, by_choice, by_store, by_helper]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.py_func.__name__)
@pytest.mark.parametrize("n", [0, 1, 40, 41, 288, N])
def test_the_whole_block_meets(kernel, n):
    x = np.arange(1, N + 1) ** 2
    out = cuda.device_array(320, np.int64)
    kernel[1, 320](cuda.to_device(x), n, out)
    assert (out.copy_to_host() == x[:n].sum()).all()


@pytest.mark.parametrize("n", [0, 7, 33, N])
def test_two_calls_remain_two(n):
    x = np.arange(1, N + 1) ** 2
    out = cuda.device_array(384, np.int64)
    by_two_calls[1, 384](cuda.to_device(x), n, out)
    wanted = np.pad(np.where(np.arange(N) < n, x, 0), (0, 84)).reshape(12, 32).sum(1)
    np.testing.assert_array_equal(out.copy_to_host(), wanted.repeat(32))


@cuda.jit
def by_rounds(x, n, out):
    """Take from every item as much as it has, as long as any has something; odd threads go on early."""
    i, k = cuda.threadIdx.x, 0
    while wk.block_sum(x[i] - k if i < n and x[i] > k else 0) > 0:
        k += 1
        if i & 1:
            out[i] += k
            continue
        out[i] -= k


@pytest.mark.parametrize("n", [0, 1, 40, 64, 96])
def test_threads_that_continue_meet_the_others_at_the_test(n):
    x = np.random.default_rng(n).integers(0, 6, 96)
    out = cuda.to_device(np.zeros(96, np.int64))
    by_rounds[1, 96](cuda.to_device(x), n, out)
    rounds = x[:n].max(initial=0)
    total = rounds * (rounds + 1) // 2
    np.testing.assert_array_equal(out.copy_to_host(), np.where(np.arange(96) % 2, total, -total))
