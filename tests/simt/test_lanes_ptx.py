"""What talking between lanes costs: one instruction a word, nothing in memory, no call."""

import re

import numba
import pytest
from numba import cuda

from tests.ptx import assert_register_only, count, places, result_type, shuffles
from tests.simt import test_lanes, test_lanes_votes
from tests.simt.waist import VALUES, array_of, carried_ptx, words
from tests.warp.literal import NUMBA
from tests.warp.matrix import FULL, label
from warpkit.simt import lanes, ops

U32, I32 = array_of("uint32"), array_of("int32")


@pytest.mark.parametrize("name", VALUES)
def test_a_shuffle_a_word_of_every_type(compile_ptx, name):
    ptx = carried_ptx(compile_ptx, test_lanes.from_the_lane_xor_21, name)
    assert shuffles(ptx) == count(ptx, "shfl.sync.bfly") == words(name)
    assert_register_only(ptx)


@pytest.mark.parametrize(
    ("move", "mode", "name"),
    [
        (test_lanes.from_a_named_lane, "idx", "bool"),
        (test_lanes.from_a_named_lane, "idx", "rec12"),
        (test_lanes.from_a_named_lane_of_8, "idx", "float64"),
        (test_lanes.from_3_below_in_16, "up", "nested"),
        (test_lanes.from_3_below_in_16, "up", "bool"),
        (test_lanes.from_5_above, "down", "int16"),
        (test_lanes.from_5_above, "down", "rec24"),
    ],
    ids=label,
)
def test_every_shuffle_has_a_mode_of_its_own(compile_ptx, move, mode, name):
    ptx = carried_ptx(compile_ptx, move, name)
    assert shuffles(ptx) == count(ptx, f"shfl.sync.{mode}") == words(name)
    assert count(ptx, "div") == count(ptx, "rem") == 0
    assert_register_only(ptx)


def bfloat16_xor(x, out):
    """Exchange, vote and match bfloat16 values."""
    i = cuda.grid(1)
    value = lanes.shuffle_xor(FULL, x[i], 1)
    same = lanes.match_any(FULL, x[i])
    if lanes.has_redux(ops.maximum, x[i]):
        value = lanes.redux(ops.maximum, same, value)
    out[i] = value


def test_bfloat16_moves_matches_and_reduces(compile_ptx):
    array = cuda.types.bfloat16[::1]
    ptx = compile_ptx(bfloat16_xor, array, array)
    assert (shuffles(ptx), count(ptx, "match.any.sync.b32"), count(ptx, "redux.sync.max.s32")) == (1, 1, 1)
    assert_register_only(ptx)


def positions(out):
    """Who am I, five times."""
    i = lanes.thread_index()
    out[i] = lanes.lane_id() + lanes.block_size() + lanes.lanes_below() + lanes.group_lanes(8)


def test_who_am_i_reads_registers_only(compile_ptx):
    ptx = compile_ptx(positions, I32)
    for register in ("%laneid", "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z"):
        assert register in ptx
    assert count(ptx, "mul.lo.s64") == count(ptx, "mad.lo.s64") == count(ptx, "ld.global") == 0
    assert_register_only(ptx)


def flat(out):
    """Who am I in a flat launch."""
    out[lanes.thread_x()] = lanes.block_x() + lanes.grid_x()


def test_a_flat_position_is_one_register_each(compile_ptx):
    ptx = compile_ptx(flat, I32)
    assert sorted(re.findall(r"%(\w*tid\w*\.\w|\w*ctaid\.\w)", ptx)) == ["ctaid.x", "nctaid.x", "tid.x"]


