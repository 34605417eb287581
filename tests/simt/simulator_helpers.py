"""Device helpers in a module of their own, as users write them; one imports `cuda` under another name."""

import numpy as np
from numba import cuda as anything


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


def table():
    return np.arange(8, dtype=np.float32) * 2
