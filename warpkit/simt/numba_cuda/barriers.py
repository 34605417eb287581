"""Barriers of a block on the hardware."""

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
