"""Lanes: who am I, who is active, shuffles, on both machines."""

import functools

import numpy as np
import pytest
from numba import cuda

from tests import reference
from tests.reference import assert_same, at
from tests.simt.waist import VALUES, assert_same_bytes, carry, device, kernel
from tests.warp.matrix import FULL, INTEGERS, MASKS, WIDTHS, bit_patterns, label
from warpkit import errors
from warpkit.simt import lanes

COUNT = 32 * len(MASKS)


# ------------------------------------------------------------------ who am I


@kernel("int32", "int32", "int32", "uint32")
def who(lane, index, size, below):
    """Each thread writes at its own place, found without the waist."""
    me = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    lane[me] = lanes.lane_id()
    index[me] = lanes.thread_index()
    size[me] = lanes.block_size()
    below[me] = lanes.lanes_below()


@pytest.mark.parametrize("block", [32, 1, 100, (8, 8), (4, 4, 4), (3, 5, 2), (1, 64), (2, 1, 33)])
def test_w14_threads_are_numbered_x_first_in_every_block_shape(block):
    size = int(np.prod(block))
    lane, index, sizes = (np.full(size, -1, np.int32) for _ in range(3))
    below = np.zeros(size, np.uint32)
    who[1, block](lane, index, sizes, below)
    every = np.arange(size)
    assert (index == every).all()
    assert (lane == every % 32).all()
    assert (sizes == size).all()
    assert (below == (1 << every % 32) - 1).all()


@kernel("int64", "int64")
def which_block(index, size):
    """Each block writes at its own place, found without the waist."""
    me = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
    if lanes.thread_index() == 0:
        index[me] = lanes.block_index()
        size[me] = lanes.grid_size()


@pytest.mark.parametrize("grid", [1, 7, (3, 4), (2, 3, 4), (1, 1, 5)], ids=str)
def test_blocks_are_numbered_x_first_in_every_grid_shape(grid):
    blocks = int(np.prod(grid))
    index, size = np.full(blocks, -1), np.full(blocks, -1)
    which_block[grid, (2, 2)](index, size)
    assert (index == np.arange(blocks)).all()
    assert (size == blocks).all()


@kernel("int32")
def along_x(out):
    """Each thread of block (1, 1, 1) writes the three numbers at its own place, found without the waist."""
    me = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    if cuda.blockIdx.x == 1 and cuda.blockIdx.y == 1 and cuda.blockIdx.z == 1:
        out[3 * me], out[3 * me + 1], out[3 * me + 2] = lanes.thread_x(), lanes.block_x(), lanes.grid_x()


def test_numbers_along_x_leave_y_and_z_out():
    out = np.full((4 * 3 * 2, 3), -1, np.int32)
    along_x[(3, 2, 2), (4, 3, 2)](out.reshape(-1))
    assert out.tolist() == [[thread % 4, 1, 3] for thread in range(24)]


@kernel("int32", "uint32")
def groups_of(widths, out):
    """Write the group of every width."""
    for w in range(widths.size):
        out[w * 32 + cuda.threadIdx.x] = lanes.group_lanes(widths[w])


