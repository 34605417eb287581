"""Values as 32-bit words in shared memory."""

from numba.cuda import types
from numba.cuda.typing import signature

from .. import memory
from .arrays import element_pointer
from .records import held, hold
from .templates import lowers
from .values import movable
from .words import from_words, i32, to_words, word_count


@lowers(memory.words_of)
def _words_of(typing_context, value):
    movable(value, "words_of")

    def generate(context, builder, sig, args):
        return i32(word_count(context.get_value_type(held(types.unliteral(value)))))

    return signature(types.int32, types.unliteral(value)), generate


def _word_pointers(context, builder, words_type, words, slot, stride, count):
    """Return the addresses of the words of one slot."""
    first = element_pointer(context, builder, words_type, words, slot, types.int32)
    return [builder.gep(first, [builder.mul(stride, i32(k))]) for k in range(count)]


@lowers(memory.put)
def _put(typing_context, words, slot, stride, value):
    movable(value, "put")

    def generate(context, builder, sig, args):
        parts = to_words(builder, hold(context, builder, sig.args[3], args[3]))
        pointers = _word_pointers(context, builder, words, args[0], args[1], args[2], len(parts))
        for pointer, part in zip(pointers, parts, strict=True):
            builder.store(part, pointer)
        return context.get_dummy_value()

    return signature(types.void, words, types.int32, types.int32, types.unliteral(value)), generate


@lowers(memory.take)
def _take(typing_context, words, slot, stride, like):
    result = movable(like, "take")

    def generate(context, builder, sig, args):
        target = context.get_value_type(result)
        pointers = _word_pointers(context, builder, words, args[0], args[1], args[2], word_count(target))
        return from_words(builder, target, [builder.load(pointer) for pointer in pointers])

    return signature(result, words, types.int32, types.int32, types.unliteral(like)), generate
