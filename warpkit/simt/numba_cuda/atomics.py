"""Atomics: numba-cuda's own, but for sums at an index that does not count from the end."""

from numba import cuda
from numba.cuda import types
from numba.cuda.typing import signature

from .. import memory
from .arrays import element_pointer
from .registration import numbas, register_numbas
from .templates import lowers


@lowers(memory.atomic_add)
def _atomic_add(typing_context, array, index, value):
    if array.ndim != 1 or index != types.uint64 or not isinstance(array.dtype, types.Integer):
        return numbas(typing_context, cuda.atomic, "add", array, index, value)

    def generate(context, builder, sig, args):  # without the instructions for negative indices
        pointer = element_pointer(context, builder, array, args[0], args[1], index)
        number = context.cast(builder, args[2], sig.args[2], array.dtype)
        return builder.atomic_rmw("add", pointer, number, "monotonic")

    return signature(array.dtype, array, index, types.unliteral(value)), generate


register_numbas(memory.atomic_min, cuda.atomic, "min")
register_numbas(memory.atomic_max, cuda.atomic, "max")
register_numbas(memory.atomic_and, cuda.atomic, "and_")
register_numbas(memory.atomic_or, cuda.atomic, "or_")
register_numbas(memory.atomic_xor, cuda.atomic, "xor")
register_numbas(memory.atomic_exchange, cuda.atomic, "exch")
register_numbas(memory.atomic_compare_exchange, cuda.atomic, "cas")
