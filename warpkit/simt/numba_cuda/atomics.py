"""Atomics: numba-cuda's own."""

from numba import cuda
from numba.cuda.extending import overload

from .. import memory


@overload(memory.atomic_add, target="cuda")
def _lower_atomic_add(array, index, value):
    return lambda array, index, value: cuda.atomic.add(array, index, value)


@overload(memory.atomic_min, target="cuda")
def _lower_atomic_min(array, index, value):
    return lambda array, index, value: cuda.atomic.min(array, index, value)


@overload(memory.atomic_max, target="cuda")
def _lower_atomic_max(array, index, value):
    return lambda array, index, value: cuda.atomic.max(array, index, value)


@overload(memory.atomic_and, target="cuda")
def _lower_atomic_and(array, index, value):
    return lambda array, index, value: cuda.atomic.and_(array, index, value)


@overload(memory.atomic_or, target="cuda")
def _lower_atomic_or(array, index, value):
    return lambda array, index, value: cuda.atomic.or_(array, index, value)


@overload(memory.atomic_xor, target="cuda")
def _lower_atomic_xor(array, index, value):
    return lambda array, index, value: cuda.atomic.xor(array, index, value)


@overload(memory.atomic_exchange, target="cuda")
def _lower_atomic_exchange(array, index, value):
    return lambda array, index, value: cuda.atomic.exch(array, index, value)


@overload(memory.atomic_compare_exchange, target="cuda")
def _lower_atomic_compare_exchange(array, index, expected, value):
    return lambda array, index, expected, value: cuda.atomic.cas(array, index, expected, value)
