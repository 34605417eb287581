"""Lanes talk: shuffles, votes, matches, active mask, syncwarp, with Numba's types (ballot and match are int32)."""

import sys

import numpy as np
from greenlet import getcurrent

from warpkit.errors import LaneFault, Refused
from warpkit.simt.simulator.operations import meet_at
from warpkit.simt.simulator.paths import describe, site_of
from warpkit.simt.simulator.scalars import Int32, UInt32, dtype_of, promoted, scalar
from warpkit.simt.simulator.threads import Thread, thread

_SHUFFLED = frozenset(np.dtype(name) for name in ("i4", "i8", "f4", "f8"))


def _meet(value, resolve, mask, name):
    fiber = getcurrent()
    if type(fiber) is not Thread:
        fiber = thread()
    return meet_at(fiber, sys._getframe(2), value, resolve, mask, name)


def _shuffle(mask, value, other, find, name):
    dtype = dtype_of(value)
    if dtype not in _SHUFFLED:
        shown = dtype if dtype is not None else type(value).__name__
        spot = describe(site_of(sys._getframe(2)))
        taken = "int32, int64, float32 or float64"
        raise Refused(f"cuda.{name} takes {taken}, not {shown}; cast it or use warp_read_lane ({spot})")

    def resolve(lanes):
        result = {}
        for lane, (_, far) in lanes.items():
            source = find(lane, far)
            if source not in lanes:
                raise LaneFault(f"lane {lane} reads lane {source}, which does not take part")
            result[lane] = lanes[source][0]
        return result

    return meet_at(thread(), sys._getframe(2), (promoted(value), int(other) & 31), resolve, mask, name)


def shfl_sync(mask, value, src_lane):
    """Return `value` of lane `src_lane` modulo 32."""
    return _shuffle(mask, value, src_lane, lambda lane, far: far, "shfl_sync")


def shfl_up_sync(mask, value, delta):
    """Return `value` of the lane `delta` below; the lowest lanes keep their own."""
    return _shuffle(mask, value, delta, lambda lane, far: lane - far if lane >= far else lane, "shfl_up_sync")


def shfl_down_sync(mask, value, delta):
    """Return `value` of the lane `delta` above; the highest lanes keep their own."""
    return _shuffle(mask, value, delta, lambda lane, far: lane + far if lane + far < 32 else lane, "shfl_down_sync")


def shfl_xor_sync(mask, value, lane_mask):
    """Return `value` of lane (this lane xor `lane_mask`)."""
    return _shuffle(mask, value, lane_mask, lambda lane, far: lane ^ far, "shfl_xor_sync")


def all_sync(mask, predicate):
    """Return True when `predicate` is true in every named lane."""
    return _meet(bool(predicate), lambda lanes: all(lanes.values()), mask, "all_sync")


def any_sync(mask, predicate):
    """Return True when `predicate` is true in some named lane."""
    return _meet(bool(predicate), lambda lanes: any(lanes.values()), mask, "any_sync")


def eq_sync(mask, predicate):
    """Return True when `predicate` is the same in every named lane."""
    return _meet(bool(predicate), lambda lanes: len(set(lanes.values())) == 1, mask, "eq_sync")


def ballot_sync(mask, predicate):
    """Return the int32 mask of the named lanes whose `predicate` is true."""
    return _meet(bool(predicate), lambda lanes: _mask([lane for lane in lanes if lanes[lane]]), mask, "ballot_sync")


def match_any_sync(mask, value):
    """Return the int32 mask of the named lanes whose value has the same bits."""

    def resolve(lanes):
        groups = {}
        for lane, bits in lanes.items():
            groups.setdefault(bits, []).append(lane)
        masks = {bits: _mask(same) for bits, same in groups.items()}
        return {lane: masks[bits] for lane, bits in lanes.items()}

    return _meet(_bits(value, "match_any_sync"), resolve, mask, "match_any_sync")


def match_all_sync(mask, value):
    """Return (int32 mask of the named lanes, True) when all values have the same bits, else (0, False)."""

    def resolve(lanes):
        same = len(set(lanes.values())) == 1
        return (_mask(lanes) if same else Int32(0), same)

    return _meet(_bits(value, "match_all_sync"), resolve, mask, "match_all_sync")


def syncwarp(mask=0xFFFFFFFF):
    """Wait for the named lanes that have not exited, and order their memory accesses."""
    _meet(None, lambda lanes: None, mask, "syncwarp")


def activemask():
    """Return the uint32 mask of the lanes that execute this call together."""
    return _meet(None, lambda lanes: UInt32(sum(1 << lane for lane in lanes)), None, "activemask")


def lanemask_lt():
    """Return the uint32 mask of the lanes below this one."""
    return UInt32((1 << thread().lane) - 1)


def _mask(lanes):
    return scalar(sum(1 << lane for lane in lanes), np.int32)


def _bits(value, name):
    dtype = dtype_of(value)
    if dtype is None or dtype.kind not in "biuf" or dtype == np.float16:
        raise Refused(f"cuda.{name} takes an integer, float32 or float64, not {dtype or type(value).__name__}")
    return promoted(value).item() if dtype.kind in "biu" else np.asarray(value, dtype).tobytes()
