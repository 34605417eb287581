"""Any LLVM value as 32-bit words: one flatten/rebuild pair serves shuffles, comparisons and scratch.

The leaves of an aggregate are packed widest first, so that none straddles a word and no padding travels: a bool or an
8-bit leaf takes a byte, a half two, a 3-component float vector three words.
"""

from llvmlite import ir

I8, I16, I32, I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))


def i32(value: int) -> ir.Constant:
    """Return an i32 constant."""
    return ir.Constant(I32, value)


def to_words(builder, value) -> list:
    """Return `value` as a list of i32 values."""
    places, count = _places(value.type)
    words = [i32(0)] * count
    for path, leaf, offset, width in places:
        bits = _to_integer(builder, builder.extract_value(value, path) if path else value, leaf, width)
        for k in range(max(1, width // 32)):
            word = offset // 32 + k
            if width > 32:
                part = builder.trunc(builder.lshr(bits, ir.Constant(bits.type, 32 * k)), I32)
            elif width == 32:
                part = bits
            else:
                part = builder.shl(builder.zext(bits, I32), i32(offset % 32))
            words[word] = builder.or_(words[word], part) if width < 32 and offset % 32 else part
    return words


def from_words(builder, llvm_type, words):
    """Rebuild the value of `llvm_type` that `to_words` took apart."""
    value = ir.Constant(llvm_type, ir.Undefined)
    for path, leaf, offset, width in _places(llvm_type)[0]:
        word = offset // 32
        bits = words[word]
        if width < 32:
            bits = builder.trunc(builder.lshr(bits, i32(offset % 32)), ir.IntType(width))
        elif width > 32:
            bits = builder.zext(bits, ir.IntType(width))
            for k in range(1, width // 32):
                high = builder.zext(words[word + k], bits.type)
                bits = builder.or_(bits, builder.shl(high, ir.Constant(bits.type, 32 * k)))
        scalar = _from_integer(builder, bits, leaf, width)
        value = builder.insert_value(value, scalar, path) if path else scalar
    return value


def word_count(llvm_type) -> int:
    """Return how many words a value of `llvm_type` takes."""
    return _places(llvm_type)[1]


def scalar_bits(builder, value):
    """Return one scalar as an integer of its own width (8 bits for a bool)."""
    return _to_integer(builder, value, value.type, _width(value.type))


def _leaves(llvm_type) -> list:
    if isinstance(llvm_type, (ir.LiteralStructType, ir.IdentifiedStructType)):
        elements = llvm_type.elements
    elif isinstance(llvm_type, ir.ArrayType):
        elements = [llvm_type.element] * llvm_type.count
    else:
        return [([], llvm_type)]
    return [([i, *path], leaf) for i, element in enumerate(elements) for path, leaf in _leaves(element)]


def _width(leaf) -> int:
    if isinstance(leaf, ir.IntType):
        return max(8, leaf.width)
    return {ir.HalfType: 16, ir.FloatType: 32, ir.DoubleType: 64}[type(leaf)]


def _places(llvm_type):
    """Return ((path, leaf type, bit offset, width) of each leaf, number of words)."""
    offset, places = 0, []
    for path, leaf in sorted(_leaves(llvm_type), key=lambda item: -_width(item[1])):
        width = _width(leaf)
        places.append((path, leaf, offset, width))
        offset += width
    return places, -(-offset // 32)


def _to_integer(builder, scalar, leaf, width):
    if not isinstance(leaf, ir.IntType):
        return builder.bitcast(scalar, ir.IntType(width))
    return builder.zext(scalar, ir.IntType(width)) if leaf.width < width else scalar


def _from_integer(builder, bits, leaf, width):
    if not isinstance(leaf, ir.IntType):
        return builder.bitcast(bits, leaf)
    return builder.trunc(bits, leaf) if leaf.width < width else bits
