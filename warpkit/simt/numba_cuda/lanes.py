"""Who a lane is, on the hardware."""

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.cuda import cgutils, types
from numba.cuda.extending import intrinsic, overload
from numba.cuda.typing import signature

from .. import lanes
from .words import I32, i32

I1 = ir.IntType(1)
BALLOT = 3  # the mode of NVVM's vote that returns the mask


def read_register(builder, name: str):
    """Read a 32-bit special register of PTX, in a form that the optimiser may merge and move."""
    function = ir.FunctionType(I32, [])
    return builder.call(cgutils.get_or_insert_function(builder.module, function, f"llvm.nvvm.read.ptx.sreg.{name}"), [])


def special_register(name: str):
    """Return an intrinsic that reads a 32-bit special register as uint32."""

    @intrinsic
    def read(typing_context):
        return signature(types.uint32), lambda context, builder, sig, args: read_register(builder, name)

    return read


_lane_id = special_register("laneid")


@overload(lanes.lane_id, target="cuda")
def _lower_lane_id():
    return lambda: np.int32(_lane_id())


@intrinsic
def _lanes_below(typing_context):
    # from the lane, which is read once, not from %lanemask_lt, which costs another slow register read
    def generate(context, builder, sig, args):
        return builder.sub(builder.shl(i32(1), read_register(builder, "laneid")), i32(1))

    return signature(types.uint32), generate


@overload(lanes.lanes_below, target="cuda")
def _lower_lanes_below():
    return lambda: _lanes_below()


@overload(lanes.thread_index, target="cuda")
def _lower_thread_index():
    def linear():
        row = np.int32(cuda.threadIdx.z) * np.int32(cuda.blockDim.y) + np.int32(cuda.threadIdx.y)
        return np.int32(np.int32(row) * np.int32(cuda.blockDim.x) + np.int32(cuda.threadIdx.x))

    return linear


@overload(lanes.block_size, target="cuda")
def _lower_block_size():
    return lambda: np.int32(np.int32(cuda.blockDim.x * cuda.blockDim.y) * cuda.blockDim.z)


@overload(lanes.block_index, target="cuda")
def _lower_block_index():
    def linear():
        row = np.int64(cuda.blockIdx.z) * np.int64(cuda.gridDim.y) + np.int64(cuda.blockIdx.y)
        return row * np.int64(cuda.gridDim.x) + np.int64(cuda.blockIdx.x)

    return linear


@overload(lanes.grid_size, target="cuda")
def _lower_grid_size():
    return lambda: np.int64(cuda.gridDim.x) * np.int64(cuda.gridDim.y) * np.int64(cuda.gridDim.z)


@overload(lanes.thread_x, target="cuda")
def _lower_thread_x():
    return lambda: np.int32(cuda.threadIdx.x)


@overload(lanes.block_x, target="cuda")
def _lower_block_x():
    return lambda: np.int32(cuda.blockIdx.x)


@overload(lanes.grid_x, target="cuda")
def _lower_grid_x():
    return lambda: np.int32(cuda.gridDim.x)


@intrinsic
def _group_lanes(typing_context, width):
    def generate(context, builder, sig, args):
        lane = read_register(builder, "laneid")
        lanes_of_a_group = builder.lshr(i32(-1), builder.sub(i32(32), args[0]))
        return builder.shl(lanes_of_a_group, builder.and_(lane, builder.sub(i32(0), args[0])))

    return signature(types.uint32, types.int32), generate


@overload(lanes.group_lanes, target="cuda")
def _lower_group_lanes(width):
    return lambda width: _group_lanes(np.int32(width))


@overload(lanes.as_mask, target="cuda")
def _lower_as_mask(mask):
    return lambda mask: np.uint32(mask)


@intrinsic
def _active_mask(typing_context):
    # Numba's own cuda.activemask() is not marked convergent.
    def generate(context, builder, sig, args):
        asm = ir.InlineAsm(ir.FunctionType(I32, []), "activemask.b32 $0;", "=r", side_effect=True)
        return builder.call(asm, [], attrs=("convergent",))

    return signature(types.uint32), generate


@overload(lanes.active_mask, target="cuda")
def _lower_active_mask():
    return lambda: _active_mask()
