"""Casting, applying operators, identities and comparisons on the hardware."""

import numpy as np
from llvmlite import ir
from numba.cuda import types as nb
from numba.cuda.extending import intrinsic, overload
from numba.cuda.typing import signature

from .. import ops, types
from ..refusals import refuse
from ..rules import check_operand
from .kinds import is_vector, kind_of
from .operators import identity, known_operator
from .records import held, hold
from .values import castable, components, convert, join, movable, split
from .words import to_words

I1 = ir.IntType(1)
LARGEST = np.uint64((1 << 63) - 1)


@intrinsic
def _hold(typing_context, value):
    source = nb.unliteral(value)
    return signature(held(source), source), lambda context, builder, sig, args: hold(context, builder, source, args[0])


@overload(types.hold, target="cuda")
def _lower_hold(value):
    return lambda value: _hold(value)


@intrinsic
def _cast_like(typing_context, value, result):
    target, source = held(nb.unliteral(value)), held(nb.unliteral(result))
    if not castable(target, source):
        refuse(
            f"the operator returns {kind_of(source).name} for {kind_of(target).name}; return {kind_of(target).name}."
        )

    def generate(context, builder, sig, args):
        return convert(context, builder, hold(context, builder, nb.unliteral(result), args[1]), source, target)

    return signature(target, nb.unliteral(value), nb.unliteral(result)), generate


@overload(types.cast_like, target="cuda")
def _lower_cast_like(value, result):
    return lambda value, result: _cast_like(value, result)


@overload(types.as_int64, target="cuda")
def _lower_as_int64(number):
    if nb.unliteral(number) == nb.uint64:
        return lambda number: np.int64(min(number, LARGEST))
    return lambda number: np.int64(number)


@overload(types.as_index, target="cuda")
def _lower_as_index(number):
    return lambda number: np.uint64(number)


@overload(types.truncated, target="cuda")
def _lower_truncated(number):
    return lambda number: np.int32(number)


@intrinsic
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


@overload(_each, target="cuda")
def _lower_each(op, a, b):
    return _combine_components(len(a))


@overload(types.combine, target="cuda")
def _lower_combine(op, earlier, later):
    builtin = known_operator(op)
    if builtin is not None:
        return lambda op, earlier, later: builtin(earlier, later)
    if is_vector(earlier):
        return lambda op, earlier, later: _cast_like(earlier, _each(op, _components(earlier), _components(later)))
    return lambda op, earlier, later: _cast_like(earlier, op(earlier, later))


@intrinsic
def _identity_like(typing_context, op, value):
    builtin, t = known_operator(op), held(nb.unliteral(value))
    check_operand(builtin, kind_of(value), builtin.__name__)
    meaning = ops.IDENTITIES[builtin]
    return signature(t, op, nb.unliteral(value)), lambda context, builder, sig, args: identity(context, t, meaning)


@overload(types.identity_like, target="cuda")
def _lower_identity_like(op, value):
    return lambda op, value: _identity_like(op, value)


@overload(types.identity_or_own, target="cuda")
def _lower_identity_or_own(op, value):
    if known_operator(op) is None:
        return lambda op, value: _hold(value)
    return lambda op, value: _identity_like(op, value)


@intrinsic
def _is_commutative(typing_context, op):
    known = known_operator(op) is not None
    return signature(nb.boolean, op), lambda context, builder, sig, args: ir.Constant(I1, known)


@overload(types.is_commutative, target="cuda")
def _lower_is_commutative(op):
    return lambda op: _is_commutative(op)


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


@intrinsic
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


@overload(types.precedes, target="cuda")
def _lower_precedes(a, b):
    return lambda a, b: _precedes(a, b)


@intrinsic
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


@overload(types.equal, target="cuda")
def _lower_equal(a, b):
    return lambda a, b: _equal(a, b)


@intrinsic
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


@overload(types.equal_bits, target="cuda")
def _lower_equal_bits(a, b):
    return lambda a, b: _equal_bits(a, b)
