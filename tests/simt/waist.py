"""Kernels of the waist tests, and values of every type carried through a device function.

`kernel` registers argument types, so that test_machine_ptx.py compiles every kernel with no GPU.
"""

import functools

import numba
import numpy as np
from numba import cuda, from_dtype

from tests.warp.kinds import COMPOUND, RECORDS, Kind, dummies
from tests.warp.literal import NUMBA
from tests.warp.matrix import NUMBERS, bit_patterns, label

REGISTERED = {}
device = cuda.jit(device=True)

MORE_RECORDS = {
    "rec4_aligned": np.dtype([("a", "i2"), ("b", "u1"), ("c", "u1")], align=True),
    "rec16": np.dtype([("a", "u1"), ("b", "f8"), ("c", "i4"), ("d", "i2"), ("e", "u1")]),
    "rec16_aligned": np.dtype([("a", "f8"), ("b", "i8")], align=True),
}
SCALARS = {label(t): np.dtype(t) for t in (np.bool_, *NUMBERS)}
VALUES = SCALARS | {kind.name: kind for kind in COMPOUND} | RECORDS | MORE_RECORDS


def array_of(t):
    """Return Numba's type of a contiguous array of `t`: a scalar's name, a dtype, or already a Numba type."""
    if isinstance(t, numba.types.Type):
        return t
    dtype = np.dtype({"boolean": "bool"}.get(t, t) if isinstance(t, str) else t)
    return (from_dtype(dtype) if dtype.names else NUMBA.get(dtype.name, numba.boolean))[::1]


def kernel(*argtypes):
    """Make a kernel and register it with the types of its arguments: arrays, given by dtype."""

    def register(function):
        assert function.__name__ not in REGISTERED, function.__name__
        REGISTERED[function.__name__] = (function, tuple(map(array_of, argtypes)))
        return cuda.jit(function)

    return register


def registered(name):
    """Return a registered kernel and the types of its arguments."""
    function, argtypes = REGISTERED[name]
    return (function, *argtypes)


@functools.cache
def carrier(move):
    """Kernel: out[i] = move(x[i], i)."""

    @cuda.jit
    def run(x, out):
        i = np.int32(cuda.grid(1))
        out[i] = move(x[i], i)

    return run


@functools.cache
def column_carrier(move, kind):
    """Kernel for values of several parts: store(move(build(a, b, c, d, i), i), oa, ob, oc, od, i)."""
    build, store = kind.build, kind.store

    @cuda.jit
    def run(a, b, c, d, oa, ob, oc, od):
        i = np.int32(cuda.grid(1))
        store(move(build(a, b, c, d, i), i), oa, ob, oc, od, i)

    return run


def carry(move, name, count=64, seed=3):
    """Run `move` on `count` values of the named type, in one block; return [(column in, column out), …]."""
    kind = VALUES[name]
    dtypes = kind.dtypes if isinstance(kind, Kind) else (kind,)
    inputs = [bit_patterns(dtype, count, seed + k) for k, dtype in enumerate(dtypes)]
    outputs = [np.zeros_like(x) for x in inputs]
    if isinstance(kind, Kind):
        column_carrier(move, kind)[1, count](*dummies(inputs), *dummies(outputs))
    else:
        carrier(move)[1, count](inputs[0], outputs[0])
    return list(zip(inputs, outputs))


def carried_ptx(compile_ptx, move, name, **options):
    """Return the PTX of `carry`'s kernel for the named type."""
    kind = VALUES[name]
    if isinstance(kind, Kind):
        columns = [array_of(dtype) for dtype in kind.dtypes]
        columns += [array_of("int32")] * (4 - len(columns))
        return compile_ptx(column_carrier(move, kind), *columns, *columns, **options)
    return compile_ptx(carrier(move), array_of(kind), array_of(kind), **options)


def words(name):
    """Return how many 32-bit words a value of the named type takes."""
    kind = VALUES[name]
    return kind.words if isinstance(kind, Kind) else -(-kind.itemsize // 4)


def assert_same_bytes(got, expected):
    """Assert that every byte agrees, of records every byte of every field: what fills the holes is nobody's."""
    for field in got.dtype.names or ():
        assert got[field].tobytes() == expected[field].tobytes(), field
    assert got.dtype.names or got.tobytes() == expected.tobytes()
