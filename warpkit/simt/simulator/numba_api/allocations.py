"""`cuda.device_array` and its kin: memory that nobody wrote holds no zeros, which a GPU does not promise either."""

import functools

from numba import cuda
from numba.cuda.simulator.cudadrv import devicearray

from ..elements import poison

MAKERS = ("device_array", "mapped_array", "pinned_array", "managed_array")  # those "like" another array call these


def teach():
    """Poison what Numba's simulator allocates, in place."""
    for name in MAKERS:
        unwritten = _poisoned(getattr(devicearray, name))
        setattr(devicearray, name, unwritten)
        if hasattr(cuda, name):
            setattr(cuda, name, unwritten)


def _poisoned(make):
    @functools.wraps(make)
    def unwritten(*args, **kwargs):
        array = make(*args, **kwargs)
        poison(getattr(array, "_ary", array))
        return array

    return unwritten
