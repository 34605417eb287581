"""Fences and waiting on the hardware."""

import numpy as np
from numba import cuda
from numba.cuda.extending import overload

from .. import sync


@overload(sync.fence_block, target="cuda")
def _lower_fence_block():
    return lambda: cuda.threadfence_block()


@overload(sync.fence_device, target="cuda")
def _lower_fence_device():
    return lambda: cuda.threadfence()


@overload(sync.fence_system, target="cuda")
def _lower_fence_system():
    return lambda: cuda.threadfence_system()


@overload(sync.sleep, target="cuda")
def _lower_sleep(nanoseconds):
    return lambda nanoseconds: cuda.nanosleep(np.uint32(nanoseconds))
