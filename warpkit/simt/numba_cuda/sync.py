"""Fences and waiting on the hardware."""

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.cuda import types
from numba.cuda.extending import intrinsic, overload
from numba.cuda.typing import signature

from .. import sync


@overload(sync.fence_block, target="cuda")
def _lower_fence_block():
    return lambda: cuda.threadfence_block()


@intrinsic
def _fence_device(typing_context):
    def generate(context, builder, sig, args):
        function = ir.FunctionType(ir.VoidType(), [])
        builder.call(ir.InlineAsm(function, "fence.acq_rel.gpu;", "~{memory}", side_effect=True), [])
        return context.get_dummy_value()

    return signature(types.void), generate


@overload(sync.fence_device, target="cuda")
def _lower_fence_device():
    return lambda: _fence_device()  # Numba's is sequentially consistent, which nobody needs and everybody waits for


@overload(sync.fence_system, target="cuda")
def _lower_fence_system():
    return lambda: cuda.threadfence_system()


@overload(sync.sleep, target="cuda")
def _lower_sleep(nanoseconds):
    return lambda nanoseconds: cuda.nanosleep(np.uint32(nanoseconds))
