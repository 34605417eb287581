"""Atomics: numba-cuda's own, but for sums at an index that does not count from the end."""

from numba import cuda
from numba.cuda import types
from numba.cuda.extending import intrinsic, overload
from numba.cuda.typing import signature

from .. import memory
from .arrays import element_pointer


@intrinsic
def _add_at(typing_context, array, index, value):
    def generate(context, builder, sig, args):
        pointer = element_pointer(context, builder, array, args[0], args[1], index)
        number = context.cast(builder, args[2], sig.args[2], array.dtype)
        return builder.atomic_rmw("add", pointer, number, "monotonic")

    return signature(array.dtype, array, index, types.unliteral(value)), generate


@overload(memory.atomic_add, target="cuda")
def _lower_atomic_add(array, index, value):
    if array.ndim == 1 and index == types.uint64 and isinstance(array.dtype, types.Integer):
        return lambda array, index, value: _add_at(array, index, value)  # without the instructions for negative indices
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
