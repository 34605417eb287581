"""Bits on the hardware."""

import numpy as np
from numba import cuda
from numba.cuda.extending import overload

from .. import bits


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
