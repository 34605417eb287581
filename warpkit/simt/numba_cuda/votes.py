"""Votes, matches and reductions of a warp in one instruction.

What NVVM lacks is PTX text, marked convergent so that no branch is moved across it.
"""

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.cuda import cgutils, types
from numba.cuda.extending import intrinsic, overload
from numba.cuda.typing import signature

from .. import lanes
from .. import ops as operators
from ..rules import redux_form
from .capability import at_least
from .kinds import kind_of
from .operators import known_operator
from .records import hold
from .values import movable
from .words import I16, I32, i32, to_words

I1 = ir.IntType(1)
BALLOT = 3  # the mode of NVVM's vote that returns the mask


@overload(lanes.ballot, target="cuda")
def _lower_ballot(mask, predicate):
    return lambda mask, predicate: np.uint32(cuda.ballot_sync(np.uint32(mask), bool(predicate)))


@intrinsic
def _all_among(typing_context, mask, among, predicate):
    count = len(predicate) if isinstance(predicate, types.BaseTuple) else 0

    def generate(context, builder, sig, args):
        mask, among, predicate = args
        function = ir.FunctionType(ir.LiteralStructType((I32, I1)), [I32, I32, I1])
        function = cgutils.get_or_insert_function(builder.module, function, "llvm.nvvm.vote.sync")

        def vote(predicate):
            true = builder.extract_value(builder.call(function, (mask, i32(BALLOT), predicate)), 0)
            return builder.icmp_unsigned("==", builder.and_(true, among), among)

        if not count:
            return vote(predicate)
        return context.make_tuple(
            builder, predicate_type, [vote(builder.extract_value(predicate, i)) for i in range(count)]
        )

    predicate_type = types.unliteral(predicate)
    return signature(predicate_type, types.uint32, types.uint32, predicate_type), generate


@overload(lanes.all_among, target="cuda")
def _lower_all_among(mask, among, predicate):
    return lambda mask, among, predicate: _all_among(np.uint32(mask), np.uint32(among), predicate)


@overload(lanes.sync_warp, target="cuda")
def _lower_sync_warp(mask):
    return lambda mask: cuda.syncwarp(np.uint32(mask))


@intrinsic
def _match_any(typing_context, mask, value):
    movable(value, "match_any")

    def generate(context, builder, sig, args):
        mask, value = args
        value = hold(context, builder, sig.args[1], value)
        asm = ir.InlineAsm(
            ir.FunctionType(I32, [I32, I32]), "match.any.sync.b32 $0, $1, $2;", "=r,r,r", side_effect=True
        )
        same = None
        for word in to_words(builder, value):  # equal values are equal in every word
            lanes_alike = builder.call(asm, [word, mask], attrs=("convergent",))
            same = lanes_alike if same is None else builder.and_(same, lanes_alike)
        return mask if same is None else same

    return signature(types.uint32, types.uint32, types.unliteral(value)), generate


@overload(lanes.match_any, target="cuda")
def _lower_match_any(mask, value):
    return lambda mask, value: _match_any(np.uint32(mask), value)


@intrinsic
def _has_redux(typing_context, op, value):
    form = redux_form(known_operator(op), kind_of(value))

    def generate(context, builder, sig, args):
        return ir.Constant(I1, form is not None and at_least(8, 0))

    return signature(types.boolean, op, types.unliteral(value)), generate


@overload(lanes.has_redux, target="cuda")
def _lower_has_redux(op, value):
    return lambda op, value: _has_redux(op, value)


_REDUX = {
    operators.add: "add.s32",
    operators.minimum: "min.{sign}32",
    operators.fmin: "min.{sign}32",
    operators.maximum: "max.{sign}32",
    operators.fmax: "max.{sign}32",
    operators.bit_and: "and.b32",
    operators.bit_or: "or.b32",
    operators.bit_xor: "xor.b32",
}


@intrinsic
def _redux(typing_context, op, mask, value):
    operation, kind = known_operator(op), kind_of(value)
    form = redux_form(operation, kind)

    def generate(context, builder, sig, args):
        _, mask, value = args
        if form is None or not at_least(8, 0):
            return ir.Constant(value.type, ir.Undefined)  # typed, never reached: see has_redux
        word = _ordered(builder, value, operation, kind) if form == "ordered" else _widened(builder, value, kind)
        text = _REDUX[operation].format(sign="u" if kind.family in ("unsigned", "bool") else "s")
        asm = ir.InlineAsm(
            ir.FunctionType(I32, [I32, I32]), f"redux.sync.{text} $0, $1, $2;", "=r,r,r", side_effect=True
        )
        word = builder.call(asm, [word, mask], attrs=("convergent",))
        return _from_ordered(builder, word, value.type) if form == "ordered" else _narrowed(builder, word, value.type)

    moved = types.unliteral(value)
    return signature(moved, op, types.uint32, moved), generate


def _widened(builder, value, kind):
    if value.type == I32:
        return value
    return builder.sext(value, I32) if kind.family == "signed" else builder.zext(value, I32)


def _narrowed(builder, word, llvm_type):
    return builder.trunc(word, llvm_type) if llvm_type != I32 else word


def _ordered(builder, value, operation, kind):
    """Map a float to a signed integer of the same order (−0.0 below +0.0), NaN to the end that wins."""
    bits = builder.sext(value, I32) if value.type == I16 else builder.bitcast(value, I32)  # Numba keeps halves as i16
    infinity = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000}[kind.name]
    magnitude = builder.and_(bits, i32(0x7FFF if value.type == I16 else 0x7FFFFFFF))
    nan = builder.icmp_unsigned(">", magnitude, i32(infinity))
    negative = builder.ashr(bits, i32(31))
    word = builder.xor(bits, builder.and_(negative, i32(0x7FFFFFFF)))
    winner = 0x7FFFFFFF if operation is operators.maximum else -0x80000000
    return builder.select(nan, i32(winner), word)


def _from_ordered(builder, word, llvm_type):
    negative = builder.ashr(word, i32(31))
    bits = builder.xor(word, builder.and_(negative, i32(0x7FFFFFFF)))
    return builder.trunc(bits, I16) if llvm_type == I16 else builder.bitcast(bits, llvm_type)


@overload(lanes.redux, target="cuda")
def _lower_redux(op, mask, value):
    return lambda op, mask, value: _redux(op, np.uint32(mask), value)
