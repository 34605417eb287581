"""Fences and waiting on the hardware."""

from llvmlite import ir
from numba import cuda
from numba.cuda import types
from numba.cuda.typing import signature

from .. import sync
from .registration import register_numbas
from .templates import lowers


@lowers(sync.fence_device)
def _fence_device(typing_context):
    # Numba's is sequentially consistent, which nobody needs and everybody waits for
    def generate(context, builder, sig, args):
        function = ir.FunctionType(ir.VoidType(), [])
        builder.call(ir.InlineAsm(function, "fence.acq_rel.gpu;", "~{memory}", side_effect=True), [])
        return context.get_dummy_value()

    return signature(types.void), generate


register_numbas(sync.fence_block, cuda, "threadfence_block")
register_numbas(sync.fence_system, cuda, "threadfence_system")
register_numbas(sync.sleep, cuda, "nanosleep")
