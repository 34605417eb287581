"""Records by value.

In Numba `x[i]` of a structured array is a reference into the array. A collective copies the record on entry into 32-bit
words held in registers; it reads like a record (attributes) and is stored like one (`out[j] = r`).
"""

from llvmlite import ir
from numba.core.typeconv import Conversion
from numba.cuda import cgutils, types
from numba.cuda.extending import core_models, infer_getattr, lower_cast, lower_getattr_generic, register_model
from numba.cuda.np.numpy_support import as_dtype
from numba.cuda.typing.templates import AttributeTemplate

from .words import I8, I32, i32


class HeldRecord(types.Type):
    """A NumPy record held in registers instead of by reference."""

    def __init__(self, record):
        self.record = record
        super().__init__(name=f"HeldRecord({record})")

    @property
    def words(self) -> int:
        """How many 32-bit words hold it."""
        return -(-self.record.size // 4)

    def can_convert_to(self, context, other):
        """A held record goes wherever a reference to one goes: through a copy in the thread's own memory."""
        return Conversion.safe if other == self.record else None


@register_model(HeldRecord)
class HeldRecordModel(core_models.StructModel):
    """A struct of words."""

    def __init__(self, manager, held):
        super().__init__(manager, held, [(f"w{i}", types.uint32) for i in range(held.words)])


def held(t):
    """Return the type of `t` after `hold`: records by value, also inside tuples."""
    if isinstance(t, types.Record):
        return HeldRecord(t)
    if isinstance(t, types.BaseTuple) and any(held(part) != part for part in t):
        return types.Tuple(tuple(held(part) for part in t))
    return t


def hold(context, builder, t, value):
    """Copy the records in `value` into registers."""
    if isinstance(t, types.Record):
        return _load_words(context, builder, t, value)
    if held(t) == t:
        return value
    parts = [hold(context, builder, part, builder.extract_value(value, i)) for i, part in enumerate(t)]
    return context.make_tuple(builder, held(t), parts)


def _load_words(context, builder, record, pointer):
    source = builder.bitcast(pointer, I8.as_pointer())
    alignment = min(4, as_dtype(record).alignment) if record.aligned else 1
    result = ir.Constant(context.get_value_type(HeldRecord(record)), ir.Undefined)
    for index in range(-(-record.size // 4)):
        word = i32(0)
        at, end = 4 * index, min(4 * index + 4, record.size)
        while at < end:  # the largest aligned pieces: 4 bytes, or 2 and 1 at an end or without alignment
            size = next(s for s in (4, 2, 1) if s <= alignment and at % s == 0 and at + s <= end)
            address = builder.bitcast(builder.gep(source, [i32(at)]), ir.IntType(8 * size).as_pointer())
            piece = builder.load(address)
            piece.align = size
            if size < 4:
                piece = builder.shl(builder.zext(piece, I32), i32(8 * (at - 4 * index)))
            word = builder.or_(word, piece)
            at += size
        result = builder.insert_value(result, word, index)
    return result


def _in_memory(context, builder, t, value):
    """Put the words into a stack slot, which the optimiser dissolves, and return it as Numba's record pointer."""
    slot = cgutils.alloca_once(builder, ir.ArrayType(I32, t.words))
    slot.align = 16
    for index in range(t.words):
        builder.store(builder.extract_value(value, index), builder.gep(slot, [i32(0), i32(index)]))
    return builder.bitcast(slot, context.get_value_type(t.record))


@infer_getattr
class HeldRecordAttribute(AttributeTemplate):
    """The fields of a held record."""

    key = HeldRecord

    def generic_resolve(self, t, name):
        """Return the type of field `name`."""
        return t.record.typeof(name) if name in t.record.fields else None


@lower_getattr_generic(HeldRecord)
def _field(context, builder, t, value, name):
    return context.get_getattr(t.record, name)(context, builder, t.record, _in_memory(context, builder, t, value), name)


@lower_cast(HeldRecord, types.Record)
def _as_reference(context, builder, source, target, value):
    return _in_memory(context, builder, source, value)
