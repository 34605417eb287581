"""One fiber per CUDA thread, and how it waits."""

import sys
from functools import cached_property
from typing import NamedTuple

from greenlet import GreenletExit, getcurrent, greenlet
from numba import cuda

from warpkit.errors import Fault, OutsideKernel

from .clocks import NOTHING
from .paths import describe, is_library, site_of
from .scalars import Int32

IN_KERNELS = "{} is a device function: call it inside a numba.cuda.jit kernel."
INDICES = [Int32(number) for number in range(1025)]


class Dim3(NamedTuple):
    """A position or extent in up to three dimensions, x fastest."""

    x: int
    y: int
    z: int


def dim3(x, y=1, z=1):
    """Return a Dim3 of int32 scalars, as `cuda.threadIdx` has them."""
    return Dim3(*(INDICES[part] if 0 <= part < 1025 else Int32(part) for part in (x, y, z)))


class Thread(greenlet):
    """A CUDA thread. While it waits, `waiting` says for what and `path` says where."""

    # What most threads never change stands in the class: making a thread is what a launch spends most on.
    waiting = path = value = result = fault = None
    tick, clock = 0, NOTHING
    pending_near = pending_wide = fenced_near = fenced_wide = NOTHING
    spin_version, prints, repeats = -1, None, 0

    def __init__(self, run, block, team, index, place):
        super().__init__(run)
        self.block, self.team, self.launch, self.hub = block, team, team.launch, team.hub
        self.index, self.lane, self.place, self.column = INDICES[index], index & 31, place, place[0]
        self.uid = block.first_uid + index

    @cached_property
    def thread_idx(self):
        """threadIdx, int32 scalars."""
        x, y, z = self.place
        return Dim3(INDICES[x], INDICES[y], INDICES[z])

    warp = property(lambda self: self.team.number)
    block_idx = property(lambda self: self.block.block_idx)
    block_dim = property(lambda self: self.launch.block_dim)
    grid_dim = property(lambda self: self.launch.grid_dim)
    warp_lanes = property(lambda self: self.team.size)

    def wait(self):
        """Let others run until the scheduler wakes this thread; raise the fault it may have been woken with."""
        launch = self.launch
        if launch.closing:
            raise GreenletExit
        following = next(self.team.turns, None)
        if following is None:
            self.hub.switch()
        else:  # the next lane of this warp, without a way through the scheduler
            launch.running = following
            following.switch()
        self.waiting = None
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        return self.result

    def __str__(self):
        return f"thread {plain(self.thread_idx)} of block {plain(self.block_idx)} (warp {self.warp}, lane {self.lane})"


def thread(name=None):
    """Return the running simulated thread; without one say that `name`, or what the user called, needs a kernel."""
    fiber = getcurrent()
    if type(fiber) is Thread:
        return fiber
    raise OutsideKernel(IN_KERNELS.format(name or _called(sys._getframe())))


def fault(sentence):
    """Return the Fault that says `sentence`, of the running thread at the user's line."""
    return Fault(f"{sentence}; {thread()} at {describe(site_of(sys._getframe(1)))}")


def called_by_host():
    """Tell whether no kernel runs and nothing of the library's is below either, which may try a function out."""
    frame = sys._getframe(2)
    while frame is not None and not is_library(frame.f_code):
        frame = frame.f_back
    return frame is None and type(getcurrent()) is not Thread


def _called(frame):
    """Return the name of what the user called: of the outermost of the library's functions, without its check."""
    code = frame.f_code
    while frame is not None and is_library(frame.f_code):
        if not frame.f_code.co_filename.endswith("/simt/simulated_kinds.py"):
            code = frame.f_code
        frame = frame.f_back
    if "/numba_api/" not in code.co_filename:
        return code.co_name
    return f"cuda.{code.co_name}" if hasattr(cuda, code.co_name) else "this"


def plain(dim):
    """Return a Dim3 as a tuple of ints, for messages."""
    return tuple(int(part) for part in dim)
