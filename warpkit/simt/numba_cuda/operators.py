"""The built-in operators on the hardware, per component, halves without a call."""

import math

from llvmlite import ir
from numba.cuda import types
from numba.cuda.typing import signature

from .. import ops
from ..rules import check_operands
from .capability import at_least
from .kinds import kind_of
from .records import held, hold
from .templates import register
from .values import bfloat16_to_float32, components, convert, float32_to_bfloat16, join, split
from .words import I16

_ARITHMETIC = (ops.add, ops.mul)
_MINIMA = (ops.minimum, ops.fmin)
_CANONICAL_NAN = {16: 0x7FFF, 32: 0x7FFFFFFF, 64: 0x7FF8000000000000}
_LOGIC = {ops.logical_and: "and_", ops.logical_or: "or_", ops.bit_and: "and_", ops.bit_or: "or_", ops.bit_xor: "xor"}


def known_operator(t):
    """Return the built-in operator that a Numba function type calls, None for a user's own."""
    return ops.known(getattr(t, "typing_key", None))


def apply_scalar(context, builder, op, t, a, b):
    """Return op(a, b) of two scalars of Numba type `t`, in that type."""
    kind = kind_of(t)
    if op in _LOGIC:
        return _logic(builder, op, a, b)
    if kind.family == "complex":
        return _complex(builder, op, a, b)
    if kind.family == "float":
        return _with_float(builder, t, a, b, lambda a, b: _float(builder, op, a, b))
    if op in _ARITHMETIC:
        return _integer(builder, op, a, b)
    compare = builder.icmp_signed if kind.family == "signed" else builder.icmp_unsigned
    return builder.select(compare("<" if op in _MINIMA else ">", a, b), a, b)


def _logic(builder, op, a, b):
    if op in (ops.logical_and, ops.logical_or):
        zero = ir.Constant(a.type, 0)
        a, b = (builder.zext(builder.icmp_unsigned("!=", v, zero), v.type) if v.type.width > 1 else v for v in (a, b))
    return getattr(builder, _LOGIC[op])(a, b)


def _integer(builder, op, a, b):
    """Add or multiply integers.

    A plain `add` behind a condition LLVM would turn into a select and an add, one after the other in every round of a
    scan; what it cannot see into it leaves behind the condition, and that becomes one predicated instruction.
    """
    letter = {32: "r", 64: "l"}.get(a.type.width)
    if op is ops.mul or letter is None:
        return builder.add(a, b) if op is ops.add else builder.mul(a, b)
    asm = ir.InlineAsm(
        ir.FunctionType(a.type, [a.type, a.type]), f"add.u{a.type.width} $0, $1, $2;", f"={letter},{letter},{letter}"
    )
    return builder.call(asm, [a, b])


def _complex(builder, op, a, b):
    ar, ai, br, bi = (builder.extract_value(v, i) for v in (a, b) for i in (0, 1))
    plus, times = (lambda x, y, op=op: _rounded(builder, op, x, y) for op in _ARITHMETIC)
    if op is ops.add:
        real, imaginary = plus(ar, br), plus(ai, bi)
    else:
        real = _instruction(builder, "sub.rn", times(ar, br), times(ai, bi))
        imaginary = plus(times(ar, bi), times(ai, br))
    result = builder.insert_value(ir.Constant(a.type, ir.Undefined), real, 0)
    return builder.insert_value(result, imaginary, 1)


def _with_float(builder, t, a, b, function):
    """Call `function` on values that LLVM can calculate with: Numba keeps 16-bit floats as i16."""
    if t == types.bfloat16:
        result = function(bfloat16_to_float32(builder, a), bfloat16_to_float32(builder, b))
        return float32_to_bfloat16(builder, result)
    if a.type == I16:
        result = function(builder.bitcast(a, ir.HalfType()), builder.bitcast(b, ir.HalfType()))
        return builder.bitcast(result, I16)
    return function(a, b)


def _float(builder, op, a, b):
    if op in _ARITHMETIC:
        return _rounded(builder, op, a, b)
    name = "min" if op in _MINIMA else "max"
    propagates = op in (ops.minimum, ops.maximum)
    if not isinstance(a.type, ir.DoubleType) and at_least(8, 0):
        return _instruction(builder, f"{name}{'.NaN' if propagates else ''}", a, b)
    return _extremum(builder, name, propagates, a, b)


def _rounded(builder, op, a, b):
    """Add or multiply, rounded at once: never fused with a neighbour, so that every lane computes the same bits."""
    return _instruction(builder, "add.rn" if op is ops.add else "mul.rn", a, b)


