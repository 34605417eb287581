"""Converting values between Numba types, component by component."""

from llvmlite import ir
from numba.cuda import types

from ..refusals import refuse
from .kinds import is_vector, kind_of
from .records import HeldRecord, held
from .words import I16, I32, from_words, i32, scalar_bits, to_words, word_count

_RANKS = {"bool": 0, "signed": 1, "unsigned": 1, "float": 2, "complex": 3}


def movable(t, name: str):
    """Return the type of a value of type `t` after it travelled, or refuse what cannot travel between lanes."""
    kind = kind_of(t)
    if not kind.is_movable:
        refuse(f"{name}: {kind.name} cannot travel between lanes; pass a number, vector, tuple or record.")
    return held(types.unliteral(t))


def components(t):
    """Return the component types of a vector, tuple or record, None for anything else."""
    if isinstance(t, types.BaseTuple):
        return list(t)
    if is_vector(t):
        return [t.base_type] * t.num_elements
    if isinstance(t, HeldRecord):
        return [field.type for field in t.record.fields.values()]
    return None


def castable(target, source) -> bool:
    """Return True when a result of type `source` can stand for a value of type `target`."""
    if target == source:
        return True
    to, given = components(target), components(source)
    if to is not None and given is not None:
        return len(to) == len(given) and all(map(castable, to, given))
    wanted, offered = _RANKS.get(kind_of(target).family), _RANKS.get(kind_of(source).family)
    if wanted is None or offered is None:
        return False
    return wanted >= offered or (wanted, offered) == (0, 1)  # whatever is an integer has a truth value


def convert(context, builder, value, source, target):
    """Convert `value` from type `source` to type `target`, of which `castable` is true."""
    if source == target:
        return value
    given, to = components(source), components(target)
    if given is None:
        return _convert_scalar(context, builder, value, source, target)
    values = split(context, builder, source, value)
    values = [convert(context, builder, v, f, t) for v, f, t in zip(values, given, to, strict=True)]
    return join(context, builder, target, values)


def split(context, builder, t, value) -> list:
    """Return the components of an aggregate."""
    if isinstance(t, HeldRecord):
        return [_field(context, builder, t, value, name) for name in t.record.fields]
    return [builder.extract_value(value, i) for i in range(len(components(t)))]


def _field(context, builder, t, value, name):
    """Return a field of a held record; numbers from any byte on, since in a packed record they need not be aligned."""
    field = t.record.fields[name]
    if not kind_of(field.type).is_numeric:
        return context.get_getattr(t, name)(context, builder, t, value, name)
    words = [builder.extract_value(value, i) for i in range(t.words)]
    llvm_type = context.get_value_type(field.type)
    places = [field.offset + 4 * k for k in range(word_count(llvm_type))]
    return from_words(builder, llvm_type, [_word_at(builder, words, place) for place in places])


def _word_at(builder, words, place):
    """Return the 32 bits from byte `place` on; beyond the end there are zeros."""
    index, shift = divmod(place, 4)
    if not shift:
        return words[index]
    low = builder.lshr(words[index], i32(8 * shift))
    return builder.or_(low, builder.shl(words[index + 1], i32(32 - 8 * shift))) if index + 1 < len(words) else low


def join(context, builder, t, values):
    """Build an aggregate of type `t` from its components."""
    if isinstance(t, HeldRecord):
        return _pack_record(context, builder, t, values)
    result = ir.Constant(context.get_value_type(t), ir.Undefined)
    for i, value in enumerate(values):
        result = builder.insert_value(result, value, i)
    return result


def _convert_scalar(context, builder, value, source, target):
    # numba-cuda has no cast between bfloat16 and other numbers that is not an external call
    if types.bfloat16 in (source, target):
        if source == types.bfloat16:
            value, source = bfloat16_to_float32(builder, value), types.float32
        if target == types.bfloat16:
            return float32_to_bfloat16(builder, context.cast(builder, value, source, types.float32))
    return context.cast(builder, value, source, target)


def bfloat16_to_float32(builder, value):
    """Widen a bfloat16 (an i16): its bits are the upper half of a float32."""
    return builder.bitcast(builder.shl(builder.zext(value, I32), i32(16)), ir.FloatType())


def float32_to_bfloat16(builder, value):
    """Round a float32 to the nearest bfloat16, ties to even; NaN stays NaN."""
    bits = builder.bitcast(value, I32)
    odd = builder.and_(builder.lshr(bits, i32(16)), i32(1))
    rounded = builder.lshr(builder.add(bits, builder.add(odd, i32(0x7FFF))), i32(16))
    quiet = builder.or_(builder.lshr(bits, i32(16)), i32(0x40))
    nan = builder.fcmp_unordered("uno", value, value)
    return builder.trunc(builder.select(nan, quiet, rounded), I16)


def _pack_record(context, builder, t, values):
    """Put field values at their byte offsets into the words that hold a record."""
    words = [i32(0)] * t.words
    for field, value in zip(t.record.fields.values(), values, strict=True):
        for index, byte in enumerate(_bytes(builder, value)):
            word, shift = divmod(field.offset + index, 4)
            words[word] = builder.or_(words[word], builder.shl(byte, i32(8 * shift)))
    result = ir.Constant(context.get_value_type(t), ir.Undefined)
    for i, word in enumerate(words):
        result = builder.insert_value(result, word, i)
    return result


def _bytes(builder, value) -> list:
    """Return the bytes of a scalar or complex value as i32s."""
    if isinstance(value.type, (ir.LiteralStructType, ir.IdentifiedStructType)):
        parts = [builder.extract_value(value, i) for i in range(len(value.type.elements))]
        return [byte for part in parts for byte in _bytes(builder, part)]
    bits = scalar_bits(builder, value)
    words = to_words(builder, value)
    return [builder.and_(builder.lshr(words[k // 4], i32(8 * (k % 4))), i32(0xFF)) for k in range(bits.type.width // 8)]
