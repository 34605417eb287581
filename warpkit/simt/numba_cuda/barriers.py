"""Barriers of a block on the hardware."""

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.typing import signature

from .. import sync
from .templates import lowers, register
from .words import I32, i32


@lowers(sync.barrier)
def _barrier(typing_context):
    def generate(context, builder, sig, args):
        function = ir.FunctionType(ir.VoidType(), [])
        builder.call(cgutils.get_or_insert_function(builder.module, function, "llvm.nvvm.barrier0"), [])
        return context.get_dummy_value()

    return signature(types.void), generate


def _register(public, name: str, result) -> None:
    """Let `public` be a barrier that combines the threads' predicates; `result`: int32 for their number, or bool."""

    def define(typing_context, predicate):
        def generate(context, builder, sig, args):
            function = ir.FunctionType(I32, [I32])
            barrier = cgutils.get_or_insert_function(builder.module, function, f"llvm.nvvm.barrier0.{name}")
            met = builder.call(barrier, [builder.zext(args[0], I32)])
            return met if result == types.int32 else builder.icmp_unsigned("!=", met, i32(0))

        return signature(result, types.boolean), generate

    register(public, define)


_register(sync.barrier_count, "popc", types.int32)
_register(sync.barrier_all, "and", types.boolean)
_register(sync.barrier_any, "or", types.boolean)
