"""Memory: shared, local and constant arrays, atomics, fences, nanosleep."""

import sys

import numpy as np
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

from warpkit.simt.simulator import operations
from warpkit.simt.simulator.arrays import KernelArray
from warpkit.simt.simulator.atomics import ATOMICS
from warpkit.simt.simulator.paths import call_path
from warpkit.simt.simulator.threads import thread


class Shared:
    """cuda.shared. One memory per call path: two calls on one line, or of one helper, are two arrays."""

    def array(self, shape, dtype, alignment=None):
        """Return this block's array of this call; shape 0 is the dynamic shared memory of the launch."""
        if alignment is not None:
            _check(alignment)
        if shape in (0, (0,)):
            return operations.dynamic_shared(dtype)
        return operations.shared(call_path(sys._getframe(1)).place, shape, dtype, "cuda.shared.array")


class Local:
    """cuda.local."""

    def array(self, shape, dtype, alignment=None):
        """Return an uninitialised array of this thread."""
        if alignment is not None:
            _check(alignment)
        return operations.local(shape, dtype, "cuda.local.array")


class Const:
    """cuda.const."""

    def array_like(self, array):
        """Return a read-only in-kernel copy of a host array."""
        launch = thread().launch
        if isinstance(array, KernelArray):
            return array
        data = np.array(array._ary if isinstance(array, FakeCUDAArray) else array)
        data.flags.writeable = False
        return KernelArray(data, launch)


class Atomic:
    """cuda.atomic: `name(array, index, value)`, returning the old value."""

    def compare_and_swap(self, array, old, value):
        """Store `value` in the first element when it equals `old`; return what was there."""
        return operations.atomic_at(sys._getframe(1), "cas", array, (0,) * array.ndim, (old, value))

    def cas(self, array, index, old, value):
        """Store `value` in `array[index]` when it equals `old`; return what was there."""
        return operations.atomic_at(sys._getframe(1), "cas", array, index, (old, value))


def _two_operands(name):
    def call(self, array, index, value):
        return operations.atomic_at(sys._getframe(1), name, array, index, (value,))

    call.__name__ = name
    call.__doc__ = f"Do the atomic {name.rstrip('_')} of `value` on `array[index]`; return the old value."
    return call


for _name in set(ATOMICS) - {"cas"}:
    setattr(Atomic, _name, _two_operands(_name))


def _cached_load(name):
    def load(array, index):
        return operations.read_at(sys._getframe(1), array, index, "plain")

    load.__name__, load.__doc__ = name, "Return `array[index]`; the cache hint changes no value."
    return load


def _cached_store(name):
    def store(array, index, value):
        operations.write_at(sys._getframe(1), array, index, value, "plain")

    store.__name__, store.__doc__ = name, "Store `value` in `array[index]`; the cache hint changes no value."
    return store


ldca, ldcg, ldcs, ldlu, ldcv = map(_cached_load, ("ldca", "ldcg", "ldcs", "ldlu", "ldcv"))
stcg, stcs, stwb, stwt = map(_cached_store, ("stcg", "stcs", "stwb", "stwt"))


def threadfence():
    """Order this thread's memory accesses for the device."""
    operations.fence("device")


def threadfence_block():
    """Order this thread's memory accesses for its block."""
    operations.fence("block")


def threadfence_system():
    """Order this thread's memory accesses for the system."""
    operations.fence("system")


def nanosleep(nanoseconds):
    """Let other threads run."""
    operations.pause(nanoseconds)


def _check(alignment):
    if alignment <= 0 or alignment & (alignment - 1):
        raise ValueError(f"an alignment is a power of two, not {alignment}")


shared, local, const, atomic = Shared(), Local(), Const(), Atomic()
