"""Kernels with one call and a literal mask (or none), for counting instructions."""

import functools

import numba
from numba import cuda

from .matrix import FULL

NUMBA = {
    name: getattr(numba, name)
    for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128 boolean".split()
}
NUMBA["float16"] = numba.cuda.types.float16
ALL_SCALARS = list(NUMBA)


def words(name):
    """Return how many 32-bit words a scalar takes."""
    sizes = {"complex64": 2, "complex128": 4}
    return sizes.get(name, 2 if name.endswith("64") else 1)


@functools.cache
def one(function, width=32, masked=True):
    """Kernel: out[i] = function(x[i]), full literal mask or none."""
    if masked:

        def run(x, out):
            i = cuda.grid(1)
            out[i] = function(x[i], mask=FULL, width=width)
    else:

        def run(x, out):
            i = cuda.grid(1)
            out[i] = function(x[i], width=width)

    return run


@functools.cache
def with_op(function, op, width=32, masked=True):
    """Kernel: out[i] = function(x[i], op), full literal mask or none."""
    if masked:

        def run(x, out):
            i = cuda.grid(1)
            out[i] = function(x[i], op, mask=FULL, width=width)
    else:

        def run(x, out):
            i = cuda.grid(1)
            out[i] = function(x[i], op, width=width)

    return run


@functools.cache
def two(function, second, width=32, masked=True):
    """Kernel: out[i] = function(x[i], second), with a literal second argument, full literal mask or none."""
    if masked:

        def run(x, out):
            i = cuda.grid(1)
            out[i] = function(x[i], second, mask=FULL, width=width)
    else:

        def run(x, out):
            i = cuda.grid(1)
            out[i] = function(x[i], second, width=width)

    return run


def compiled(compile_ptx, kernel, name, out=None, **options):
    """Compile a kernel for arrays of a named scalar."""
    return compile_ptx(kernel, NUMBA[name][::1], (out or NUMBA[name])[::1], **options)


def applied(function):
    """Return a device function of one value that applies `function`."""
    return lambda value: function(value)
