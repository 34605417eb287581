"""Shuffles of any value, word by word, through NVVM's own operation, which the optimiser knows."""

import numpy as np
from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.extending import intrinsic, overload
from numba.cuda.typing import signature

from .. import lanes
from .records import hold
from .values import movable
from .words import I32, from_words, i32, to_words

I1 = ir.IntType(1)


def _make_shuffle(mode: int, name: str):
    """Return the intrinsic of one shuffle mode: (mask, value, operand, width) -> (value, source was in the group)."""
    inner_clamp = 0 if mode == UP else 31

    @intrinsic
    def shuffle(typing_context, mask, value, operand, width):
        moved = movable(value, name)

        def generate(context, builder, sig, args):
            mask, value, operand, width = args
            value = hold(context, builder, sig.args[1], value)
            outside = builder.sub(i32(32), width)
            clamp = builder.or_(builder.shl(outside, i32(8)), i32(inner_clamp))
            pairs = [_call_shuffle(builder, mask, mode, word, operand, clamp) for word in to_words(builder, value)]
            result = from_words(builder, value.type, [builder.extract_value(pair, 0) for pair in pairs])
            inside = builder.extract_value(pairs[0], 1)
            return context.make_tuple(builder, sig.return_type, [result, inside])

        sig = signature(
            types.Tuple((moved, types.boolean)), types.uint32, types.unliteral(value), types.int32, types.int32
        )
        return sig, generate

    return shuffle


def _call_shuffle(builder, mask, mode, word, operand, clamp):
    result = ir.LiteralStructType((I32, I1))
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(result, [I32] * 5), "llvm.nvvm.shfl.sync.i32"
    )
    return builder.call(function, (mask, i32(mode), word, operand, clamp))


INDEX, UP, DOWN, XOR = range(4)
_shuffle_index = _make_shuffle(INDEX, "shuffle")
_shuffle_up = _make_shuffle(UP, "shuffle_up")
_shuffle_down = _make_shuffle(DOWN, "shuffle_down")
_shuffle_xor = _make_shuffle(XOR, "shuffle_xor")


@overload(lanes.shuffle, target="cuda")
def _lower_shuffle(mask, value, source, width=32):
    return lambda mask, value, source, width=32: _shuffle_index(
        np.uint32(mask), value, np.int32(source), np.int32(width)
    )[0]


@overload(lanes.shuffle_up, target="cuda")
def _lower_shuffle_up(mask, value, delta, width=32):
    return lambda mask, value, delta, width=32: _shuffle_up(np.uint32(mask), value, np.int32(delta), np.int32(width))


@overload(lanes.shuffle_down, target="cuda")
def _lower_shuffle_down(mask, value, delta, width=32):
    return lambda mask, value, delta, width=32: _shuffle_down(np.uint32(mask), value, np.int32(delta), np.int32(width))


@overload(lanes.shuffle_xor, target="cuda")
def _lower_shuffle_xor(mask, value, lane_mask):
    return lambda mask, value, lane_mask: _shuffle_xor(np.uint32(mask), value, np.int32(lane_mask), np.int32(32))[0]
