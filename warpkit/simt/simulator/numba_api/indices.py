"""Who am I: threadIdx, blockIdx, blockDim, gridDim, grid, gridsize, laneid, warpsize."""

from operator import attrgetter

from greenlet import getcurrent

from warpkit.simt.simulator.scalars import Int32, Int64
from warpkit.simt.simulator.threads import INDICES, Thread, thread


class Index:
    """One of threadIdx, blockIdx, blockDim, gridDim: answers for the running thread, also when imported by name."""

    __slots__ = ("name", "path")

    def __init__(self, name, path):
        self.name, self.path = name, attrgetter(path)

    def __iter__(self):
        return iter(self.path(thread()))

    def __repr__(self):
        return f"cuda.{self.name}"


def _index(name, path):
    """Return the index object whose x, y and z are those of the running thread's `path`."""

    def component(axis):
        find = attrgetter(f"{path}.{axis}")

        def get(self):
            try:
                return find(getcurrent())
            except AttributeError:
                return find(thread(f"cuda.{name}"))  # says that this is no kernel

        return property(get)

    body = {"__slots__": ()} | {axis: component(axis) for axis in "xyz"}
    return type(name, (Index,), body)(name, path)


threadIdx = _index("threadIdx", "thread_idx")
blockIdx = _index("blockIdx", "block.block_idx")
blockDim = _index("blockDim", "launch.block_dim")
gridDim = _index("gridDim", "launch.grid_dim")
warpsize = Int32(32)


def laneid():
    """Return the running thread's lane; the module shows it as an attribute."""
    fiber = getcurrent()
    if type(fiber) is not Thread:
        raise AttributeError("laneid")
    return INDICES[fiber.lane]


def grid(ndim):
    """Return this thread's position in the grid: one int64, or a tuple of `ndim`."""
    fiber = thread()
    if ndim == 1:
        return Int64(fiber.block.first + fiber.column)
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
