"""What a simulated kernel captures, as it would see it on a GPU: arrays that promote, check bounds and are watched."""

import numpy as np
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

from ..captured import is_jitted, jitted
from ..hollow import Replacing, empty_copy
from ..identity import identity


def as_it_runs(function, in_kernel):
    """Return a function with its captured arrays as `in_kernel(data)` makes them; itself where it captures none."""
    return _Seen(in_kernel).function(function) if identity(function).arrays else function


class _Seen(Replacing):
    """Replaces arrays by those that a kernel sees, one for each."""

    def __init__(self, in_kernel):
        super().__init__()
        self.in_kernel, self.arrays, self.functions = in_kernel, {}, {}

    def array(self, array):
        """Return a device array as it is in memory, a NumPy array as a copy that cannot be written."""
        if id(array) not in self.arrays:
            if isinstance(array, FakeCUDAArray):
                data = array._ary
            else:
                data = np.array(array, order="C")
                data.flags.writeable = False
            self.arrays[id(array)] = self.in_kernel(data)
        return self.arrays[id(array)]

    def function(self, function):
        """Return a copy of a function that captures arrays, of others themselves."""
        inner = jitted(function).function if is_jitted(function) else function
        if id(inner) not in self.functions:
            if not identity(inner).arrays:
                return function
            copy = self.functions[id(inner)] = empty_copy(inner)
            self.fill(copy, inner)
        return self.functions[id(inner)]
