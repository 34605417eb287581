"""Shared and local arrays, and the scratch that collectives share."""

import itertools
import math

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.core.errors import RequireLiteralValue
from numba.cuda.typing import signature
from numba.cuda.typing.npydecl import parse_dtype

from .. import memory
from ..refusals import refuse
from .kinds import kind_of
from .records import held
from .registration import register_intrinsic
from .values import movable
from .words import I32, word_count

SHARED = 3  # NVVM's number of the address space
DYNAMIC = "_warpkit_dynamic_shared"
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
            return array_at(context, builder, result, pointer, sizes)

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


def array_at(context, builder, array_type, pointer, sizes):
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


def allocate_shared(context, builder, element, count):
    block = ir.ArrayType(element, count)
    symbol = cgutils.add_global_variable(builder.module, block, f"_warpkit_shared_{next(_numbers)}", SHARED)
    symbol.initializer = ir.Constant(block, ir.Undefined)
    symbol.align = 16
    return builder.addrspacecast(symbol, ir.PointerType(ir.IntType(8)), "generic")


def allocate_local(context, builder, element, count):
    slot = cgutils.alloca_once(builder, ir.ArrayType(element, count))
    slot.align = 16
    return slot


def _dynamic_shared(typing_context, size, dtype, offset):
    element = _element_type("dynamic_shared", dtype)
    result = types.Array(element, 1, "C")

    def generate(context, builder, sig, args):
        block = ir.ArrayType(ir.IntType(8), 0)
        symbol = builder.module.globals.get(DYNAMIC)
        if symbol is None:  # all of a kernel's modules mean the same memory
            symbol = cgutils.add_global_variable(builder.module, block, DYNAMIC, SHARED)
            symbol.linkage = "external"
            symbol.align = 128
        start = builder.addrspacecast(symbol, ir.PointerType(ir.IntType(8)), "generic")
        length, byte = (context.cast(builder, args[k], sig.args[k], types.intp) for k in (0, 2))
        array = context.make_array(result)(context, builder)
        itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(element)))
        data = builder.bitcast(builder.gep(start, [byte]), array.data.type)
        context.populate_array(array, data=data, shape=[length], strides=[itemsize], itemsize=itemsize, meminfo=None)
        return array._getvalue()

    return signature(result, types.unliteral(size), dtype, types.unliteral(offset)), generate


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
        data = builder.bitcast(allocate_local(context, builder, element, memory.MOST_ITEMS), array.data.type)
        context.populate_array(array, data=data, shape=[length], strides=[size], itemsize=size, meminfo=None)
        return array._getvalue()

    return signature(result, items), generate


_array_function(memory.shared_array, allocate_shared)
_array_function(memory.local_array, allocate_local)
register_intrinsic(memory.dynamic_shared, _dynamic_shared)
register_intrinsic(memory.local_like, _local_like)


def _scratch(typing_context, slots, like):
    if not isinstance(slots, types.IntegerLiteral):
        raise RequireLiteralValue("scratch: slots must be a compile-time integer")
    return _shared_words("scratch", slots.literal_value, like, (slots, types.unliteral(like)))


def _result_scratch(typing_context, like):
    return _shared_words("result", 1, like, (types.unliteral(like),))


def _shared_words(what, slots, like, arguments):
    movable(like, "scratch")
    result = types.Array(types.uint32, 1, "C")

    def generate(context, builder, sig, args):
        words = word_count(context.get_value_type(held(types.unliteral(like))))
        size = slots << (words - 1).bit_length()
        name = f"_warpkit_{what}_{4 * size}"  # one name, one memory, whichever functions use it
        symbol = builder.module.globals.get(name)
        if symbol is None:
            block = ir.ArrayType(I32, size)
            symbol = cgutils.add_global_variable(builder.module, block, name, SHARED)
            symbol.linkage = "linkonce_odr"
            symbol.initializer = ir.Constant(block, ir.Undefined)
            symbol.align = 16
        pointer = builder.addrspacecast(symbol, ir.PointerType(ir.IntType(8)), "generic")
        return array_at(context, builder, result, pointer, [size])

    return signature(result, *arguments), generate


register_intrinsic(memory.scratch, _scratch)
register_intrinsic(memory.result_scratch, _result_scratch)


def element_pointer(context, builder, array_type, array, index, index_type):
    """Return the address of `array[index]`, strides honoured; negative indices do not wrap."""
    struct = context.make_array(array_type)(context, builder, value=array)
    index = context.cast(builder, index, index_type, types.intp)
    shape, strides = (cgutils.unpack_tuple(builder, part, 1) for part in (struct.shape, struct.strides))
    return cgutils.get_item_pointer2(
        context, builder, struct.data, shape, strides, array_type.layout, [index], wraparound=False
    )
