"""Values that travel: any type, any width, any run-time lane or delta, sources that do not take part."""

import numpy as np
import pytest

import warpkit as wk
from tests import reference
from tests.reference import WARP, assert_same, at, participants

from . import kernels
from .kinds import COMPOUND, RECORDS, dummies
from .matrix import FULL, MASKS, NUMBERS, WIDTHS, bit_patterns, label, sentinel

COUNT = 32 * len(MASKS)
WARPS = len(MASKS)
LANE = np.arange(COUNT) % WARP
TYPES = {label(t): np.dtype(t) for t in (np.bool_, *NUMBERS)} | RECORDS


def assert_same_bytes(got, expected):
    """Assert that every byte agrees, of records every byte of every field: what fills the holes is nobody's."""
    for field in got.dtype.names or ():
        assert got[field].tobytes() == expected[field].tobytes(), field
    assert got.dtype.names or got.tobytes() == expected.tobytes()


def some_participant(width, seed=10):
    """Return, for each lane, a lane number that names a participant of its group, plus a multiple of `width`."""
    rng = np.random.default_rng(seed)
    out = np.zeros(COUNT, np.int32)
    for i in range(COUNT):
        lanes = participants(MASKS[i // WARP], width, i % WARP)
        if lanes:
            out[i] = rng.choice(lanes) % width + width * rng.integers(-2, 3)
    return out


def moved(x, width, source, out, fill=None):
    """Fill `out`: a participant gets x of lane source(warp, lane); if that is absent, fill (without one, its own x)."""

    def rule(warp, lanes):
        sources = [source(warp, lane) for lane in lanes]
        own = x if fill is None else fill
        return [x[warp * WARP + s] if s in lanes else own[warp * WARP + lane] for lane, s in zip(lanes, sources)]

    return reference.over(MASKS, width, rule, out)


@pytest.mark.parametrize("name", TYPES)
def test_w18_every_type_travels_bit_for_bit(name):
    x, out = bit_patterns(TYPES[name], COUNT), sentinel(TYPES[name], COUNT)
    lane = some_participant(32)
    expected = moved(x, 32, lambda warp, k: lane[warp * WARP + k] % WARP, out.copy())
    kernels.launch(kernels.two(wk.warp_read_lane), MASKS, x, lane, out)
    assert_same_bytes(out, expected)


@pytest.mark.parametrize("name", ["bool", "int8", "float16", "uint64", "complex128", "rec3", "rec12", "rec24"])
def test_every_type_travels_through_the_other_moves(name):
    x = bit_patterns(TYPES[name], COUNT, seed=11)
    delta = np.full(COUNT, 3, np.int32)
    for function, step in [(wk.warp_shuffle_up, -3), (wk.warp_shuffle_down, 3)]:
        out = sentinel(TYPES[name], COUNT)
        expected = moved(x, 8, lambda warp, k, step=step: k + step, out.copy())
        kernels.launch(kernels.two(function, 8), MASKS, x, delta, out)
        assert out.tobytes() == expected.tobytes()
    out = sentinel(TYPES[name], COUNT)
    expected = reference.over(MASKS, 8, lambda warp, lanes: at(x, warp, lanes[:1]) * len(lanes), out.copy())
    kernels.launch(kernels.one(wk.warp_read_first_active_lane, 8), MASKS, x, out)
    assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("width", [32, 4])
@pytest.mark.parametrize("kind", COMPOUND, ids=str)
def test_vectors_and_tuples_travel_whole(kind, width):
    inputs = [bit_patterns(dtype, COUNT, seed) for seed, dtype in enumerate(kind.dtypes)]
    outputs = [sentinel(dtype, COUNT) for dtype in kind.dtypes]
    expected = [
        reference.over(MASKS, width, lambda warp, lanes, x=x: at(x, warp, lanes[:1]) * len(lanes), out.copy())
        for x, out in zip(inputs, outputs)
    ]
    kernels.launch(
        kernels.columns(wk.warp_read_first_active_lane, kind.build, kind.store, width),
        MASKS,
        *dummies(inputs),
        *dummies(outputs),
    )
    for got, right in zip(outputs, expected):
        assert got.tobytes() == right.tobytes(), kind.name


# ------------------------------------------------------------------ which lane


@pytest.mark.parametrize("named", [False, True], ids=["implicit", "named"])
@pytest.mark.parametrize("width", WIDTHS)
def test_read_lane_is_modulo_width_in_the_callers_logical_warp(width, named):
    x, out = bit_patterns(np.uint32, COUNT), sentinel(np.uint32, COUNT)
    lane = some_participant(width)
    expected = moved(x, width, lambda warp, k: k - k % width + lane[warp * WARP + k] % width, out.copy())
    kernels.launch(kernels.two(wk.warp_read_lane, width, named), MASKS, x, lane, out)
    assert_same(out, expected)


SOURCES = {
    "up": (wk.warp_shuffle_up, lambda lane, delta, width: lane - delta),
    "down": (wk.warp_shuffle_down, lambda lane, delta, width: lane + delta),
    "xor": (wk.warp_shuffle_xor, lambda lane, delta, width: lane ^ delta),
    "rotate": (wk.warp_rotate, lambda lane, delta, width: lane - lane % width + (lane + delta) % width),
}
DELTAS = np.array([0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 64, 100, -1, -2, -8, -16, -31, -32, -33, 2**31 - 1, -(2**31)])
MOVES = [(name, width) for name in SOURCES for width in WIDTHS]


@pytest.mark.parametrize("shift", [0, 11])
@pytest.mark.parametrize(("name", "width"), [(name, width) for name, width in MOVES if width in (32, 8)])
def test_any_delta_means_what_it_says(name, width, shift):
    per_warp = np.roll(DELTAS, shift)[np.arange(WARPS) % len(DELTAS)].astype(np.int32)
    check_move(name, width, per_warp)


@pytest.mark.parametrize("named", [False, True], ids=["implicit", "named"])
@pytest.mark.parametrize(("name", "width"), MOVES)
def test_sources_outside_or_absent_give_the_own_value(name, width, named):
    per_warp = np.random.default_rng(12).integers(-9, 10, WARPS).astype(np.int32)
    check_move(name, width, np.abs(per_warp) if name == "xor" else per_warp, named)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint32, np.int64, np.uint64], ids=label)
