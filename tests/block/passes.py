"""Kernels on `lookback_pass` for its tests: inclusive scans of one int32 array, whatever tiles add up to."""

import functools

import numpy as np
from numba import cuda

import warpkit as wk
from tests.warp import operators
from tests.warp.matrix import SIMULATOR
from warpkit.block.states import packed_dtype
from warpkit.simt.states import state_dtype

THREADS, ITEMS = 32, 3
TILE = THREADS * ITEMS


@cuda.jit(device=True)
def plus(a, b):
    """Add."""
    return a + b


@cuda.jit(device=True)
def turn(f, g):
    """Compose two walks (direction, distance): the second goes on in the direction in which the first ends."""
    return f[0] * g[0], f[1] + f[0] * g[1]


@cuda.jit(device=True)
def turn_and_mark(f, g):
    """Do what `turn` does, and keep the later mark."""
    return f[0] * g[0], f[1] + f[0] * g[1], g[2] if g[2] != 0 else f[2]


@cuda.jit(device=True)
def as_number(value):
    """Return what an item is among numbers."""
    return value


@cuda.jit(device=True)
def as_walk(value):
    """Return what an item is among walks: 0 is nothing."""
    return -1 if value & 1 else 1, value


@cuda.jit(device=True)
def as_marked(value):
    """Return what an item is among marked walks: 0 is nothing."""
    return -1 if value & 1 else 1, value, value if value % 5 == 0 else 0


@cuda.jit(device=True)
def put_number(out, i, value):
    """Store a number."""
    out[i, 0] = value


@cuda.jit(device=True)
def put_walk(out, i, value):
    """Store a walk."""
    out[i, 0], out[i, 1] = value[0], value[1]


@cuda.jit(device=True)
def put_marked(out, i, value):
    """Store a marked walk."""
    out[i, 0], out[i, 1], out[i, 2] = value[0], value[1], value[2]


# name: (type of what tiles add up to, operator, item -> that, how it is stored, what no item is)
AGGREGATES = {
    "4 bytes": (np.int32, plus, as_number, put_number, 0),
    "8 bytes": (np.int64, operators.last_nonzero, as_number, put_number, 0),
    "two of 4": ((np.int32, np.int32), turn, as_walk, put_walk, (1, 0)),
    "12 bytes": ((np.int32, np.int64), turn, as_walk, put_walk, (1, 0)),
    "24 bytes": ((np.int64, np.int64, np.int64), turn_and_mark, as_marked, put_marked, (1, 0, 0)),
}
BUILT_IN = {"4 bytes": wk.add}


@functools.cache
def scanning(name="4 bytes", threads=THREADS, items=ITEMS, stages=3, ahead=1, init=None, dtype=np.int32):
    """Return (the pass, a kernel): out[i] = x[0] … x[i] combined; seen: per tile that is last, per block tiles."""
    aggregate, op, make, put, nothing = AGGREGATES[name]
    given = BUILT_IN.get(name, op)

    def gather(slot, tile, valid, context):
        own, begin = make(0), cuda.threadIdx.x * items
        for j in range(items):
            if begin + j < valid:
                own = op(own, make(slot[begin + j]))
        return wk.block_exclusive_scan_total(own, given, nothing)

    def finish(slot, tile, valid, earlier, total, before, last, context):
        out, seen = context
        run, begin = op(op(before, make(0)), earlier), cuda.threadIdx.x * items
        if tile == 0 and init is None:
            run = earlier
        for j in range(items):
            if begin + j < valid:
                run = op(run, make(slot[begin + j]))
                put(out, tile * threads * items + begin + j, run)
        if cuda.threadIdx.x == 0:
            seen[tile] += 2 if last else 1

    made = wk.lookback_pass(
        gather, finish, given, threads=threads, items=items, dtype=dtype, aggregate=aggregate, kept=aggregate,
        init=init, stages=stages, ahead=ahead,
    )  # fmt: skip

    @cuda.jit(**({} if SIMULATOR else {"launch_bounds": (threads, 1)}))
    def kernel(x, states, num_items, out, seen, written):
        mine = made.run(states, x, num_items, (out, seen))
        if cuda.threadIdx.x == 0:
            written[cuda.blockIdx.x] = mine

    return made, kernel


def values(count, seed=1):
    """Return items."""
    return np.random.default_rng(seed).integers(-50, 50, count).astype(np.int32)


def reference(name, x, init=None):
    """Return the inclusive scan in plain Python, a row of parts for each item."""
    _, op, make, _, nothing = AGGREGATES[name]
    op, make = plain(op), plain(make)
    run, rows = nothing if init is None else init, []
    for value in x.tolist():
        run = op(run, make(value))
        rows.append(run if isinstance(run, tuple) else (run,))
    return np.array(rows, np.int64).reshape(len(x), len(rows[0]) if rows else 1)


def plain(function):
    """Return the Python function of a device function."""
    return function.fn if SIMULATOR else function.py_func


def run(name="4 bytes", x=None, grid=3, states=None, launch=None, init=None, **shape):
    """Run the scan and assert everything about it."""
    made, kernel = scanning(name, init=init, **shape)
    num_tiles = -(-len(x) // made.tile_items)
    states = wk.tile_states(num_tiles, AGGREGATES[name][0]) if states is None else states
    wanted = reference(name, x, init)
    out, seen, written = np.zeros((max(len(x), 1), 3), np.int64), np.zeros(max(num_tiles, 1), int), np.zeros(grid, int)
    arrays = [cuda.to_device(array) for array in (x, out, seen, written)]
    given = arrays[0], states, len(x), *arrays[1:]
    if launch is None:
        kernel[grid, made.threads, 0, made.shared_bytes](*given)
    else:
        launch(kernel, grid, made.threads, *given, shared=made.shared_bytes)
    out, seen, written = (array.copy_to_host() for array in arrays[1:])
    np.testing.assert_array_equal(out[: len(x), : wanted.shape[1]], wanted)
    assert seen.tolist() == ([1] * (num_tiles - 1) + [2] if num_tiles else [0])
    assert written.sum() == num_tiles


def carried(dtype):
    """Return the dtype of the states of values of `dtype`."""
    return state_dtype(packed_dtype("test", dtype))


def float_prefixes(x, grid):
    """Return what lies before every tile of float32 numbers, by a pass."""
    before_tiles = cuda.device_array(len(x), np.float32)

    def gather(slot, tile, valid, context):
        return 0, slot[0]

    def finish(slot, tile, valid, kept, aggregate, before, last, context):
        if cuda.threadIdx.x == 0:
            context[0][tile] = before

    made = wk.lookback_pass(
        gather, finish, wk.add, threads=32, items=1, dtype=np.float32, aggregate=np.float32, stages=3, ahead=1
    )

    @cuda.jit
    def kernel(x, states, out):
        made.run(states, x, x.size, (out,))

    tiles = np.zeros((len(x), 32), np.float32)
    tiles[:, 0] = x
    states = wk.tile_states(len(x), np.float32)
    kernel[grid, made.threads, 0, made.shared_bytes](cuda.to_device(tiles.reshape(-1)), states, before_tiles)
    return before_tiles.copy_to_host()
