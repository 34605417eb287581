"""Relaxed, acquiring and releasing access to global memory, and addresses."""

from llvmlite import ir
from numba.cuda import types
from numba.cuda.typing import signature

from .. import memory
from ..refusals import refuse
from ..rules import check_element, check_whole
from .arrays import element_pointer
from .kinds import kind_of
from .records import held, hold
from .templates import lowers, register
from .values import castable, convert
from .words import I16, I32, I64, from_words, to_words


def _check_element(name, array, index) -> None:
    check_element(name, kind_of(array), array.ndim if isinstance(array, types.Array) else 0, kind_of(index))


# Bytes of an element: (PTX suffix, register letter, register type). 128 bits travel as two 64-bit registers.
_REGISTERS = {1: ("u8", "h", I16), 2: ("u16", "h", I16), 4: ("u32", "r", I32), 8: ("u64", "l", I64)}


def _size_of(context, name, element) -> int:
    size = element.size if isinstance(element, types.Record) else context.get_abi_sizeof(context.get_data_type(element))
    check_whole(name, size)
    return size


def _register_load(public, instruction) -> None:
    name = public.__name__

    def load(typing_context, array, index):
        _check_element(name, array, index)

        def generate(context, builder, sig, args):
            pointer = element_pointer(context, builder, array, args[0], args[1], index)
            address = builder.ptrtoint(builder.addrspacecast(pointer, pointer.type.pointee.as_pointer(1)), I64)
            size = _size_of(context, name, array.dtype)
            if size == 16:
                pair = ir.LiteralStructType([I64, I64])
                text = f"{{\n.reg .b128 both;\n{instruction}.global.b128 both, [$2];\nmov.b128 {{$0, $1}}, both;\n}}"
                value = call_asm(builder, pair, [address], text, "=l,=l,l")
                words = [word for i in (0, 1) for word in to_words(builder, builder.extract_value(value, i))]
            else:
                suffix, letter, register = _REGISTERS[size]
                text = f"{instruction}.global.{suffix} $0, [$1];"
                words = to_words(builder, call_asm(builder, register, [address], text, f"={letter},l"))
            return from_words(builder, context.get_value_type(held(array.dtype)), words)

        return signature(held(array.dtype), array, index), generate

    register(public, load)


def _register_store(public, instruction) -> None:
    name = public.__name__

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
                call_asm(builder, ir.VoidType(), [address, *halves], text, "l,l,l")
            else:
                suffix, letter, register = _REGISTERS[size]
                bits = from_words(builder, register, words)
                call_asm(
                    builder, ir.VoidType(), [address, bits], f"{instruction}.global.{suffix} [$0], $1;", f"l,{letter}"
                )
            return context.get_dummy_value()

        return signature(types.void, array, index, types.unliteral(value)), generate

    register(public, store)


def call_asm(builder, result, args, text, constraints):
    function = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(ir.InlineAsm(function, text, constraints + ",~{memory}", side_effect=True), args)


_register_load(memory.load_relaxed, "ld.relaxed.gpu")
_register_load(memory.load_acquire, "ld.acquire.gpu")
_register_store(memory.store_relaxed, "st.relaxed.gpu")
_register_store(memory.store_release, "st.release.gpu")


@lowers(memory.is_aligned)
def _is_aligned(typing_context, array, index, nbytes):
    _check_element("is_aligned", array, index)

    def generate(context, builder, sig, args):
        address = builder.ptrtoint(element_pointer(context, builder, array, args[0], args[1], index), I64)
        inside = builder.sub(args[2], ir.Constant(I64, 1))
        return builder.icmp_unsigned("==", builder.and_(address, inside), ir.Constant(I64, 0))

    return signature(types.boolean, array, index, types.int64), generate
