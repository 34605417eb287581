"""Shuffles of any value, word by word, through NVVM's own operation, which the optimiser knows."""

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.typing import signature

from .. import lanes
from .records import hold
from .templates import register
from .values import movable
from .words import I32, from_words, i32, to_words

I1 = ir.IntType(1)


def _call_shuffle(builder, mask, mode, word, operand, clamp):
    result = ir.LiteralStructType((I32, I1))
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(result, [I32] * 5), "llvm.nvvm.shfl.sync.i32"
    )
    return builder.call(function, (mask, i32(mode), word, operand, clamp))


INDEX, UP, DOWN, XOR = range(4)


def _register(public, mode: int, alone: bool) -> None:
    """Let `public` be a shuffle: of the value, `alone` or with the truth of "the source was in the group"."""
    inner_clamp = 0 if mode == UP else 31

    def define(typing_context, mask, value, operand, *width):
        moved = movable(value, public.__name__)
        result = moved if alone else types.Tuple((moved, types.boolean))

        def generate(context, builder, sig, args):
            mask, value, operand = args[:3]
            value = hold(context, builder, sig.args[1], value)
            outside = builder.sub(i32(32), args[3]) if len(args) > 3 else i32(0)
            clamp = builder.or_(builder.shl(outside, i32(8)), i32(inner_clamp))
            pairs = [_call_shuffle(builder, mask, mode, word, operand, clamp) for word in to_words(builder, value)]
            moved = from_words(builder, value.type, [builder.extract_value(pair, 0) for pair in pairs])
            if alone:
                return moved
            return context.make_tuple(builder, result, [moved, builder.extract_value(pairs[0], 1)])

        return signature(
            result, types.uint32, types.unliteral(value), types.int32, *[types.int32] * len(width)
        ), generate

    register(public, define)


_register(lanes.shuffle, INDEX, alone=True)
_register(lanes.shuffle_up, UP, alone=False)
_register(lanes.shuffle_down, DOWN, alone=False)
_register(lanes.shuffle_xor, XOR, alone=True)
