"""What the GPU that is compiled for can do, asked while code is generated."""

from llvmlite import ir
from numba.cuda import types
from numba.cuda.core import targetconfig
from numba.cuda.extending import intrinsic
from numba.cuda.typing import signature


def at_least(*capability: int) -> bool:
    """Return True when the compute capability that code is generated for is `capability` or higher."""
    flags = targetconfig.ConfigStack.top_or_none()
    return flags is not None and tuple(flags.compute_capability or (0, 0))[:2] >= capability


def constant_bool(decide):
    """Return an intrinsic without arguments that is the constant `decide()`, taken at code generation."""

    @intrinsic
    def decided(typing_context):
        return signature(types.boolean), lambda context, builder, sig, args: ir.Constant(ir.IntType(1), decide())

    return decided
