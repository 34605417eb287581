"""Who am I: threadIdx, blockIdx, blockDim, gridDim, grid, gridsize, laneid, warpsize."""

from warpkit.simt.simulator.scalars import Int32, Int64
from warpkit.simt.simulator.threads import thread


class Index:
    """One of threadIdx, blockIdx, blockDim, gridDim: answers for the running thread, also when imported by name."""

    def __init__(self, name, find):
        self._name, self._find = name, find

    x = property(lambda self: self._find(thread()).x)
    y = property(lambda self: self._find(thread()).y)
    z = property(lambda self: self._find(thread()).z)

    def __iter__(self):
        return iter(self._find(thread()))

    def __repr__(self):
        return f"cuda.{self._name}"


threadIdx = Index("threadIdx", lambda fiber: fiber.thread_idx)
blockIdx = Index("blockIdx", lambda fiber: fiber.block.block_idx)
blockDim = Index("blockDim", lambda fiber: fiber.launch.block_dim)
gridDim = Index("gridDim", lambda fiber: fiber.launch.grid_dim)
warpsize = Int32(32)


def laneid():
    """Return the running thread's lane; the module shows it as an attribute."""
    return Int32(thread().lane)


def grid(ndim):
    """Return this thread's position in the grid: one int64, or a tuple of `ndim`."""
    fiber = thread()
    places = zip(fiber.block.block_idx, fiber.launch.shape, fiber.thread_idx, strict=True)
    return _first(ndim, [int(block) * extent + int(index) for block, extent, index in places], "grid")


def gridsize(ndim):
    """Return the grid's extent in threads: one int64, or a tuple of `ndim`."""
    launch = thread().launch
    extents = [blocks * threads for blocks, threads in zip(launch.grid, launch.shape, strict=True)]
    return _first(ndim, extents, "gridsize")


def _first(ndim, values, name):
    if ndim == 1:
        return Int64(values[0])
    if ndim not in (2, 3):
        raise ValueError(f"cuda.{name} takes 1, 2 or 3, not {ndim}")
    return tuple(Int64(value) for value in values[:ndim])