def _instruction(builder, name, a, b):
    """Call the PTX instruction `name` on two floats."""
    suffix, letter = {ir.HalfType: ("f16", "h"), ir.FloatType: ("f32", "f"), ir.DoubleType: ("f64", "d")}[type(a.type)]
    carrier = I16 if letter == "h" else a.type
    function = ir.FunctionType(carrier, [carrier, carrier])
    asm = ir.InlineAsm(function, f"{name}.{suffix} $0, $1, $2;", f"={letter},{letter},{letter}")
    return builder.bitcast(builder.call(asm, [builder.bitcast(v, carrier) for v in (a, b)]), a.type)


def _extremum(builder, name, propagates, a, b):
    """Compare and select, for what has no such instruction: float64, and all floats before compute capability 8.0."""
    integer = ir.IntType({ir.HalfType: 16, ir.FloatType: 32, ir.DoubleType: 64}[type(a.type)])
    bits = [builder.bitcast(v, integer) for v in (a, b)]
    equal = builder.bitcast((builder.or_ if name == "min" else builder.and_)(*bits), a.type)  # −0.0 below +0.0
    result = builder.select(builder.fcmp_ordered("<" if name == "min" else ">", a, b), a, b)
    result = builder.select(builder.fcmp_ordered("==", a, b), equal, result)
    a_is_nan, b_is_nan = (builder.fcmp_unordered("uno", v, v) for v in (a, b))
    nan = builder.bitcast(
        ir.Constant(integer, _CANONICAL_NAN[integer.width]), a.type
    )  # one NaN: the same bits everywhere
    if propagates:
        return builder.select(builder.or_(a_is_nan, b_is_nan), nan, result)
    result = builder.select(a_is_nan, b, builder.select(b_is_nan, a, result))
    return builder.select(builder.and_(a_is_nan, b_is_nan), nan, result)


def apply(context, builder, op, t, a, b):
    """Return op(a, b) of two values of Numba type `t`, per component."""
    parts = components(t)
    if parts is None:
        return apply_scalar(context, builder, op, t, a, b)
    pairs = zip(parts, split(context, builder, t, a), split(context, builder, t, b), strict=True)
    return join(context, builder, t, [apply(context, builder, op, part, x, y) for part, x, y in pairs])


def calculation(op, a, b):
    """Return the signature of a built-in operator's call and what generates it."""
    a_type, b_type = types.unliteral(a), types.unliteral(b)
    check_operands(op, kind_of(a), kind_of(b))

    def generate(context, builder, sig, args):
        a, b = (hold(context, builder, t, v) for t, v in zip(sig.args, args, strict=True))
        t = held(sig.args[0])
        return apply(context, builder, op, t, a, convert(context, builder, b, held(sig.args[1]), t))

    return signature(held(a_type), a_type, b_type), generate


def _register(op) -> None:
    register(op, lambda typing_context, a, b: calculation(op, a, b))


for _op in ops.IDENTITIES:
    _register(_op)


def identity(context, t, meaning):
    """Return the LLVM constant of an identity (see ops.IDENTITIES) in Numba type `t`."""
    parts = components(t)
    llvm_type = context.get_value_type(t)
    if parts is not None or kind_of(t).family == "complex":
        parts = parts or [t.underlying_float] * 2
        first, *rest = (identity(context, part, meaning) for part in parts)
        if kind_of(t).family == "complex" and meaning == 1:
            rest = [identity(context, parts[1], 0)]
        return ir.Constant(llvm_type, [first, *rest])
    kind = kind_of(t)
    if kind.family == "float":
        return _float_constant(llvm_type, t, _float_identity(meaning))
    return ir.Constant(llvm_type, _integer_identity(kind, meaning))


def _integer_identity(kind, meaning) -> int:
    bits = 1 if kind.family == "bool" else kind.bits
    signed = kind.family == "signed"
    lowest, highest = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    named = {ops.LOWEST: lowest, ops.HIGHEST: highest, ops.ALL_ONES: -1 if signed else highest}
    return named.get(meaning, meaning)


def _float_identity(meaning) -> float:
    return {ops.LOWEST: -math.inf, ops.HIGHEST: math.inf}.get(meaning, meaning)


def _float_constant(llvm_type, t, value):
    if t == types.bfloat16:
        return ir.Constant(llvm_type, {0.0: 0, 1.0: 0x3F80, math.inf: 0x7F80, -math.inf: 0xFF80}[value])
    if llvm_type == I16:
        return ir.Constant(llvm_type, {0.0: 0, 1.0: 0x3C00, math.inf: 0x7C00, -math.inf: 0xFC00}[value])
    return ir.Constant(llvm_type, float(value))
