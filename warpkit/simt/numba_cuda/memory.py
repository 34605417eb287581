"""Memory on the hardware."""

import itertools
import math

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.cuda import cgutils, types
from numba.cuda.core.errors import RequireLiteralValue
from numba.cuda.extending import intrinsic, overload
from numba.cuda.typing import signature
from numba.cuda.typing.npydecl import parse_dtype

from .. import memory
from ..refusals import refuse
from ..rules import check_element, check_whole
from .kinds import kind_of
from .records import held, hold
from .registration import register_intrinsic
from .values import castable, convert, movable
from .words import I16, I32, I64, from_words, i32, to_words, word_count

SHARED = 3  # NVVM's number of the address space
_numbers = itertools.count()


def _array_function(public, allocate) -> None:
    """Make `public(shape, dtype)` an allocation of its own at every call."""
    name = public.__name__

    def define(typing_context, shape, dtype):
        sizes = [size.literal_value if isinstance(size, types.IntegerLiteral) else None for size in _dimensions(shape)]
        if None in sizes or min(sizes) < 1:
            refuse(
                f"{name}: shape must be a compile-time positive integer or a tuple of them, not {kind_of(shape).name}."
            )
        element = _element_type(name, dtype)
        result = types.Array(element, len(sizes), "C")

        def generate(context, builder, sig, args):
            pointer = allocate(context, builder, context.get_data_type(element), math.prod(sizes))
            return _array_at(context, builder, result, pointer, sizes)

        return signature(result, shape, dtype), generate

    register_intrinsic(public, define)


def _dimensions(shape) -> list:
    return list(shape) if isinstance(shape, types.BaseTuple) else [shape]


def _element_type(name, dtype):
    """Return the element type that `dtype` means: NumPy or Numba scalars, records, vector types, tuples of these."""
    if isinstance(dtype, types.BaseTuple):
        return types.Tuple(tuple(_element_type(name, part) for part in dtype))
    from numba.cuda.vector_types import vector_types  # loaded by now: a kernel is being compiled

    vector = vector_types.get(getattr(getattr(dtype, "typing_key", None), "__name__", ""))
    element = vector or parse_dtype(dtype)
    if element is None:
        refuse(f"{name}: dtype must be a NumPy, record or vector type or a tuple of them, not {dtype}.")
    return element


