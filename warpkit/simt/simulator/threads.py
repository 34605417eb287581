"""One fiber per CUDA thread, and how it waits."""

from typing import NamedTuple

from greenlet import GreenletExit, getcurrent, greenlet

from warpkit.errors import OutsideKernel

from .clocks import NOTHING
from .scalars import Int32

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

    def __init__(self, run, block, team, index, place):
        super().__init__(run)
        x, y, z = place
        self.column, self.thread_idx = x, Dim3(INDICES[x], INDICES[y], INDICES[z])
        self.block, self.team, self.launch, self.hub = block, team, block.launch, block.launch.hub
        self.index, self.lane, self.warp = index, index % 32, index // 32
        self.uid = self.launch.next_uid()
        self.waiting = self.path = self.value = self.result = self.fault = None
        self.tick, self.clock = 0, NOTHING
        self.pending_near = self.pending_wide = self.fenced_near = self.fenced_wide = NOTHING
        self.spin_version, self.prints, self.repeats = -1, None, 0

    block_idx = property(lambda self: self.block.block_idx)
    block_dim = property(lambda self: self.launch.block_dim)
    grid_dim = property(lambda self: self.launch.grid_dim)
    warp_lanes = property(lambda self: self.team.size)

    def wait(self):
        """Let others run until the scheduler wakes this thread; raise the fault it may have been woken with."""
        if self.launch.closing:
            raise GreenletExit
        self.hub.switch()
        self.waiting = None
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        return self.result

    def __str__(self):
        return f"thread {plain(self.thread_idx)} of block {plain(self.block_idx)} (warp {self.warp}, lane {self.lane})"


def thread():
    """Return the running simulated thread."""
    fiber = getcurrent()
    if type(fiber) is not Thread:
        raise OutsideKernel("this is a device function: call it from a kernel (@cuda.jit) that has been launched")
    return fiber


def plain(dim):
    """Return a Dim3 as a tuple of ints, for messages."""
    return tuple(int(part) for part in dim)
