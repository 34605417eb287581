"""Barriers with the debug switch on: a block that does not come as a whole, and to one place, is reported.

Every barrier is two. At the first the threads are counted, and their first one tells where it is; the second is the
barrier that was asked for. Both are of the kind that diverged warps may use, so that misuse ends in a report.
"""

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.typing import signature

from .. import sync
from .arrays import SHARED
from .debug import is_first_thread, place_of_lowering, report_unless, threads_of_block
from .registration import register_intrinsic
from .words import I32, i32

MISSING = "threads of this block have returned without this collective: all of them must call it"
ELSEWHERE = "other threads of this block wait in another collective: all of them must call the same one"
COUNT = "{\n.reg .pred p;\nsetp.ne.u32 p, $1, 0;\nbarrier.red.popc.u32 $0, 0, p;\n}"
VOTE = "{{\n.reg .pred p, q;\nsetp.ne.u32 p, $1, 0;\nbarrier.red.{}.pred q, 0, p;\nselp.u32 $0, 1, 0, q;\n}}"


def _meet(builder, text, predicate):
    """Wait for the block's threads that have not returned, and combine their predicates, i32."""
    asm = ir.InlineAsm(ir.FunctionType(I32, [I32]), text, "=r,r,~{memory}", side_effect=True)
    return builder.call(asm, [predicate], attrs=("convergent",))


def _arrive(context, builder) -> None:
    """Emit the first barrier: are all here, and where the first thread is?"""
    name, here = "_warpkit_debug_place", place_of_lowering()
    word = builder.module.globals.get(name)
    if word is None:
        word = cgutils.add_global_variable(builder.module, I32, name, SHARED)
        word.linkage = "linkonce_odr"
        word.initializer = ir.Constant(I32, ir.Undefined)
    with builder.if_then(is_first_thread(builder)):
        builder.store(i32(here.number), word)
    came = _meet(builder, COUNT, i32(1))
    all_here = builder.icmp_unsigned("==", came, threads_of_block(builder))
    report_unless(context, builder, all_here, MISSING, here)
    together = builder.icmp_unsigned("==", builder.load(word), i32(here.number))
    report_unless(context, builder, together, ELSEWHERE, here)


def _barrier(typing_context):
    def generate(context, builder, sig, args):
        _arrive(context, builder)
        _meet(builder, COUNT, i32(1))
        return context.get_dummy_value()

    return signature(types.void), generate


def _vote(text, result):
    def define(typing_context, predicate):
        def generate(context, builder, sig, args):
            _arrive(context, builder)
            met = _meet(builder, text, builder.zext(args[0], I32))
            return met if result == types.int32 else builder.icmp_unsigned("!=", met, i32(0))

        return signature(result, types.boolean), generate

    return define


register_intrinsic(sync.barrier, _barrier)
register_intrinsic(sync.barrier_count, _vote(COUNT, types.int32))
register_intrinsic(sync.barrier_all, _vote(VOTE.format("and"), types.boolean))
register_intrinsic(sync.barrier_any, _vote(VOTE.format("or"), types.boolean))