@pytest.mark.parametrize(
    ("operation", "name", "function"),
    [
        ("lane_id", "int32", lambda x: lanes.lane_id()),
        ("thread_index", "int32", lambda x: lanes.thread_index()),
        ("block_size", "int32", lambda x: lanes.block_size()),
        ("block_index", "int64", lambda x: lanes.block_index()),
        ("grid_size", "int64", lambda x: lanes.grid_size()),
        ("thread_x", "int32", lambda x: lanes.thread_x()),
        ("block_x", "int32", lambda x: lanes.block_x()),
        ("grid_x", "int32", lambda x: lanes.grid_x()),
        ("lanes_below", "uint32", lambda x: lanes.lanes_below()),
        ("group_lanes", "uint32", lambda x: lanes.group_lanes(4)),
        ("as_mask", "uint32", lambda x: lanes.as_mask(x)),
        ("anew", "uint32", lambda x: lanes.anew(x)),
        ("active_mask", "uint32", lambda x: lanes.active_mask()),
        ("ballot", "uint32", lambda x: lanes.ballot(FULL, x)),
        ("match_any", "uint32", lambda x: lanes.match_any(FULL, x)),
        ("all_among", "boolean", lambda x: lanes.all_among(FULL, FULL, x != 0)),
        ("has_redux", "boolean", lambda x: lanes.has_redux(ops.add, x)),
        ("redux", "int16", lambda x: lanes.redux(ops.add, FULL, x)),
        ("shuffle", "int16", lambda x: lanes.shuffle(FULL, x, 3)),
        ("shuffle_xor", "int16", lambda x: lanes.shuffle_xor(FULL, x, 3)),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_results_have_the_promised_type(operation, name, function):
    assert result_type(function, numba.int16) == NUMBA[name]


def test_a_shift_returns_the_value_and_a_flag():
    for function in (lambda x: lanes.shuffle_up(FULL, x, 1), lambda x: lanes.shuffle_down(FULL, x, 1)):
        assert result_type(function, numba.int16) == numba.types.Tuple((numba.int16, numba.boolean))


def test_votes_and_masks_are_one_instruction(compile_ptx):
    for predicate in ("boolean", "int64", "float32"):
        ptx = compile_ptx(test_lanes_votes.voting(lanes.ballot), U32, array_of(predicate), U32)
        assert count(ptx, "vote.sync.ballot.b32") == 1
        assert_register_only(ptx)
    ptx = compile_ptx(test_lanes_votes.agreement, U32, I32, array_of("boolean"))
    assert count(ptx, "vote.sync") == 4  # a tuple of three and one alone
    ptx = compile_ptx(test_lanes.who_is_active, U32, U32)
    assert count(ptx, "activemask.b32") == 3
    ptx = compile_ptx(test_lanes_votes.pass_on_in_shared_memory, U32, I32)
    assert count(ptx, "bar.warp.sync") == 6  # three rounds, unrolled
    assert count(ptx, "bar.sync") == count(ptx, "barrier.sync") == 0


@pytest.mark.parametrize("name", ["bool", "int8", "float16", "uint32", "float64", "complex128", "rec3", "rec24"])
def test_match_takes_an_instruction_a_word(compile_ptx, name):
    ptx = compile_ptx(test_lanes_votes.voting(lanes.match_any), U32, array_of(VALUES[name]), U32)
    assert count(ptx, "match.any.sync.b32") == words(name)
    assert_register_only(ptx)


TEXT = {ops.add: "add.s32", ops.minimum: "min", ops.fmin: "min", ops.maximum: "max", ops.fmax: "max"}
TEXT |= {ops.bit_and: "and.b32", ops.bit_or: "or.b32", ops.bit_xor: "xor.b32"}


@pytest.mark.parametrize("op", TEXT, ids=label)
@pytest.mark.parametrize("name", ["int8", "uint32"])
def test_redux_of_an_integer_is_one_instruction(compile_ptx, name, op):
    run, sign = test_lanes_votes.reducing(op), ".u32" if name[0] == "u" else ".s32"
    ptx = compile_ptx(run, U32, array_of(name), array_of(name))
    assert count(ptx, "redux.sync." + TEXT[op] + (sign if TEXT[op] in ("min", "max") else "")) == 1
    assert_register_only(ptx)


@pytest.mark.parametrize("op", [ops.minimum, ops.maximum, ops.add], ids=label)
@pytest.mark.parametrize("name", ["float16", "float32", "int64"])
def test_redux_of_floats_goes_through_ordered_integers_and_is_absent_elsewhere(compile_ptx, name, op):
    ptx = compile_ptx(test_lanes_votes.reducing(op), U32, array_of(name), array_of(name))
    there = name in ("float16", "float32") and op in (ops.minimum, ops.maximum)
    assert count(ptx, f"redux.sync.{op.__name__[:3]}.s32") == count(ptx, "redux") == there
    assert_register_only(ptx)


@pytest.mark.parametrize("op", [ops.add, ops.minimum], ids=label)
def test_there_is_no_redux_before_sm_80(compile_ptx, op):
    ptx = compile_ptx(test_lanes_votes.reducing(op), U32, I32, I32, cc=(7, 5))
    assert count(ptx, "redux") == count(ptx, "st.global") == 0


def store_in_a_branch(x, out):
    """Every operation before a branch that uses its result in some lanes only."""
    i = cuda.grid(1)
    moved = lanes.shuffle_xor(FULL, x[i], 1)
    same = lanes.match_any(FULL, moved)
    total = lanes.redux(ops.add, FULL, moved)
    votes = lanes.ballot(FULL, moved)
    if i % 2 == 0:
        out[i] = moved + same + total + votes


def test_n09_nothing_convergent_sinks_into_a_branch(compile_ptx):
    ptx = compile_ptx(store_in_a_branch, I32, I32)
    branches = places(ptx, "bra")
    for name in ("shfl.sync", "match.any.sync", "redux.sync", "vote.sync.ballot"):
        (place,) = places(ptx, name)
        assert all(place < branch for branch in branches), name
