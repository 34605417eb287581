"""Lanes: who am I, and lanes talk.

Each body is the operation's meaning, run lane by lane by the simulator; numba_cuda/lanes.py holds the hardware half.
A mask names lanes of the caller's warp, bit k for lane k; all named lanes call together, each named in its own mask.
"""

from .machine import SIMULATOR, operation

if SIMULATOR:
    from . import simulator
    from .ops import known
    from .rules import redux_form
    from .simulated import absent_lane, int32, int64, same_bits, uint32
    from .simulated_kinds import kind_of_value
    from .types import combine


@operation
def lane_id():
    """Return this thread's lane, int32 0…31."""
    return int32(simulator.thread().lane)


@operation
def thread_index():
    """Return this thread's linear index in its block, x fastest, int32."""
    return simulator.thread().index


@operation
def block_size():
    """Return how many threads this block has, int32."""
    dim = simulator.thread().block_dim
    return int32(int(dim.x) * int(dim.y) * int(dim.z))


@operation
def block_index():
    """Return this block's linear index in its grid, x fastest, int64."""
    at, dim = simulator.thread().block_idx, simulator.thread().grid_dim
    return int64((int(at.z) * int(dim.y) + int(at.y)) * int(dim.x) + int(at.x))


@operation
def grid_size():
    """Return how many blocks this grid has, int64."""
    dim = simulator.thread().grid_dim
    return int64(int(dim.x) * int(dim.y) * int(dim.z))


@operation
def thread_x():
    """Return this thread's index in its block along x, int32: all of it in a flat block, in one register."""
    return int32(simulator.thread().thread_idx.x)


@operation
def block_x():
    """Return this block's index in its grid along x, int32: all of it in a flat grid, in one register."""
    return int32(simulator.thread().block_idx.x)


@operation
def grid_x():
    """Return how many blocks this grid has along x, int32: all of them in a flat grid, in one register."""
    return int32(simulator.thread().grid_dim.x)


@operation
def lanes_below():
    """Return the uint32 mask of the lanes lower than this one."""
    return uint32((1 << simulator.thread().lane) - 1)


@operation
def group_lanes(width):
    """Return the uint32 mask of the group of `width` lanes (a power of two) that this lane is in."""
    lane = simulator.thread().lane
    return uint32(((1 << int(width)) - 1) << lane // int(width) * int(width))


@operation
def as_mask(mask):
    """Return an integer of any type as a uint32 mask, its low 32 bits."""
    return uint32(int(mask) & 0xFFFFFFFF)


@operation
def anew(mask):
    """Return a uint32 mask as if it were another one at every call.

    What is asked of a mask that stays the same in a loop makes NVVM copy the loop for each answer, shuffles and all; a
    warp that is spread over the copies takes turns. Costs no instruction.
    """
    return uint32(int(mask))


@operation
def active_mask():
    """Return the uint32 mask of the lanes that execute this call together."""
    return simulator.meet(None, lambda lanes: uint32(sum(1 << lane for lane in lanes)), name="active_mask")


@operation
def shuffle(mask, value, source, width=32):
    """Return `value` of lane `source` modulo `width` in this lane's group of `width` lanes.

    Any value that moves between lanes; ceil(bytes / 4) 32-bit shuffles.
    """

    def read(lanes):
        result = {}
        for lane, (_, source) in lanes.items():
            far = lane // width * width + int(source) % width
            result[lane] = lanes[far][0] if far in lanes else absent_lane(lane, far)
        return result

    return simulator.meet((value, source), read, mask, name="shuffle")


@operation
def shuffle_up(mask, value, delta, width=32):
    """Return (value of the lane `delta` below, True), or (own value, False) where that lies below the group.

    0 ≤ delta < 32.
    """
    return _shifted(mask, value, -int(delta), width, "shuffle_up")


@operation
def shuffle_down(mask, value, delta, width=32):
    """Return (value of the lane `delta` above, True), or (own value, False) where that lies above the group.

    0 ≤ delta < 32.
    """
    return _shifted(mask, value, int(delta), width, "shuffle_down")


@operation
def shuffle_xor(mask, value, lane_mask):
    """Return `value` of lane (this lane xor `lane_mask`), 0 ≤ lane_mask < 32."""

    def read(lanes):
        sources = {lane: lane ^ int(other) for lane, (_, other) in lanes.items()}
        return {lane: lanes[far][0] if far in lanes else absent_lane(lane, far) for lane, far in sources.items()}

    return simulator.meet((value, lane_mask), read, mask, name="shuffle_xor")


@operation
def ballot(mask, predicate):
    """Return the uint32 mask of the named lanes whose `predicate` is true."""
    return simulator.meet(
        bool(predicate),
        lambda lanes: uint32(sum(1 << lane for lane, true in lanes.items() if true)),
        mask,
        name="ballot",
    )


@operation
def all_among(mask, among, predicate):
    """Return True when `predicate` is true in all the lanes of `among`, a part of `mask`; a tuple gives a tuple."""

    def vote(lanes):
        result = {}
        for lane, (among, predicate) in lanes.items():
            others = [true for other, (_, true) in lanes.items() if int(among) >> other & 1]
            if isinstance(predicate, tuple):
                result[lane] = tuple(all(column) for column in zip(*others, strict=True))
            else:
                result[lane] = all(others)
        return result

    return simulator.meet((among, predicate), vote, mask, name="all_among")


@operation
def match_any(mask, value):
    """Return the uint32 mask of the named lanes whose `value` has the same bits as this lane's."""

    def compare(lanes):
        return {a: uint32(sum(1 << b for b in lanes if same_bits(lanes[a], lanes[b]))) for a in lanes}

    return simulator.meet(value, compare, mask, name="match_any")


@operation
def redux(op, mask, value):
    """Reduce `value` over the named lanes in one instruction, for the (op, type) pairs of `has_redux`."""

    def reduce(lanes):
        total, *others = lanes.values()
        for other in others:
            total = combine(op, total, other)
        return total

    return simulator.meet(value, reduce, mask, name="redux")


@operation
def has_redux(op, value):
    """Return True, at compile time, where `redux(op, mask, value)` exists.

    add, minimum, maximum and the bit operators on integers of at most 32 bits, from compute capability 8.0; minimum and
    maximum also on float16 and float32, whose order is that of integers once the sign is folded in.
    """
    return redux_form(known(op), kind_of_value(value)) is not None


@operation
def sync_warp(mask):
    """Wait for the named lanes; their earlier memory accesses are seen by one another afterwards."""
    simulator.meet(None, lambda lanes: None, mask, name="sync_warp")


def _shifted(mask, value, delta, width, name):
    def read(lanes):
        result = {}
        for lane, (mine, delta) in lanes.items():
            far = lane + delta
            if far // width != lane // width:
                result[lane] = (mine, False)
            else:
                result[lane] = (lanes[far][0], True) if far in lanes else absent_lane(lane, far)
        return result

    return simulator.meet((value, delta), read, mask, name=name)
