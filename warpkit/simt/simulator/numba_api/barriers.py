"""Blocks and grids meet: syncthreads and its predicates, cg.this_grid().sync()."""

import sys

from warpkit.simt.simulator.operations import grid_barrier_at
from warpkit.simt.simulator.paths import call_path
from warpkit.simt.simulator.scalars import Int32
from warpkit.simt.simulator.threads import thread


def _barrier(kind, value):
    fiber = thread()
    fiber.path = call_path(sys._getframe(2))
    return fiber.block.arrive(fiber, kind, value)


def syncthreads():
    """Wait for every thread of the block."""
    _barrier("sync", None)


def syncthreads_count(predicate):
    """Wait for the block; return in how many threads the predicate is true, int32."""
    return Int32(_barrier("count", predicate))


def syncthreads_and(predicate):
    """Wait for the block; return 1 when the predicate is true in every thread, else 0, int32."""
    return Int32(_barrier("and", predicate))


def syncthreads_or(predicate):
    """Wait for the block; return 1 when the predicate is true in some thread, else 0, int32."""
    return Int32(_barrier("or", predicate))


class GridGroup:
    """The group of all threads of the launch."""

    def sync(self):
        """Wait for every thread of the grid."""
        grid_barrier_at(thread(), sys._getframe(1))
        return Int32(0)


class CooperativeGroups:
    """cuda.cg."""

    def this_grid(self):
        """Return the group of the whole grid."""
        thread()
        return GridGroup()


cg = CooperativeGroups()
