"""Checks in kernels on the hardware, compiled only where WARPKIT_DEBUG is set: see ../debug.py.

A check that fails calls `__assertfail`, which the driver provides as it does `vprintf`: it prints block and thread too.
"""

import sys
import zlib
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.nvvmutils import SRegBuilder
from numba.cuda.typing import signature

from .. import debug
from ..debug import DEBUG
from ..refusals import refuse
from .kinds import kind_of
from .registration import register_intrinsic
from .words import I8, I32, I64, i32

ROOT = Path(__file__).parents[3]
OUTSIDE = "the index is outside the array"
OTHER_THREADS = "lookback_pass: the block has another number of threads than the pass is made for"
LITTLE_SHARED = "lookback_pass: less dynamic shared memory than the pass needs: launch with shared=p.shared_bytes"
MANY_ITEMS = "lookback_pass: num_items is more than source has"
FEW_STATES = "lookback_pass: more tiles than the states are for: make them with a larger tile_states"


class Place(NamedTuple):
    """Where a check stands in the source."""

    file: str
    line: int
    function: str

    @property
    def number(self) -> int:
        """A number of its own, the same whenever this place is compiled."""
        return zlib.crc32(repr(tuple(self)).encode()) >> 1


def place_of_lowering() -> Place:
    """Return the statement whose code is being generated, as Numba's lowering knows it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        owner: Any = frame.f_locals.get("self")
        if hasattr(owner, "fndesc") and hasattr(owner, "loc"):
            file = Path(owner.loc.filename)
            shown = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
            return Place(shown.as_posix(), owner.loc.line, owner.fndesc.qualname.replace(".<locals>", ""))
        frame = frame.f_back
    return Place("warpkit", 0, "?")


def report_unless(context, builder, true, sentence: str, place: Place) -> None:
    """Emit: end the launch with `sentence` unless `true`."""
    text = ir.PointerType(I8)
    kind = ir.FunctionType(ir.VoidType(), [text, text, I32, text, I64])
    fail = cgutils.get_or_insert_function(builder.module, kind, "__assertfail")
    with builder.if_then(builder.not_(true), likely=False):
        said, file, function = (
            context.insert_string_const_addrspace(builder, part) for part in (sentence, place.file, place.function)
        )
        builder.call(fail, [said, file, i32(place.line), function, ir.Constant(I64, 1)])


def check_element(context, builder, length, index) -> None:
    """Emit, with the switch on, the check of an int64 index; negative ones do not wrap."""
    if DEBUG:
        inside = builder.icmp_unsigned("<", index, length)
        report_unless(context, builder, inside, OUTSIDE, place_of_lowering())


def is_first_thread(builder):
    """Return whether this is the block's first thread."""
    registers = SRegBuilder(builder)
    index = builder.or_(builder.or_(registers.tid("x"), registers.tid("y")), registers.tid("z"))
    return builder.icmp_unsigned("==", index, i32(0))


def threads_of_block(builder):
    """Return the block's size."""
    registers = SRegBuilder(builder)
    return builder.mul(builder.mul(registers.ntid("x"), registers.ntid("y")), registers.ntid("z"))


def _check_index(typing_context, array, index):
    if not isinstance(array, types.Array) or array.ndim != 1:
        refuse(f"check_index: needs a one-dimensional array, not {kind_of(array).name}.")

    def generate(context, builder, sig, args):
        if DEBUG:
            length = builder.extract_value(context.make_array(array)(context, builder, value=args[0]).shape, 0)
            check_element(context, builder, length, context.cast(builder, args[1], index, types.int64))
        return context.get_dummy_value()

    return signature(types.void, array, index), generate


def _nothing(typing_context, states):
    return signature(types.void, states), lambda context, builder, sig, args: context.get_dummy_value()


def _check_pass(typing_context, threads, shared_bytes, tile_items, room, num_items, source):
    if source.layout != "C":
        debug.refuse_strided()

    def generate(context, builder, sig, args):
        if DEBUG:
            numbers = [context.cast(builder, arg, sig.args[k], types.int64) for k, arg in enumerate(args[:5])]
            length = builder.extract_value(context.make_array(source)(context, builder, value=args[5]).shape, 0)
            _report_launch(context, builder, numbers, length)
        return context.get_dummy_value()

    return signature(types.void, threads, shared_bytes, tile_items, room, num_items, source), generate


def _report_launch(context, builder, numbers, length):
    """Emit what `check_pass` says, of five int64."""
    threads, shared_bytes, tile_items, room, num_items = numbers
    asm = ir.InlineAsm(ir.FunctionType(I32, []), "mov.u32 $0, %dynamic_smem_size;", "=r", side_effect=True)
    given = builder.zext(builder.call(asm, []), I64)
    place = place_of_lowering()
    for true, sentence in (
        (builder.icmp_signed("==", builder.zext(threads_of_block(builder), I64), threads), OTHER_THREADS),
        (builder.icmp_signed(">=", given, shared_bytes), LITTLE_SHARED),
        (builder.icmp_signed("<=", num_items, length), MANY_ITEMS),
        (builder.icmp_signed("<=", num_items, builder.mul(room, tile_items)), FEW_STATES),
    ):
        report_unless(context, builder, true, sentence, place)


register_intrinsic(debug.check_index, _check_index)
register_intrinsic(debug.note_draw, _nothing)
register_intrinsic(debug.check_drawn, _nothing)
register_intrinsic(debug.check_pass, _check_pass)