@pytest.mark.parametrize("name", SOURCES)
def test_a_delta_may_be_of_every_integer_type(name, dtype):
    limits = np.iinfo(dtype)
    some = [0, 1, 5, 31, 100, limits.max, limits.min, *([-1, -7] if limits.min else [limits.max - 2])]
    check_move(name, 16, np.array(some, dtype)[np.arange(WARPS) % len(some)])


def check_move(name, width, per_warp, named=False):
    """Run one move with one delta a warp and compare."""
    function, source = SOURCES[name]
    x, out = bit_patterns(np.int32, COUNT), sentinel(np.int32, COUNT)
    expected = moved(x, width, lambda warp, k: source(k, int(per_warp[warp]), width), out.copy())
    kernels.launch(kernels.two(function, width, named), MASKS, x, np.repeat(per_warp, WARP), out)
    assert_same(out, expected)


@pytest.mark.parametrize("dtype", [np.int16, np.float64], ids=label)
@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize("name", ["up", "down", "xor"])
def test_sources_outside_or_absent_give_the_fill(name, width, dtype):
    function, source = SOURCES[name]
    per_warp = np.random.default_rng(13).integers(0, 10, WARPS).astype(np.int32)
    x, fill, out = bit_patterns(dtype, COUNT), bit_patterns(dtype, COUNT, 99), sentinel(dtype, COUNT)
    expected = moved(x, width, lambda warp, k: source(k, int(per_warp[warp]), width), out.copy(), fill)
    kernels.launch(kernels.filled(function, width), MASKS, x, np.repeat(per_warp, WARP), fill, out)
    assert_same(out, expected)


@kernels.kernel(kernels.f32, kernels.f32)
def matrices(x, out):
    """Read a 3×3 matrix of the first participant and one of lane 6, under {0, 1, 6}."""
    lane = kernels.cuda.grid(1)
    if lane == 0 or lane == 1 or lane == 6:
        k = 9 * lane
        matrix = ((x[k], x[k + 1], x[k + 2]), (x[k + 3], x[k + 4], x[k + 5]), (x[k + 6], x[k + 7], x[k + 8]))
        m = wk.warp_read_first_active_lane(matrix)
        n = wk.warp_read_lane(matrix, 6)
        for row in range(3):
            for column in range(3):
                out[lane * 18 + 3 * row + column] = m[row][column]
                out[lane * 18 + 9 + 3 * row + column] = n[row][column]


def test_a_matrix_travels_as_a_tuple_of_tuples():
    x, out = np.arange(32 * 9, dtype=np.float32), np.zeros(32 * 18, np.float32)
    matrices[1, 32](x, out)
    rows = out.reshape(32, 2, 9)
    for lane in range(32):
        on = lane in (0, 1, 6)
        assert rows[lane, 0].tolist() == (list(range(9)) if on else [0] * 9)
        assert rows[lane, 1].tolist() == (list(range(54, 63)) if on else [0] * 9)


def test_w16_floats_are_not_converted_on_the_way():
    x, out = np.arange(32, dtype=np.float32) * 0.25, np.zeros(32, np.float32)
    kernels.launch(kernels.one(wk.warp_active_sum), np.array([FULL], np.uint32), x, out)
    assert (out == 124.0).all()


def test_w17_half_values_travel_exactly():
    x, out = (np.arange(32) * 0.5).astype(np.float16), np.zeros(32, np.float16)
    x[4:8] = [np.inf, np.nan, -0.0, -np.inf]
    kernels.launch(kernels.two(wk.warp_shuffle_xor), np.array([FULL], np.uint32), x, np.ones(32, np.int32), out)
    assert out.tobytes() == x[np.arange(32) ^ 1].tobytes()


@pytest.mark.parametrize("width", WIDTHS)
def test_w20_a_source_past_the_segment_wraps_inside_it(width):
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    lane = np.arange(32, dtype=np.int32)
    kernels.launch(kernels.two(wk.warp_read_lane, width), np.array([FULL], np.uint32), x, lane + 4, out)
    assert (out == lane // width * width + (lane + 4) % width).all()
    if width == 8:
        assert (out[12], out[31]) == (8, 27)


def test_w11_lane_0_gets_the_fill_and_the_others_their_neighbour():
    x, out = np.arange(100, 132, dtype=np.int32), np.zeros(32, np.int32)
    one, fill = np.ones(32, np.int32), np.full(32, -7, np.int32)
    kernels.launch(kernels.filled(wk.warp_shuffle_up), np.array([FULL], np.uint32), x, one, fill, out)
    assert out[0] == -7
    assert (out[1:] == x[:-1]).all()
