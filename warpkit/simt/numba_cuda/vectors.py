"""Vector access: several neighbouring elements in one load or store of 2, 4, 8 or 16 bytes.

Everything goes through 32-bit words: a plain bitcast of sub-word elements would let LLVM cut the access into bytes.
"""

from llvmlite import ir
from numba.cuda import types
from numba.cuda.typing import signature

from .. import memory
from ..rules import check_vector, check_vector_items
from .arrays import element_pointer
from .kinds import is_vector, kind_of
from .templates import lowers
from .words import I32, from_words, i32, to_words


def _check(name, items, source, nbytes) -> None:
    alike = all(isinstance(t, types.Array) and t.ndim == 1 for t in (items, source)) and items.dtype == source.dtype
    width = nbytes.literal_value if isinstance(nbytes, types.IntegerLiteral) else nbytes
    check_vector(name, kind_of(items), kind_of(source), alike, not alike or source.layout == "C", width)


def _geometry(context, name, dtype, nbytes):
    """Return (element LLVM type, its bytes, how many of them)."""
    element = context.get_data_type(dtype)
    size = context.get_abi_sizeof(element)
    check_vector_items(name, kind_of(dtype).name, size, nbytes)
    return element, size, nbytes // size


def _wide_type(nbytes):
    return ir.IntType(8 * nbytes) if nbytes < 8 else ir.VectorType(I32, nbytes // 4)


@lowers(memory.load_vector, literal=True)
def _load_vector(typing_context, items, at, source, index, nbytes):
    _check("load_vector", items, source, nbytes)
    width = nbytes.literal_value

    def generate(context, builder, sig, args):
        element, size, count = _geometry(context, "load_vector", source.dtype, width)
        far = element_pointer(context, builder, source, args[2], args[3], index)
        wide = builder.load(builder.bitcast(far, _wide_type(width).as_pointer()))
        wide.align = width
        if width < 8:
            words = to_words(builder, wide)
        else:
            words = [builder.extract_element(wide, i32(k)) for k in range(width // 4)]
        near = element_pointer(context, builder, items, args[0], args[1], at)
        for k in range(count):
            first, shift = divmod(k * size, 4)
            mine = words[first : first + max(1, size // 4)]
            mine = [builder.lshr(mine[0], i32(8 * shift))] if shift else mine
            slot = builder.store(from_words(builder, element, mine), builder.gep(near, [i32(k)]))
            slot.align = min(size, 16) if size & (size - 1) == 0 else 1
        return context.get_dummy_value()

    return signature(types.void, items, at, source, index, nbytes), generate


@lowers(memory.store_vector, literal=True)
def _store_vector(typing_context, items, at, target, index, nbytes):
    _check("store_vector", items, target, nbytes)
    width = nbytes.literal_value

    def generate(context, builder, sig, args):
        _, size, count = _geometry(context, "store_vector", target.dtype, width)
        near = element_pointer(context, builder, items, args[0], args[1], at)
        words = [i32(0)] * max(1, width // 4)
        for k in range(count):
            first, shift = divmod(k * size, 4)
            for offset, word in enumerate(to_words(builder, builder.load(builder.gep(near, [i32(k)])))):
                moved = builder.shl(word, i32(8 * shift)) if shift else word
                words[first + offset] = builder.or_(words[first + offset], moved)
        wide = ir.Constant(_wide_type(width), ir.Undefined)
        if width < 8:
            wide = from_words(builder, _wide_type(width), words)
        else:
            for k, word in enumerate(words):
                wide = builder.insert_element(wide, word, i32(k))
        far = element_pointer(context, builder, target, args[2], args[3], index)
        builder.store(wide, builder.bitcast(far, wide.type.as_pointer())).align = width
        return context.get_dummy_value()

    return signature(types.void, items, at, target, index, nbytes), generate


def _item_bytes(items, array) -> int:
    """Return the bytes of an item where vector accesses can move it, else 0."""
    if items.dtype != array.dtype or array.layout != "C":
        return 0
    t, kind = items.dtype, kind_of(items.dtype)
    if isinstance(t, types.Record):
        size = t.size
    elif is_vector(t) or kind.is_numeric:
        size = sum(leaf.bits for leaf in kind.leaves) // 8
    else:
        size = 0  # how a tuple is padded is Numba's own affair
    return size if size in (1, 2, 4, 8, 16) else 0


@lowers(memory.vector_bytes)
def _vector_bytes(typing_context, items, array):
    size = _item_bytes(items, array)

    def total(items, array):
        nbytes = items.size * size
        return nbytes if nbytes == 4 or nbytes == 8 or nbytes == 16 else 0

    return total


# Which of the three widths fits the length is known at compile time, once the length is a constant by inlining; whether
# the address is aligned is not.
@lowers(memory.load_items)
def _load_items(typing_context, items, source, index):
    size = _item_bytes(items, source)
    if size == 0:

        def one_by_one(items, source, index):
            for k in range(items.size):
                items[k] = source[index + k]

        return one_by_one
    eight, four = max(8, size), max(4, size)
    in_16, in_8, in_4 = 16 // size, eight // size, four // size

    def load(items, source, index):
        size = items.size
        if size & (in_16 - 1) == 0 and memory.is_aligned(source, index, 16):
            for k in range(0, size, in_16):
                memory.load_vector(items, k, source, index + k, 16)
        elif size & (in_16 - 1) != 0 and size & (in_8 - 1) == 0 and memory.is_aligned(source, index, eight):
            for k in range(0, size, in_8):
                memory.load_vector(items, k, source, index + k, eight)
        elif size & (in_8 - 1) != 0 and size & (in_4 - 1) == 0 and memory.is_aligned(source, index, four):
            for k in range(0, size, in_4):
                memory.load_vector(items, k, source, index + k, four)
        else:
            for k in range(size):
                items[k] = source[index + k]

    return load


@lowers(memory.store_items)
def _store_items(typing_context, items, target, index):
    size = _item_bytes(items, target)
    if size == 0:

        def one_by_one(items, target, index):
            for k in range(items.size):
                target[index + k] = items[k]

        return one_by_one
    eight, four = max(8, size), max(4, size)
    in_16, in_8, in_4 = 16 // size, eight // size, four // size

    def store(items, target, index):
        size = items.size
        if size & (in_16 - 1) == 0 and memory.is_aligned(target, index, 16):
            for k in range(0, size, in_16):
                memory.store_vector(items, k, target, index + k, 16)
        elif size & (in_16 - 1) != 0 and size & (in_8 - 1) == 0 and memory.is_aligned(target, index, eight):
            for k in range(0, size, in_8):
                memory.store_vector(items, k, target, index + k, eight)
        elif size & (in_8 - 1) != 0 and size & (in_4 - 1) == 0 and memory.is_aligned(target, index, four):
            for k in range(0, size, in_4):
                memory.store_vector(items, k, target, index + k, four)
        else:
            for k in range(size):
                target[index + k] = items[k]

    return store
