"""Atomics: numba-cuda's own, but for sums at an index that does not count from the end."""

from llvmlite import ir
from numba import cuda
from numba.cuda import types
from numba.cuda.typing import signature

from .. import memory
from .arrays import element_pointer
from .ordered import call_asm
from .registration import numbas, register_numbas
from .templates import lowers
from .words import I32, I64


@lowers(memory.atomic_add)
def _atomic_add(typing_context, array, index, value):
    if array.ndim != 1 or index != types.uint64 or not isinstance(array.dtype, types.Integer):
        return numbas(typing_context, cuda.atomic, "add", array, index, value)

    def generate(context, builder, sig, args):  # without the instructions for negative indices
        pointer = element_pointer(context, builder, array, args[0], args[1], index)
        number = context.cast(builder, args[2], sig.args[2], array.dtype)
        return builder.atomic_rmw("add", pointer, number, "monotonic")

    return signature(array.dtype, array, index, types.unliteral(value)), generate


_SUMS = {
    types.int32: ("u32", "r"),
    types.uint32: ("u32", "r"),
    types.int64: ("u64", "l"),
    types.uint64: ("u64", "l"),
    types.float32: ("f32", "f"),
    types.float64: ("f64", "d"),
}


@lowers(memory.accumulate)
def _accumulate(typing_context, array, index, value):
    element = array.dtype
    if array.ndim != 1 or element not in _SUMS:
        return numbas(typing_context, cuda.atomic, "add", array, index, value)

    def generate(context, builder, sig, args):
        pointer = element_pointer(context, builder, array, args[0], args[1], index)
        address = builder.ptrtoint(builder.addrspacecast(pointer, pointer.type.pointee.as_pointer(1)), I64)
        number, (suffix, letter) = context.cast(builder, args[2], sig.args[2], element), _SUMS[element]
        text = f"red.relaxed.gpu.global.add.{suffix} [$0], $1;"
        call_asm(builder, ir.VoidType(), [address, number], text, f"l,{letter}")
        return context.get_dummy_value()

    return signature(types.void, array, index, types.unliteral(value)), generate


@lowers(memory.load_shared_relaxed)
def _load_shared_relaxed(typing_context, array, index):
    def generate(context, builder, sig, args):
        pointer = element_pointer(context, builder, array, args[0], args[1], index)
        address = builder.ptrtoint(builder.addrspacecast(pointer, pointer.type.pointee.as_pointer(3)), I32)
        return call_asm(builder, I32, [address], "ld.relaxed.cta.shared.u32 $0, [$1];", "=r,r")

    return signature(array.dtype, array, index), generate


register_numbas(memory.atomic_min, cuda.atomic, "min")
register_numbas(memory.atomic_max, cuda.atomic, "max")
register_numbas(memory.atomic_and, cuda.atomic, "and_")
register_numbas(memory.atomic_or, cuda.atomic, "or_")
register_numbas(memory.atomic_xor, cuda.atomic, "xor")
register_numbas(memory.atomic_exchange, cuda.atomic, "exch")
register_numbas(memory.atomic_compare_exchange, cuda.atomic, "cas")
