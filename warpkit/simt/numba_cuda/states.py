"""Tile states on the hardware."""

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.typing import signature

from .. import states
from ..memory import load_relaxed
from ..states import end_acquired, end_whole, load_acquired, load_whole, nothing_begun, store_released, store_whole
from .arrays import SHARED, array_at
from .kinds import is_vector, kind_of
from .records import HeldRecord, hold
from .registration import register_intrinsic
from .templates import lowers
from .values import castable, convert
from .words import I8, I32, I64, from_words, i32, to_words

I1 = ir.IntType(1)


def _carried(array):
    """Return the type of the values that a states array carries: records as tuples."""
    fields = getattr(getattr(array, "dtype", None), "fields", None)
    if not isinstance(array, types.Array) or array.ndim != 1 or fields is None or set(fields) != {"value", "tag"}:
        states.refuse_states(kind_of(array).name)
    return _as_tuple(fields["value"].type)


def _as_tuple(t):
    if isinstance(t, types.Record):
        return types.Tuple(tuple(_as_tuple(field.type) for field in t.fields.values()))
    return t


@lowers(states.state_value)
def _state_value(typing_context, array, value):
    carried, given = _carried(array), types.none if value is None else types.unliteral(value)
    if is_vector(given) and kind_of(carried).leaves == kind_of(given).leaves:
        carried = given
    if not isinstance(given, types.NoneType) and not castable(carried, given):
        states.refuse_value(kind_of(given).name, kind_of(carried).name)

    def generate(context, builder, sig, args):
        if isinstance(given, types.NoneType):
            return cgutils.get_null_value(context.get_value_type(carried))
        return convert(context, builder, hold(context, builder, given, args[1]), given, carried)

    return signature(carried, array, given), generate


def _is_single(array) -> bool:
    _carried(array)
    return array.dtype.size <= states.LONGEST_IN_ONE_ACCESS


@lowers(states.in_one_access)
def _in_one_access(typing_context, array):
    single = _is_single(array)
    return signature(types.boolean, array), lambda context, builder, sig, args: ir.Constant(I1, single)


@lowers(states.load_state)
def _load_state(typing_context, states, index, epoch, like):
    return load_whole if _is_single(states) else load_acquired


@lowers(states.nothing_begun)
def _nothing_begun(typing_context, array):
    single = _is_single(array)
    result = HeldRecord(array.dtype) if single else types.int32

    def generate(context, builder, sig, args):
        return ir.Constant(context.get_value_type(result), None if single else 0)

    return signature(result, array), generate


@lowers(states.begin_load)
def _begin_load(typing_context, array, index):
    if _is_single(array):
        return load_relaxed
    return lambda states, index: nothing_begun(states)


@lowers(states.end_load)
def _end_load(typing_context, states, begun, index, epoch, like):
    return end_whole if _is_single(states) else end_acquired


@lowers(states.store_state)
def _store_state(typing_context, states, index, value, epoch, status):
    return store_whole if _is_single(states) else store_released


@lowers(states.words_a_state)
def _words_a_state(typing_context, array):
    return signature(types.int32, array), lambda context, builder, sig, args: i32(array.dtype.size // 4)


@lowers(states.joined)
def _joined(typing_context, array, value, tag):
    result = HeldRecord(array.dtype)

    def generate(context, builder, sig, args):
        words = to_words(builder, args[1])
        words += [i32(0)] * (result.words - 1 - len(words))
        state = ir.Constant(context.get_value_type(result), ir.Undefined)
        for index, word in enumerate([*words, builder.trunc(args[2], I32)]):
            state = builder.insert_value(state, word, index)
        return state

    return signature(result, array, value, types.int64), generate


@lowers(states.parted)
def _parted(typing_context, state, like):
    result = types.Tuple((like, types.uint32))

    def generate(context, builder, sig, args):
        words = [builder.extract_value(args[0], index) for index in range(state.words)]
        value = from_words(builder, context.get_value_type(like), words[:-1])
        return context.make_tuple(builder, result, [value, words[-1]])

    return signature(result, state, like), generate


def _viewed(typing_context, array, like):
    result = types.Array(types.unliteral(like), 1, "C")

    def generate(context, builder, sig, args):
        struct = context.make_array(array)(context, builder, value=args[0])
        size = context.get_abi_sizeof(context.get_data_type(result.dtype))
        nbytes = builder.mul(struct.nitems, struct.itemsize)
        count = builder.lshr(nbytes, ir.Constant(nbytes.type, size.bit_length() - 1))
        view = context.make_array(result)(context, builder)
        context.populate_array(
            view,
            data=builder.bitcast(struct.data, view.data.type),
            shape=[count],
            strides=[ir.Constant(count.type, size)],
            itemsize=ir.Constant(count.type, size),
            meminfo=None,
        )
        return view._getvalue()

    return signature(result, array, like), generate


register_intrinsic(states.viewed, _viewed)


@lowers(states.address_of)
def _address_of(typing_context, array):
    def generate(context, builder, sig, args):
        return builder.ptrtoint(context.make_array(array)(context, builder, value=args[0]).data, I64)

    return signature(types.int64, array), generate


def _block_notes(typing_context):
    result = types.Array(types.int64, 1, "C")

    def generate(context, builder, sig, args):
        name = "_warpkit_block_notes"  # one name, one memory, whichever functions use it
        symbol = builder.module.globals.get(name)
        if symbol is None:
            block = ir.ArrayType(I64, states.NOTES)
            symbol = cgutils.add_global_variable(builder.module, block, name, SHARED)
            symbol.linkage = "linkonce_odr"
            symbol.initializer = ir.Constant(block, ir.Undefined)
            symbol.align = 16
        pointer = builder.addrspacecast(symbol, ir.PointerType(I8), "generic")
        return array_at(context, builder, result, pointer, [states.NOTES])

    return signature(result), generate


register_intrinsic(states.block_notes, _block_notes)
