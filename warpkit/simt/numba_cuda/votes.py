"""Votes, matches and reductions of a warp in one instruction.

What NVVM lacks is PTX text, marked convergent so that no branch is moved across it.
"""

from llvmlite import ir
from numba import cuda
from numba.cuda import cgutils, types
from numba.cuda.typing import signature

from .. import lanes
from .. import ops as operators
from ..rules import redux_form
from .capability import at_least
from .kinds import kind_of
from .operators import known_operator
from .records import hold
from .templates import lowers
from .values import movable
from .words import I16, I32, i32, to_words

I1 = ir.IntType(1)
BALLOT = 3  # the mode of NVVM's vote that returns the mask


def _vote(builder, mask, predicate):
    """Return the lanes among `mask` whose predicate, an i1, is true."""
    function = ir.FunctionType(ir.LiteralStructType((I32, I1)), [I32, I32, I1])
    function = cgutils.get_or_insert_function(builder.module, function, "llvm.nvvm.vote.sync")
    return builder.extract_value(builder.call(function, (mask, i32(BALLOT), predicate)), 0)


@lowers(lanes.ballot)
def _ballot(typing_context, mask, predicate):
    return signature(types.uint32, types.uint32, types.boolean), lambda context, builder, sig, args: _vote(
        builder, *args
    )


@lowers(lanes.all_among)
def _all_among(typing_context, mask, among, predicate):
    count = len(predicate) if isinstance(predicate, types.BaseTuple) else 0

    def generate(context, builder, sig, args):
        mask, among, predicate = args

        def vote(predicate):
            return builder.icmp_unsigned("==", builder.and_(_vote(builder, mask, predicate), among), among)

        if not count:
            return vote(predicate)
        return context.make_tuple(
            builder, predicate_type, [vote(builder.extract_value(predicate, i)) for i in range(count)]
        )

    predicate_type = types.unliteral(predicate)
    return signature(predicate_type, types.uint32, types.uint32, predicate_type), generate


@lowers(lanes.sync_warp)
def _sync_warp(typing_context, mask):
    def generate(context, builder, sig, args):
        return context.get_function(cuda.syncwarp, signature(types.none, types.int32))(builder, args)

    return signature(types.none, types.uint32), generate


@lowers(lanes.match_any)
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


@lowers(lanes.has_redux)
def _has_redux(typing_context, op, value):
    form = redux_form(known_operator(op), kind_of(value))

    def generate(context, builder, sig, args):
        return ir.Constant(I1, form is not None and at_least(8, 0))

    return signature(types.boolean, op, types.unliteral(value)), generate


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


@lowers(lanes.redux)
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
