"""Bits on the hardware."""

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.cuda import libdevice
from numba.cuda import types as nb
from numba.cuda.typing import signature

from .. import bits
from .kinds import kind_of
from .templates import lowers, register
from .words import I32, i32


def _register(public, name, result, change) -> None:
    """Let `public` be CUDA's function `name` of 32 bits, whose result `change(builder, result)` changes."""
    function = getattr(cuda, name)

    def define(typing_context, mask):
        def generate(context, builder, sig, args):
            return change(builder, context.get_function(function, signature(nb.int32, nb.uint32))(builder, args))

        return signature(result, nb.uint32), generate

    register(public, define)


_register(bits.popcount, "popc", nb.int32, lambda builder, found: found)
_register(bits.highest_bit, "clz", nb.int32, lambda builder, found: builder.sub(i32(31), found))
_register(bits.reverse_bits, "brev", nb.uint32, lambda builder, found: found)


@lowers(bits.lowest_bit)
def _lowest_bit(typing_context, mask):
    # what `ffs` of CUDA's library is, for which nobody need load that
    find = ir.InlineAsm(ir.FunctionType(I32, [I32]), "bfind.shiftamt.u32 $0, $1;", "=r,r")

    def generate(context, builder, sig, args):
        return builder.call(find, [builder.bitreverse(args[0])])

    return signature(nb.int32, nb.uint32), generate


@lowers(bits.multiply_high)
def _multiply_high(typing_context, a, b):
    types = nb.unliteral(a), nb.unliteral(b)
    if types == (nb.uint32, nb.uint32):
        return lambda a, b: np.uint32(libdevice.umulhi(a, b))
    if types == (nb.uint64, nb.uint64):
        return lambda a, b: np.uint64(libdevice.umul64hi(a, b))
    bits.refuse_factors(*(kind_of(t).name for t in types))


@lowers(bits.shift_right)
def _shift_right(typing_context, word, places):
    # Numba's own >> widens to 64 bits, and LLVM cannot take that back without knowing that `places` is below 32
    t = nb.unliteral(word)
    if t not in (nb.uint32, nb.uint64):
        bits.refuse_shift(kind_of(t).name)
    return signature(t, t, t), lambda context, builder, sig, args: builder.lshr(*args)
