"""Look-back of every type of value: numbers, bool, tuples, vectors; in one access and released."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.reference import exclusive
from tests.warp import operators
from tests.warp.kinds import build_four, build_nested, build_pair, store_four, store_nested, store_pair
from tests.warp.matrix import NUMBERS, label

from . import tiles
from .tiles import values


@pytest.mark.parametrize("dtype", NUMBERS, ids=label)
def test_every_number_type(dtype):
    x, count = values(dtype, 50), 27
    states = wk.tile_states(len(x), dtype)
    for kernel in (tiles.prefixes(wk.add), tiles.published_ahead(wk.add)):
        found = tiles.run(kernel, states, x[:count], 3, 12, init=3)
        assert (found == tiles.sums(x[:count], 3)).all()


def test_bool():
    x = np.zeros(40, bool)
    x[17] = True
    found = tiles.run(tiles.prefixes(wk.logical_or), wk.tile_states(40, np.bool_), x, 3, 8)
    assert (found == (np.arange(40) > 17)).all()


f4, f8, i1, i2, i4, i8 = np.float32, np.float64, np.int8, np.int16, np.int32, np.int64


@cuda.jit(device=True)
def build_three(a, b, c, d, i):
    """Tuple of three."""
    return (a[i], b[i], c[i])


@cuda.jit(device=True)
def store_three(v, a, b, c, d, i):
    """Tuple of three."""
    a[i] = v[0]
    b[i] = v[1]
    c[i] = v[2]


# Name, dtypes of the columns, dtype of the states, build, store, operator, the same in Python: 8, 12, 11 and 16 bytes.
COMPOUND = {
    "affine": ((i4, i4), (i4, i4), build_pair, store_pair, operators.affine, operators.py_affine(i4)),
    "seed": (
        (f4, f4, i4),
        np.dtype([("x", "f4"), ("y", "f4"), ("n", "i4")]),
        build_three,
        store_three,
        wk.add,
        lambda p, q: tuple(a + b for a, b in zip(p, q)),
    ),
    "nested": (
        (i1, f8, i2),
        ((i1, f8), i2),
        build_nested,
        store_nested,
        operators.nested_last,
        operators.py_nested_last,
    ),
    "matrix": ((i4,) * 4, (i4,) * 4, build_four, store_four, operators.matmul2, operators.py_matmul2(i4)),
}


@pytest.mark.parametrize("early", [False, True], ids=["at_once", "early"])
@pytest.mark.parametrize("name", COMPOUND)
def test_tuples(name, early):
    dtypes, carried, build, store, op, meaning = COMPOUND[name]
    count, rng = 41, np.random.default_rng(8)
    columns = [rng.integers(-4, 5, count + 1).astype(dtype) for dtype in dtypes]  # the last row is the init
    outs = [np.zeros(count, dtype) for dtype in dtypes]
    idle = [np.zeros(1, np.int32)] * (4 - len(dtypes))
    kernel = tiles.of_parts(op, build, store, early)
    kernel[5, 16](wk.tile_states(count, carried), count, count, *columns, *idle, *outs, *idle)
    rows = [tuple(column[t].item() for column in columns) for t in range(count + 1)]
    if name == "nested":
        rows = [((a, b), c) for a, b, c in rows]
    wanted = exclusive(meaning, rows[:count], rows[count])
    found = [tuple(out[t].item() for out in outs) for t in range(count)]
    assert found == ([(a, b, c) for (a, b), c in wanted] if name == "nested" else wanted)


@cuda.jit
def vectors(states, num_tiles, x, y, out):
    """Exclusive sums of float32x2."""
    tile = wk.lookback_next_tile(states, num_tiles)
    while tile >= 0:
        value = cuda.float32x2(x[tile], y[tile])
        prefix = wk.lookback_exclusive_prefix(states, tile, value, wk.add, cuda.float32x2(0.0, 1.0))
        out[tile, 0] = prefix.x
        out[tile, 1] = prefix.y
        tile = wk.lookback_next_tile(states, num_tiles)


def test_vectors_in_states_of_a_tuple():
    x, y, out = values(f4, 20), values(f4, 20, 4), np.zeros((20, 2), f4)
    vectors[3, 32](wk.tile_states(20, (f4, f4)), 20, x, y, out)
    assert (out == np.stack([tiles.sums(x), tiles.sums(y, 1)], axis=1)).all()


def test_the_aggregate_takes_the_type_of_the_states():
    @cuda.jit
    def widened(states, num_tiles, x, out):
        tile = wk.lookback_next_tile(states, num_tiles)
        while tile >= 0:
            out[tile] = wk.lookback_exclusive_prefix(states, tile, x[tile] + 1, wk.add, 0)
            tile = wk.lookback_next_tile(states, num_tiles)

    x = np.arange(20, dtype=np.int32)  # int32 + int is int64 in Numba
    out = np.zeros(20, np.int32)
    widened[2, 32](wk.tile_states(20, np.int32), 20, x, out)
    assert (out == tiles.sums(x + 1)).all()