def _array_at(context, builder, array_type, pointer, sizes):
    itemsize = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    strides = [itemsize * math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    array = context.make_array(array_type)(context, builder)
    intp = [context.get_constant(types.intp, value) for value in (*sizes, *strides, itemsize)]
    context.populate_array(
        array,
        data=builder.bitcast(pointer, array.data.type),
        shape=intp[: len(sizes)],
        strides=intp[len(sizes) : -1],
        itemsize=intp[-1],
        meminfo=None,
    )
    return array._getvalue()


def _allocate_shared(context, builder, element, count):
    block = ir.ArrayType(element, count)
    symbol = cgutils.add_global_variable(builder.module, block, f"_warpkit_shared_{next(_numbers)}", SHARED)
    symbol.initializer = ir.Constant(block, ir.Undefined)
    symbol.align = 16
    return builder.addrspacecast(symbol, ir.PointerType(ir.IntType(8)), "generic")


def _allocate_local(context, builder, element, count):
    slot = cgutils.alloca_once(builder, ir.ArrayType(element, count))
    slot.align = 16
    return slot


def _local_like(typing_context, items):
    if not isinstance(items, types.Array) or items.ndim != 1:
        refuse(f"local_like: needs a one-dimensional array, not {kind_of(items).name}.")
    result = types.Array(items.dtype, 1, "C")

    def generate(context, builder, sig, args):
        # The length becomes a constant only by inlining. LLVM turns arrays of a length that is constant from the start
        # into registers, of which those beyond `length` cost nothing, and leaves the others on a stack.
        length = builder.extract_value(context.make_array(items)(context, builder, value=args[0]).shape, 0)
        element = context.get_data_type(items.dtype)
        size = context.get_constant(types.intp, context.get_abi_sizeof(element))
        with builder.if_then(builder.icmp_unsigned(">", length, ir.Constant(length.type, memory.MOST_ITEMS))):
            builder.call(builder.module.declare_intrinsic("llvm.trap", (), ir.FunctionType(ir.VoidType(), ())), ())
        array = context.make_array(result)(context, builder)
        data = builder.bitcast(_allocate_local(context, builder, element, memory.MOST_ITEMS), array.data.type)
        context.populate_array(array, data=data, shape=[length], strides=[size], itemsize=size, meminfo=None)
        return array._getvalue()

    return signature(result, items), generate


_array_function(memory.shared_array, _allocate_shared)
_array_function(memory.local_array, _allocate_local)
register_intrinsic(memory.local_like, _local_like)


@overload(memory.atomic_add, target="cuda")
def _lower_atomic_add(array, index, value):
    return lambda array, index, value: cuda.atomic.add(array, index, value)


@overload(memory.atomic_min, target="cuda")
def _lower_atomic_min(array, index, value):
    return lambda array, index, value: cuda.atomic.min(array, index, value)


@overload(memory.atomic_max, target="cuda")
def _lower_atomic_max(array, index, value):
    return lambda array, index, value: cuda.atomic.max(array, index, value)


@overload(memory.atomic_and, target="cuda")
def _lower_atomic_and(array, index, value):
    return lambda array, index, value: cuda.atomic.and_(array, index, value)


@overload(memory.atomic_or, target="cuda")
def _lower_atomic_or(array, index, value):
    return lambda array, index, value: cuda.atomic.or_(array, index, value)


@overload(memory.atomic_xor, target="cuda")
def _lower_atomic_xor(array, index, value):
    return lambda array, index, value: cuda.atomic.xor(array, index, value)


@overload(memory.atomic_exchange, target="cuda")
def _lower_atomic_exchange(array, index, value):
    return lambda array, index, value: cuda.atomic.exch(array, index, value)


@overload(memory.atomic_compare_exchange, target="cuda")
def _lower_atomic_compare_exchange(array, index, expected, value):
    return lambda array, index, expected, value: cuda.atomic.cas(array, index, expected, value)


def element_pointer(context, builder, array_type, array, index, index_type):
    """Return the address of `array[index]`, strides honoured; negative indices do not wrap."""
    struct = context.make_array(array_type)(context, builder, value=array)
    index = context.cast(builder, index, index_type, types.intp)
    shape, strides = (cgutils.unpack_tuple(builder, part, 1) for part in (struct.shape, struct.strides))
    return cgutils.get_item_pointer2(
        context, builder, struct.data, shape, strides, array_type.layout, [index], wraparound=False
    )


def _check_element(name, array, index) -> None:
    check_element(name, kind_of(array), array.ndim if isinstance(array, types.Array) else 0, kind_of(index))


# Bytes of an element: (PTX suffix, register letter, register type). 128 bits travel as two 64-bit registers.
_REGISTERS = {1: ("u8", "h", I16), 2: ("u16", "h", I16), 4: ("u32", "r", I32), 8: ("u64", "l", I64)}


def _size_of(context, name, element) -> int:
    size = element.size if isinstance(element, types.Record) else context.get_abi_sizeof(context.get_data_type(element))
    check_whole(name, size)
    return size


def _ordered_load(instruction, name):
    @intrinsic
    def load(typing_context, array, index):
        _check_element(name, array, index)

        def generate(context, builder, sig, args):
            pointer = element_pointer(context, builder, array, args[0], args[1], index)
            address = builder.ptrtoint(builder.addrspacecast(pointer, pointer.type.pointee.as_pointer(1)), I64)
            size = _size_of(context, name, array.dtype)
            if size == 16:
                pair = ir.LiteralStructType([I64, I64])
                text = f"{{\n.reg .b128 both;\n{instruction}.global.b128 both, [$2];\nmov.b128 {{$0, $1}}, both;\n}}"
                value = _call_asm(builder, pair, [address], text, "=l,=l,l")
                words = [word for i in (0, 1) for word in to_words(builder, builder.extract_value(value, i))]
            else:
                suffix, letter, register = _REGISTERS[size]
                text = f"{instruction}.global.{suffix} $0, [$1];"
                words = to_words(builder, _call_asm(builder, register, [address], text, f"={letter},l"))
            return from_words(builder, context.get_value_type(held(array.dtype)), words)

        return signature(held(array.dtype), array, index), generate

    return load


def _ordered_store(instruction, name):
    @intrinsic
    def store(typing_context, array, index, value):
        _check_element(name, array, index)
        source, target = held(types.unliteral(value)), held(array.dtype)
        if not castable(target, source):
            refuse(f"{name}: a {kind_of(value).name} does not go into an array of {kind_of(array.dtype).name}.")

        def generate(context, builder, sig, args):
            pointer = element_pointer(context, builder, array, args[0], args[1], index)
            address = builder.ptrtoint(builder.addrspacecast(pointer, pointer.type.pointee.as_pointer(1)), I64)
            value = convert(context, builder, hold(context, builder, sig.args[2], args[2]), source, target)
            words, size = to_words(builder, value), _size_of(context, name, array.dtype)
            if size == 16:
                halves = [from_words(builder, I64, words[i : i + 2]) for i in (0, 2)]
                text = f"{{\n.reg .b128 both;\nmov.b128 both, {{$1, $2}};\n{instruction}.global.b128 [$0], both;\n}}"
                _call_asm(builder, ir.VoidType(), [address, *halves], text, "l,l,l")
            else:
                suffix, letter, register = _REGISTERS[size]
                bits = from_words(builder, register, words)
                _call_asm(
                    builder, ir.VoidType(), [address, bits], f"{instruction}.global.{suffix} [$0], $1;", f"l,{letter}"
                )
            return context.get_dummy_value()

        return signature(types.void, array, index, types.unliteral(value)), generate

    return store


def _call_asm(builder, result, args, text, constraints):
    function = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(ir.InlineAsm(function, text, constraints + ",~{memory}", side_effect=True), args)


_load_relaxed = _ordered_load("ld.relaxed.gpu", "load_relaxed")
_load_acquire = _ordered_load("ld.acquire.gpu", "load_acquire")
_store_relaxed = _ordered_store("st.relaxed.gpu", "store_relaxed")
_store_release = _ordered_store("st.release.gpu", "store_release")


@overload(memory.load_relaxed, target="cuda")
def _lower_load_relaxed(array, index):
    return lambda array, index: _load_relaxed(array, index)


@overload(memory.load_acquire, target="cuda")
def _lower_load_acquire(array, index):
    return lambda array, index: _load_acquire(array, index)


@overload(memory.store_relaxed, target="cuda")
def _lower_store_relaxed(array, index, value):
    return lambda array, index, value: _store_relaxed(array, index, value)


@overload(memory.store_release, target="cuda")
def _lower_store_release(array, index, value):
    return lambda array, index, value: _store_release(array, index, value)


@intrinsic
def _address(typing_context, array, index):
    _check_element("is_aligned", array, index)

    def generate(context, builder, sig, args):
        return builder.ptrtoint(element_pointer(context, builder, array, args[0], args[1], index), I64)

    return signature(types.uint64, array, index), generate


@overload(memory.is_aligned, target="cuda")
def _lower_is_aligned(array, index, nbytes):
    return lambda array, index, nbytes: (_address(array, index) & np.uint64(nbytes - 1)) == 0


def _scratch(typing_context, slots, like):
    if not isinstance(slots, types.IntegerLiteral):
        raise RequireLiteralValue("scratch: slots must be a compile-time integer")
    movable(like, "scratch")
    result = types.Array(types.uint32, 1, "C")

    def generate(context, builder, sig, args):
        words = word_count(context.get_value_type(held(types.unliteral(like))))
        size = slots.literal_value << (words - 1).bit_length()
        name = f"_warpkit_scratch_{4 * size}"  # one name, one memory, whichever functions use it
        symbol = builder.module.globals.get(name)
        if symbol is None:
            block = ir.ArrayType(I32, size)
            symbol = cgutils.add_global_variable(builder.module, block, name, SHARED)
            symbol.linkage = "linkonce_odr"
            symbol.initializer = ir.Constant(block, ir.Undefined)
            symbol.align = 16
        pointer = builder.addrspacecast(symbol, ir.PointerType(ir.IntType(8)), "generic")
        return _array_at(context, builder, result, pointer, [size])

    return signature(result, slots, types.unliteral(like)), generate


register_intrinsic(memory.scratch, _scratch)


@intrinsic
def _words_of(typing_context, value):
    movable(value, "words_of")

    def generate(context, builder, sig, args):
        return i32(word_count(context.get_value_type(held(types.unliteral(value)))))

    return signature(types.int32, types.unliteral(value)), generate


@overload(memory.words_of, target="cuda")
def _lower_words_of(value):
    return lambda value: _words_of(value)


def _word_pointers(context, builder, words_type, words, slot, stride, count):
    """Return the addresses of the words of one slot."""
    first = element_pointer(context, builder, words_type, words, slot, types.int32)
    return [builder.gep(first, [builder.mul(stride, i32(k))]) for k in range(count)]


@intrinsic
def _put(typing_context, words, slot, stride, value):
    movable(value, "put")

    def generate(context, builder, sig, args):
        parts = to_words(builder, hold(context, builder, sig.args[3], args[3]))
        pointers = _word_pointers(context, builder, words, args[0], args[1], args[2], len(parts))
        for pointer, part in zip(pointers, parts, strict=True):
            builder.store(part, pointer)
        return context.get_dummy_value()

    return signature(types.void, words, types.int32, types.int32, types.unliteral(value)), generate


@overload(memory.put, target="cuda")
def _lower_put(words, slot, stride, value):
    return lambda words, slot, stride, value: _put(words, np.int32(slot), np.int32(stride), value)


@intrinsic
def _take(typing_context, words, slot, stride, like):
    result = movable(like, "take")

    def generate(context, builder, sig, args):
        target = context.get_value_type(result)
        pointers = _word_pointers(context, builder, words, args[0], args[1], args[2], word_count(target))
        return from_words(builder, target, [builder.load(pointer) for pointer in pointers])

    return signature(result, words, types.int32, types.int32, types.unliteral(like)), generate


@overload(memory.take, target="cuda")
def _lower_take(words, slot, stride, like):
    return lambda words, slot, stride, like: _take(words, np.int32(slot), np.int32(stride), like)
