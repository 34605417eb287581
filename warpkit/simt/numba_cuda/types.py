"""Casting, applying operators, identities and comparisons on the hardware."""

import numpy as np
from llvmlite import ir
from numba.cuda import types as nb
from numba.cuda.typing import signature

from .. import ops, types
from ..refusals import refuse
from ..rules import check_operand
from .kinds import is_vector, kind_of
from .operators import calculation, identity, known_operator
from .records import held, hold
from .templates import lowers
from .values import castable, components, convert, join, movable, split
from .words import to_words

I1 = ir.IntType(1)
LARGEST = np.uint64((1 << 63) - 1)


@lowers(types.hold)
def _hold(typing_context, value):
    source = nb.unliteral(value)
    return signature(held(source), source), lambda context, builder, sig, args: hold(context, builder, source, args[0])


@lowers(types.cast_like)
def _cast_like(typing_context, value, result):
    target, source = held(nb.unliteral(value)), held(nb.unliteral(result))
    if not castable(target, source):
        refuse(
            f"the operator returns {kind_of(source).name} for {kind_of(target).name}; return {kind_of(target).name}."
        )

    def generate(context, builder, sig, args):
        return convert(context, builder, hold(context, builder, nb.unliteral(result), args[1]), source, target)

    return signature(target, nb.unliteral(value), nb.unliteral(result)), generate


@lowers(types.as_int64)
def _as_int64(typing_context, number):
    if nb.unliteral(number) == nb.uint64:
        return lambda number: np.int64(min(number, LARGEST))
    return _converted(nb.int64)


@lowers(types.as_index)
def _as_index(typing_context, number):
    return _converted(nb.uint64)


@lowers(types.truncated)
def _truncated(typing_context, number):
    return _converted(nb.int32)


def _converted(t):
    """Return what converts a number to type `t`: Numba does, where it passes the argument."""
    return signature(t, t), lambda context, builder, sig, args: args[0]


def components_of(vector):
    """Return a vector's components as a tuple (inside this module, lowering of `combine`)."""


@lowers(components_of)
def _components(typing_context, vector):
    parts = nb.Tuple(tuple(components(vector)))
    return signature(parts, vector), lambda context, builder, sig, args: join(
        context, builder, parts, split(context, builder, vector, args[0])
    )


def _combine_components(count: int):
    """Return the implementation of `combine` for a user's operator on vectors of `count` components."""
    if count == 1:
        return lambda op, a, b: (op(a[0], b[0]),)
    if count == 2:
        return lambda op, a, b: (op(a[0], b[0]), op(a[1], b[1]))
    if count == 3:
        return lambda op, a, b: (op(a[0], b[0]), op(a[1], b[1]), op(a[2], b[2]))
    return lambda op, a, b: (op(a[0], b[0]), op(a[1], b[1]), op(a[2], b[2]), op(a[3], b[3]))


def _each(op, a, b):
    """Return op applied to each pair of two equally long tuples (inside this module, lowering of `combine`)."""


@lowers(_each)
def _lower_each(typing_context, op, a, b):
    return _combine_components(len(a))


@lowers(types.combine)
def _combine(typing_context, op, earlier, later):
    builtin = known_operator(op)
    if builtin is not None:
        calculated, generate = calculation(builtin, earlier, later)
        sig = signature(calculated.return_type, op, *calculated.args)
        return sig, lambda context, builder, sig, args: generate(context, builder, calculated, args[1:])
    cast_like = types.cast_like
    if is_vector(earlier):
        return lambda op, earlier, later: cast_like(earlier, _each(op, components_of(earlier), components_of(later)))
    return lambda op, earlier, later: cast_like(earlier, op(earlier, later))


@lowers(types.identity_like)
def _identity_like(typing_context, op, value):
    builtin, t = known_operator(op), held(nb.unliteral(value))
    check_operand(builtin, kind_of(value), builtin.__name__)
    meaning = ops.IDENTITIES[builtin]
    return signature(t, op, nb.unliteral(value)), lambda context, builder, sig, args: identity(context, t, meaning)


@lowers(types.identity_or_own)
def _identity_or_own(typing_context, op, value):
    if known_operator(op) is not None:
        return _identity_like(typing_context, op, value)
    held_alone, generate = _hold(typing_context, value)
    sig = signature(held_alone.return_type, op, *held_alone.args)
    return sig, lambda context, builder, sig, args: generate(context, builder, held_alone, args[1:])


@lowers(types.is_commutative)
def _is_commutative(typing_context, op):
    known = known_operator(op) is not None
    return signature(nb.boolean, op), lambda context, builder, sig, args: ir.Constant(I1, known)


def _equal_values(context, builder, t, a, b):
    parts = components(t)
    if parts is not None:
        pairs = zip(parts, split(context, builder, t, a), split(context, builder, t, b), strict=True)
        return [bit for part, x, y in pairs for bit in _equal_values(context, builder, part, x, y)]
    family = kind_of(t).family
    if family == "complex":
        halves = [[builder.extract_value(v, i) for i in (0, 1)] for v in (a, b)]
        return [builder.and_(*(builder.fcmp_ordered("==", x, y) for x, y in zip(*halves, strict=True)))]
    if family == "float":
        x, y = (_as_llvm_float(context, builder, t, v) for v in (a, b))
        return [builder.fcmp_ordered("==", x, y)]
    return [builder.icmp_unsigned("==", a, b)]


def _as_llvm_float(context, builder, t, value):
    if kind_of(t).bits > 16:
        return value
    return (
        convert(context, builder, value, t, nb.float32) if t == nb.bfloat16 else builder.bitcast(value, ir.HalfType())
    )


@lowers(types.precedes)
def _precedes(typing_context, a, b):
    t = nb.unliteral(a)
    kind = kind_of(t)

    def generate(context, builder, sig, args):
        if kind.family != "float":
            return (builder.icmp_signed if kind.family == "signed" else builder.icmp_unsigned)("<", *args)
        x, y = (_as_llvm_float(context, builder, t, v) for v in args)
        last = builder.and_(builder.fcmp_unordered("uno", y, y), builder.fcmp_ordered("ord", x, x))
        return builder.or_(builder.fcmp_ordered("<", x, y), last)

    return signature(nb.boolean, t, t), generate


@lowers(types.equal)
def _equal(typing_context, a, b):
    t = nb.unliteral(a)
    movable(t, "equal")
    if kind_of(t).family == "record":
        refuse("equal: records have no ==; compare their fields.")
    count = len(kind_of(t).leaves) if components(t) is not None else 0
    result = nb.UniTuple(nb.boolean, count) if count else nb.boolean

    def generate(context, builder, sig, args):
        bits = _equal_values(context, builder, t, *args)
        return context.make_tuple(builder, result, bits) if count else bits[0]

    return signature(result, t, t), generate


@lowers(types.equal_bits)
def _equal_bits(typing_context, a, b):
    t = nb.unliteral(a)
    movable(t, "equal_bits")

    def generate(context, builder, sig, args):
        words = [to_words(builder, hold(context, builder, t, v)) for v in args]
        same = ir.Constant(I1, True)
        for x, y in zip(*words, strict=True):
            same = builder.and_(same, builder.icmp_unsigned("==", x, y))
        return same

    return signature(nb.boolean, t, t), generate
