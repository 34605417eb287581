"""What it costs to move a value: one shuffle for each 32-bit word, whatever the type, and nothing beside."""

import numba
import pytest
from numba import cuda, from_dtype

import warpkit as wk
from tests.ptx import assert_register_only, count, places, shuffles

from . import kernels
from .kinds import COMPOUND, RECORDS
from .literal import ALL_SCALARS, NUMBA, compiled, one, two, words
from .matrix import FULL, WIDTHS

MOVES = {
    "read_lane": (wk.warp_read_lane, 5),
    "up": (wk.warp_shuffle_up, 1),
    "down": (wk.warp_shuffle_down, 3),
    "xor": (wk.warp_shuffle_xor, 7),
    "rotate": (wk.warp_rotate, 9),
}


@pytest.mark.parametrize("name", ALL_SCALARS)
def test_a_shuffle_a_word(compile_ptx, name):
    for function, second in MOVES.values():
        ptx = compiled(compile_ptx, two(function, second), name)
        assert shuffles(ptx) == words(name)
        assert count(ptx, "activemask") == 0
        assert_register_only(ptx)
    ptx = compiled(compile_ptx, one(wk.warp_read_first_active_lane), name)
    assert shuffles(ptx) == words(name)


@pytest.mark.parametrize("width", [w for w in WIDTHS if w > 1])
@pytest.mark.parametrize("name", MOVES)
def test_a_width_costs_no_more(compile_ptx, name, width):
    function, second = MOVES[name]
    ptx = compiled(compile_ptx, two(function, second % width, width), "float32")
    assert shuffles(ptx) == 1
    assert count(ptx, "div") == count(ptx, "rem") == 0
    assert_register_only(ptx)


def from_lane_3(value, mask, width):
    """Read lane 3."""
    return wk.warp_read_lane(value, 3, mask, width)


@pytest.mark.parametrize("kind", COMPOUND, ids=str)
def test_parts_are_packed_into_words(compile_ptx, kind):
    run = kernels.columns(cuda.jit(device=True)(from_lane_3), kind.build, kind.store, 32, True)
    columns = [NUMBA[dtype.__name__][::1] for dtype in kind.dtypes]
    columns += [numba.int32[::1]] * (4 - len(columns))
    ptx = compile_ptx(run, numba.uint32[::1], *columns, *columns)
    assert shuffles(ptx) == kind.words
    assert_register_only(ptx)


@pytest.mark.parametrize(
    ("name", "number"), [("rec3", 1), ("rec6", 2), ("rec12", 3), ("rec12_aligned", 3), ("rec24", 6)]
)
def test_records_travel_by_value(compile_ptx, name, number):
    record = from_dtype(RECORDS[name])[::1]
    ptx = compile_ptx(two(wk.warp_read_lane, 3), record, record)
    assert shuffles(ptx) == number
    assert_register_only(ptx)


def nine(x, out):
    """Move a 3×3 matrix."""
    i = cuda.grid(1)
    row = (x[i], x[i + 1], x[i + 2])
    out[i] = wk.warp_read_lane((row, row, (x[i + 3], x[i + 4], x[i + 5])), 2, mask=FULL)[2][1]


@pytest.mark.parametrize(("name", "most"), [("float32", 9), ("float16", 5), ("int8", 3)])
def test_a_matrix_takes_its_words_at_most(compile_ptx, name, most):
    # Words that nobody reads afterwards may be dropped, rows that are equal may be one.
    assert 1 <= shuffles(compiled(compile_ptx, nine, name)) <= most


def bfloat(x, out):
    """Move bfloat16 values and back."""
    i = cuda.grid(1)
    out[i] = wk.warp_shuffle_xor(x[i], 1, mask=FULL)


def test_bfloat16_travels(compile_ptx):
    array = cuda.types.bfloat16[::1]
    ptx = compile_ptx(bfloat, array, array)
    assert shuffles(ptx) == 1
    assert ".local" not in ptx


def shuffle_before_branch(x, out):
    """Store under a condition what every lane shuffled."""
    i = cuda.grid(1)
    value = x[i] + wk.warp_shuffle_xor(x[i], 1, mask=FULL)
    if i % 2 == 0:
        out[i] = value


def test_n09_a_shuffle_is_not_moved_into_a_branch(compile_ptx):
    ptx = compile_ptx(shuffle_before_branch, numba.float32[::1], numba.float32[::1])
    (shuffled,), branches = places(ptx, "shfl.sync"), places(ptx, "bra")
    assert all(shuffled < branch for branch in branches)


@pytest.mark.parametrize("lane", ["int32", "uint32", "int64", "uint64"])
def test_n11_lane_numbers_of_every_integer_type_stay_integers(compile_ptx, lane):
    for function, _ in MOVES.values():
        ptx = compile_ptx(
            kernels.two(function), numba.uint32[::1], numba.int32[::1], NUMBA[lane][::1], numba.int32[::1]
        )
        assert ".f64" not in ptx
        assert ".f32" not in ptx
        assert count(ptx, "div") == count(ptx, "rem") == 0
        assert_register_only(ptx)


@pytest.mark.parametrize("mask", ["int32", "uint32", "int64", "uint64"])
def test_n11_masks_of_every_integer_type(compile_ptx, mask):
    for function in (wk.warp_active_sum, wk.warp_prefix_sum):
        run = kernels.one(function, named=True)
        ptx = compile_ptx(run, NUMBA[mask][::1], numba.int32[::1], numba.int32[::1])
        assert ".f64" not in ptx
        assert count(ptx, "activemask") == 0
        assert_register_only(ptx)
