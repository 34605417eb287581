"""The kernels of the block tests: two blocks of any shape, thread i of the launch works on item i.

Factories remember what they made, so that a function is compiled once per dtype, whatever the shape.
"""

import functools

from numba import cuda

from tests.warp.matrix import SIMULATOR

# For kernels of many items a thread, which would take more registers than each of 1024 threads may have on a GPU.
OF_1024_THREADS = {} if SIMULATOR else {"max_registers": 64}


@cuda.jit(device=True)
def place():
    """Return this thread's index in its block (x fastest), the block's size, and its index in the launch."""
    index = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    size = cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z
    return index, size, cuda.blockIdx.x * size + index


@cuda.jit(device=True)
def item():
    """Return this thread's index in the launch."""
    return place()[2]


@functools.cache
def one(function):
    """Kernel: out[i] = function(x[i])."""

    @cuda.jit
    def run(x, out):
        i = item()
        out[i] = function(x[i])

    return run


@functools.cache
def counted(function):
    """Kernel: out[i] = function(x[i], n[0])."""

    @cuda.jit
    def run(x, n, out):
        i = item()
        out[i] = function(x[i], n[0])

    return run


@functools.cache
def with_op(function, op):
    """Kernel: out[i] = function(x[i], op)."""

    @cuda.jit
    def run(x, out):
        i = item()
        out[i] = function(x[i], op)

    return run


@functools.cache
def counted_with_op(function, op):
    """Kernel: out[i] = function(x[i], op, n[0])."""

    @cuda.jit
    def run(x, n, out):
        i = item()
        out[i] = function(x[i], op, n[0])

    return run


@functools.cache
def pair(function):
    """Kernel: out[i], total[i] = function(x[i])."""

    @cuda.jit
    def run(x, out, total):
        i = item()
        result = function(x[i])
        out[i] = result[0]
        total[i] = result[1]

    return run


@functools.cache
def pair_with_op(function, op):
    """Kernel: out[i], total[i] = function(x[i], op)."""

    @cuda.jit
    def run(x, out, total):
        i = item()
        result = function(x[i], op)
        out[i] = result[0]
        total[i] = result[1]

    return run


@functools.cache
def from_init(function, op):
    """Kernel: out[i] = function(x[i], op, start[0])."""

    @cuda.jit
    def run(x, start, out):
        i = item()
        out[i] = function(x[i], op, start[0])

    return run


@functools.cache
def pair_from_init(function, op):
    """Kernel: out[i], total[i] = function(x[i], op, start[0])."""

    @cuda.jit
    def run(x, start, out, total):
        i = item()
        result = function(x[i], op, start[0])
        out[i] = result[0]
        total[i] = result[1]

    return run


@functools.cache
def columns(function, build, store):
    """Kernel for values of several parts: store(function(build(a, b, c, d, i)), oa, ob, oc, od, i)."""

    @cuda.jit
    def run(a, b, c, d, oa, ob, oc, od):
        i = item()
        store(function(build(a, b, c, d, i)), oa, ob, oc, od, i)

    return run


@functools.cache
def columns_with_op(function, op, build, store):
    """Kernel for values of several parts and an operator: store(function(build(…), op), …)."""

    @cuda.jit
    def run(a, b, c, d, oa, ob, oc, od):
        i = item()
        store(function(build(a, b, c, d, i), op), oa, ob, oc, od, i)

    return run


def launch(run, shape, *arrays, blocks=2):
    """Run a kernel of this module in blocks of `shape`."""
    run[blocks, shape](*arrays)
