"""Bits on the hardware."""

import numpy as np
from numba import cuda
from numba.cuda import libdevice
from numba.cuda import types as nb
from numba.cuda.extending import intrinsic, overload
from numba.cuda.typing import signature

from .. import bits
from .kinds import kind_of


@overload(bits.popcount, target="cuda")
def _lower_popcount(mask):
    return lambda mask: np.int32(cuda.popc(np.uint32(mask)))


@overload(bits.highest_bit, target="cuda")
def _lower_highest_bit(mask):
    return lambda mask: np.int32(31 - cuda.clz(np.uint32(mask)))


@overload(bits.lowest_bit, target="cuda")
def _lower_lowest_bit(mask):
    return lambda mask: np.int32(np.int32(cuda.ffs(np.uint32(mask))) - 1)


@overload(bits.reverse_bits, target="cuda")
def _lower_reverse_bits(mask):
    return lambda mask: np.uint32(cuda.brev(np.uint32(mask)))


@overload(bits.multiply_high, target="cuda")
def _lower_multiply_high(a, b):
    types = nb.unliteral(a), nb.unliteral(b)
    if types == (nb.uint32, nb.uint32):
        return lambda a, b: np.uint32(libdevice.umulhi(a, b))
    if types == (nb.uint64, nb.uint64):
        return lambda a, b: np.uint64(libdevice.umul64hi(a, b))
    bits.refuse_factors(*(kind_of(t).name for t in types))


@intrinsic
def _shift_right(typing_context, word, places):
    # Numba's own >> widens to 64 bits, and LLVM cannot take that back without knowing that `places` is below 32
    t = nb.unliteral(word)
    if t not in (nb.uint32, nb.uint64):
        bits.refuse_shift(kind_of(t).name)
    return signature(t, t, t), lambda context, builder, sig, args: builder.lshr(*args)


@overload(bits.shift_right, target="cuda")
def _lower_shift_right(word, places):
    return lambda word, places: _shift_right(word, places)
