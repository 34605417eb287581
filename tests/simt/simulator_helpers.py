"""Device helpers in a module of their own, as users write them, `cuda` under another name; and `fault`."""

import re

import numpy as np
import pytest
from numba import cuda as anything

FULL = 0xFFFFFFFF


@anything.jit(device=True)
def position():
    return anything.threadIdx.x + anything.blockIdx.x * anything.blockDim.x


def undecorated_position():
    return anything.grid(1)


@anything.jit(device=True)
def neighbour(value):
    return anything.shfl_xor_sync(0xFFFFFFFF, value, 1)


@anything.jit(device=True)
def reversed_through_scratch(value, dtype):
    scratch = anything.shared.array(64, dtype)
    me = anything.threadIdx.x
    scratch[me] = value
    anything.syncthreads()
    return scratch[anything.blockDim.x - 1 - me]


def fault(kind, body, *args, blocks=1, threads=32):
    """Launch `body`, expect `kind`, check that the simulator still works; return the message."""
    with pytest.raises(kind) as caught:
        anything.jit(body)[blocks, threads](*args)
    assert type(caught.value) is kind
    out = np.zeros(32, np.int64)

    @anything.jit
    def works(out):
        out[anything.laneid] = anything.shfl_sync(FULL, anything.laneid, 5)

    works[1, 32](out)
    assert (out == 5).all()
    message = str(caught.value)
    assert re.search(re.escape(body.__code__.co_filename) + r":\d+", message), message
    return message
