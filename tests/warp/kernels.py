"""The kernels of the warp tests. Masks are data: one compile serves every mask.

Each factory gives a kernel in which warp w runs a function in the lanes of `masks[w]` only. `named` passes that mask
(`mask=`); otherwise the function finds out by itself who takes part. Factories remember what they made, so that a
function, width and form is compiled once per dtype.
"""

import functools

import numba
from numba import cuda

REGISTERED = []
b1, i8, i16, i32, i64 = (t[::1] for t in (numba.boolean, numba.int8, numba.int16, numba.int32, numba.int64))
u8, u16, u32, u64 = (t[::1] for t in (numba.uint8, numba.uint16, numba.uint32, numba.uint64))
f32, f64 = numba.float32[::1], numba.float64[::1]


def kernel(*argtypes):
    """Make a kernel and register it with argument types: test_kernels_ptx.py compiles it with no GPU."""

    def register(function):
        REGISTERED.append((function, argtypes))
        return cuda.jit(function)

    return register


@cuda.jit(device=True)
def takes_part(mask, i):
    """Say whether bit `i % 32` of `mask` is set."""
    return (mask >> (i % 32)) & 1 != 0


@functools.cache
def one(function, width=32, named=False):
    """Kernel: out[i] = function(x[i])."""
    if named:

        @cuda.jit
        def run(masks, x, out):
            i = cuda.grid(1)
            mask = masks[i // 32]
            if takes_part(mask, i):
                out[i] = function(x[i], mask=mask, width=width)
    else:

        @cuda.jit
        def run(masks, x, out):
            i = cuda.grid(1)
            if takes_part(masks[i // 32], i):
                out[i] = function(x[i], width=width)

    return run


@functools.cache
def two(function, width=32, named=False):
    """Kernel: out[i] = function(x[i], y[i])."""
    if named:

        @cuda.jit
        def run(masks, x, y, out):
            i = cuda.grid(1)
            mask = masks[i // 32]
            if takes_part(mask, i):
                out[i] = function(x[i], y[i], mask=mask, width=width)
    else:

        @cuda.jit
        def run(masks, x, y, out):
            i = cuda.grid(1)
            if takes_part(masks[i // 32], i):
                out[i] = function(x[i], y[i], width=width)

    return run


@functools.cache
def filled(function, width=32, named=False):
    """Kernel: out[i] = function(x[i], y[i], fill[i])."""
    if named:

        @cuda.jit
        def run(masks, x, y, fill, out):
            i = cuda.grid(1)
            mask = masks[i // 32]
            if takes_part(mask, i):
                out[i] = function(x[i], y[i], fill=fill[i], mask=mask, width=width)
    else:

        @cuda.jit
        def run(masks, x, y, fill, out):
            i = cuda.grid(1)
            if takes_part(masks[i // 32], i):
                out[i] = function(x[i], y[i], fill=fill[i], width=width)

    return run


@functools.cache
def with_op(function, op, width=32, named=False):
    """Kernel: out[i] = function(x[i], op)."""
    if named:

        @cuda.jit
        def run(masks, x, out):
            i = cuda.grid(1)
            mask = masks[i // 32]
            if takes_part(mask, i):
                out[i] = function(x[i], op, mask=mask, width=width)
    else:

        @cuda.jit
        def run(masks, x, out):
            i = cuda.grid(1)
            if takes_part(masks[i // 32], i):
                out[i] = function(x[i], op, width=width)

    return run


@functools.cache
def two_with_op(function, op, width=32, named=False):
    """Kernel: out[i] = function(x[i], y[i], op)."""
    if named:

        @cuda.jit
        def run(masks, x, y, out):
            i = cuda.grid(1)
            mask = masks[i // 32]
            if takes_part(mask, i):
                out[i] = function(x[i], y[i], op, mask=mask, width=width)
    else:

        @cuda.jit
        def run(masks, x, y, out):
            i = cuda.grid(1)
            if takes_part(masks[i // 32], i):
                out[i] = function(x[i], y[i], op, width=width)

    return run


@functools.cache
def columns(function, build, store, width=32, named=False):
    """Kernel for values of several parts: store(function(build(a, b, c, d, i)), oa, ob, oc, od, i)."""
    if named:

        @cuda.jit
        def run(masks, a, b, c, d, oa, ob, oc, od):
            i = cuda.grid(1)
            mask = masks[i // 32]
            if takes_part(mask, i):
                store(function(build(a, b, c, d, i), mask=mask, width=width), oa, ob, oc, od, i)
    else:

        @cuda.jit
        def run(masks, a, b, c, d, oa, ob, oc, od):
            i = cuda.grid(1)
            if takes_part(masks[i // 32], i):
                store(function(build(a, b, c, d, i), width=width), oa, ob, oc, od, i)

    return run


@functools.cache
def columns_with_op(function, op, build, store, width=32, named=False):
    """Kernel for values of several parts and an operator: store(function(build(…), op), …)."""
    if named:

        @cuda.jit
        def run(masks, a, b, c, d, oa, ob, oc, od):
            i = cuda.grid(1)
            mask = masks[i // 32]
            if takes_part(mask, i):
                store(function(build(a, b, c, d, i), op, mask=mask, width=width), oa, ob, oc, od, i)
    else:

        @cuda.jit
        def run(masks, a, b, c, d, oa, ob, oc, od):
            i = cuda.grid(1)
            if takes_part(masks[i // 32], i):
                store(function(build(a, b, c, d, i), op, width=width), oa, ob, oc, od, i)

    return run


@functools.cache
def scan_from(function, op, reverse=False, width=32, named=False):
    """Kernel: out[i] = function(x[i], op, start[0], reverse=…), an exclusive scan."""
    if named:

        @cuda.jit
        def run(masks, x, start, out):
            i = cuda.grid(1)
            mask = masks[i // 32]
            if takes_part(mask, i):
                out[i] = function(x[i], op, start[0], reverse=reverse, mask=mask, width=width)
    else:

        @cuda.jit
        def run(masks, x, start, out):
            i = cuda.grid(1)
            if takes_part(masks[i // 32], i):
                out[i] = function(x[i], op, start[0], reverse=reverse, width=width)

    return run


@functools.cache
def reverse_scan(function, op, width=32):
    """Kernel: out[i] = function(x[i], op, reverse=True), an inclusive scan from the last lane to the first."""

    @cuda.jit
    def run(masks, x, out):
        i = cuda.grid(1)
        if takes_part(masks[i // 32], i):
            out[i] = function(x[i], op, reverse=True, width=width)

    return run


def launch(run, masks, *arrays):
    """Run a kernel of this module: one warp a mask, in blocks of two warps (an odd last block has one)."""
    warps = len(masks)
    block = 64 if warps % 2 == 0 else 32
    run[warps * 32 // block, block](masks, *arrays)
