"""Barriers, fences and waiting on the hardware."""

import numpy as np
from numba import cuda
from numba.cuda.extending import overload

from .. import sync


@overload(sync.barrier, target="cuda")
def _lower_barrier():
    return lambda: cuda.syncthreads()


@overload(sync.barrier_count, target="cuda")
def _lower_barrier_count(predicate):
    return lambda predicate: np.int32(cuda.syncthreads_count(np.int32(predicate != 0)))


@overload(sync.barrier_all, target="cuda")
def _lower_barrier_all(predicate):
    return lambda predicate: cuda.syncthreads_and(np.int32(predicate != 0)) != 0


@overload(sync.barrier_any, target="cuda")
def _lower_barrier_any(predicate):
    return lambda predicate: cuda.syncthreads_or(np.int32(predicate != 0)) != 0


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