def test_the_lanes_of_a_group_of_every_width():
    out = np.zeros(32 * len(WIDTHS), np.uint32)
    groups_of[1, 32](np.array(WIDTHS, np.int32), out)
    for width, got in zip(WIDTHS, out.reshape(-1, 32)):
        assert [int(m) for m in got] == [((1 << width) - 1) << k // width * width for k in range(32)]


@functools.cache
def as_masks():
    """Kernel: out[i] = as_mask(x[i])."""

    @cuda.jit
    def run(x, out):
        i = cuda.grid(1)
        out[i] = lanes.as_mask(x[i]) >> 1 << 1  # arithmetic shows a sign

    return run


@pytest.mark.parametrize("dtype", INTEGERS, ids=label)
def test_w19_a_mask_is_the_low_32_bits_of_any_integer(dtype):
    x = bit_patterns(dtype, 64)
    out = np.zeros(64, np.uint32)
    as_masks()[1, 64](x, out)
    assert [int(m) for m in out] == [int(v) & 0xFFFFFFFE for v in x]


@kernel("uint32", "uint32")
def who_is_active(masks, out):
    """Ask in a branch, in the other one, and after both."""
    i = cuda.grid(1)
    if masks[i // 32] >> i % 32 & 1 != 0:
        out[3 * i] = lanes.active_mask()
    else:
        out[3 * i + 1] = lanes.active_mask()
    out[3 * i + 2] = lanes.active_mask()


def test_the_active_lanes_of_a_branch():
    out = np.zeros((COUNT, 3), np.uint32)
    who_is_active[len(MASKS), 32](MASKS, out.reshape(-1))
    for i in range(COUNT):
        mask = int(MASKS[i // 32])
        inside = mask >> i % 32 & 1
        assert [int(m) for m in out[i]] == [mask * inside, (~mask & FULL) * (1 - inside), FULL]


@kernel("int32", "uint32")
def who_is_left(first, out):
    """Lanes from `first` on return early."""
    if cuda.threadIdx.x >= first[0]:
        return
    out[cuda.threadIdx.x] = lanes.active_mask()


@pytest.mark.parametrize("first", [1, 7, 31, 32])
def test_who_has_returned_is_not_active(first):
    out = np.zeros(32, np.uint32)
    who_is_left[1, 32](np.array([first], np.int32), out)
    assert (out[:first] == (1 << first) - 1).all()
    assert (out[first:] == 0).all()


# ------------------------------------------------------------------ shuffles


@device
def from_a_named_lane(value, i):
    """Any number, modulo 32."""
    return lanes.shuffle(FULL, value, i * 7 + 3)


@device
def from_a_named_lane_of_8(value, i):
    """Any number, also a negative one, modulo 8."""
    return lanes.shuffle(FULL, value, i * 3 - 40, 8)


@device
def from_3_below_in_16(value, i):
    """Keep the own value at the edge."""
    return lanes.shuffle_up(FULL, value, 3, 16)[0]


@device
def from_5_above(value, i):
    """Keep the own value at the edge."""
    return lanes.shuffle_down(FULL, value, 5)[0]


@device
def from_the_lane_xor_21(value, i):
    """Exchange."""
    return lanes.shuffle_xor(FULL, value, 21)


I64 = np.arange(64)
START = I64 // 32 * 32
MOVES = {
    from_a_named_lane: START + (I64 * 7 + 3) % 32,
    from_a_named_lane_of_8: I64 // 8 * 8 + (I64 * 3 - 40) % 8,
    from_3_below_in_16: np.where(I64 % 16 >= 3, I64 - 3, I64),
    from_5_above: np.where(I64 % 32 < 27, I64 + 5, I64),
    from_the_lane_xor_21: I64 ^ 21,
}


@pytest.mark.parametrize("name", VALUES)
def test_w18_every_type_moves_with_all_its_bits(name):
    for move, source in MOVES.items():
        for x, out in carry(move, name):
            assert_same_bytes(out, x[source])


@functools.cache
def shifting(shift, width):
    """Kernel: every distance from 0 to 31, with whether the source was inside."""

    @cuda.jit
    def run(x, out, inside):
        lane = cuda.threadIdx.x
        for delta in range(32):
            moved = shift(FULL, x[lane], delta, width)
            out[delta * 32 + lane] = moved[0]
            inside[delta * 32 + lane] = moved[1]

    return run


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("shift", "sign"), [(lanes.shuffle_up, -1), (lanes.shuffle_down, 1)], ids=["up", "down"])
def test_w11_every_distance_says_whether_the_source_lies_in_the_group(shift, sign, width):
    x, out, inside = np.arange(100, 132), np.zeros((32, 32), np.int64), np.zeros((32, 32), np.bool_)
    shifting(shift, width)[1, 32](x, out.reshape(-1), inside.reshape(-1))
    lane = np.arange(32)
    for delta in range(32):
        far = lane + sign * delta
        there = far // width == lane // width
        assert (inside[delta] == there).all()
        assert (out[delta] == np.where(there, far, lane) + 100).all()


@functools.cache
def indexing(width):
    """Kernel: read the lanes given by number."""

    @cuda.jit
    def run(source, out):
        i = cuda.grid(1)
        out[i] = lanes.shuffle(FULL, i, source[i], width)

    return run


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8], ids=label)
@pytest.mark.parametrize("width", WIDTHS)
def test_w20_a_source_beyond_the_group_wraps_inside_it(width, dtype):
    source = (np.arange(96) * 11 - (50 if np.dtype(dtype).kind == "i" else 0)).astype(dtype)
    out = np.zeros(96, np.int64)
    indexing(width)[1, 96](source, out)
    assert (out == np.arange(96) // width * width + source.astype(np.int64) % width).all()


@kernel("uint32", "int32", "int32")
def among_the_named(masks, x, out):
    """Lanes of a mask with holes exchange with the first of them."""
    i = cuda.grid(1)
    mask = masks[i // 32]
    if mask >> i % 32 & 1 != 0:
        first = 0
        while mask >> first & 1 == 0:
            first += 1
        out[i] = lanes.shuffle(mask, x[i], first)


def test_named_lanes_talk_whatever_the_holes():
    x, out = np.arange(COUNT, dtype=np.int32), np.full(COUNT, -1, np.int32)
    among_the_named[len(MASKS), 32](MASKS, x, out)
    rule = lambda warp, who: [at(x, warp, who)[0]] * len(who)
    assert_same(out, reference.over(MASKS, 32, rule, np.full(COUNT, -1, np.int32)))


# ------------------------------------------------------------------ what a GPU leaves undefined

ODD_LANES = 0xAAAAAAAA


@kernel("int32")
def read_an_absent_lane(out):
    """Odd lanes read lane 2."""
    if cuda.threadIdx.x % 2 == 1:
        out[cuda.threadIdx.x] = lanes.shuffle(ODD_LANES, 1, 2)


@kernel("int32")
def exchange_with_an_absent_lane(out):
    """Odd lanes read even ones."""
    if cuda.threadIdx.x % 2 == 1:
        out[cuda.threadIdx.x] = lanes.shuffle_xor(ODD_LANES, 1, 1)


@kernel("int32")
def shift_from_an_absent_lane(out):
    """Odd lanes read the even ones below."""
    if cuda.threadIdx.x % 2 == 1:
        out[cuda.threadIdx.x] = lanes.shuffle_up(ODD_LANES, 1, 1)[0]


@pytest.mark.simulator
@pytest.mark.parametrize("run", [read_an_absent_lane, exchange_with_an_absent_lane, shift_from_an_absent_lane])
def test_reading_an_absent_lane_is_a_fault(run):
    with pytest.raises(errors.LaneFault) as caught:
        run[1, 32](np.zeros(32, np.int32))
    message = str(caught.value)
    assert "does not take part" in message
    assert "0xaaaaaaaa" in message
    assert "test_lanes.py:" in message
