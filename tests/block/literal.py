"""Kernels with one call, for counting instructions."""

import functools
import re

import numpy as np
from numba import cuda

import warpkit as wk
from tests.ptx import count
from tests.warp.literal import NUMBA, words


@functools.cache
def one(function):
    """Kernel: out[i] = function(x[i])."""

    def run(x, out):
        i = cuda.grid(1)
        out[i] = function(x[i])

    return run


@functools.cache
def with_op(function, op):
    """Kernel: out[i] = function(x[i], op)."""

    def run(x, out):
        i = cuda.grid(1)
        out[i] = function(x[i], op)

    return run


@functools.cache
def on_items(function, size, dtype, own=0):
    """Kernel: vector load, function(items), vector store; `function(items, scratch)` with an own scratch."""
    if own:

        def run(x, out):
            items, scratch = wk.local_array(size, dtype), wk.shared_array(own, dtype)
            wk.block_load_vectorized(items, x, 0)
            function(items, scratch)
            wk.block_store_vectorized(items, out, 0)
    else:

        def run(x, out):
            items = wk.local_array(size, dtype)
            wk.block_load_vectorized(items, x, 0)
            function(items)
            wk.block_store_vectorized(items, out, 0)

    return run


def compiled(compile_ptx, kernel, name, out=None):
    """Compile a kernel for arrays of a named scalar."""
    return compile_ptx(kernel, NUMBA[name][::1], NUMBA[out or name][::1])


def barriers(ptx):
    """Count the barriers of the block, votes among them."""
    return count(ptx, "bar.") - count(ptx, "bar.warp") + count(ptx, "barrier.")


# In the code of a reduction or a scan; two of them on every way: one between the levels and one behind the reads. In
# blocks of whole warps the latter stands once for up to four warps and once for more; a partial warp has both again. A
# reduction of more than eight warps has it a third time.
SCAN_BARRIERS = 5
REDUCTION_BARRIERS = 6


def shared_bytes(ptx):
    """Return {symbol: bytes} of the kernel's shared memory."""
    return {name: int(size) for name, size in re.findall(r"\.shared .*?\.b8 (\w+)\[(\d+)\]", ptx)}


def scratch_bytes(name):
    """Return the bytes of the 32 slots of a scalar."""
    return 32 * 4 * words(name)


def numpy_type(name):
    """Return NumPy's scalar type of this name."""
    return getattr(np, "bool_" if name == "boolean" else name)
