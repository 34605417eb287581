"""Who a lane is, on the hardware."""

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.typing import signature

from .. import lanes
from .templates import lowers, register
from .words import I32, I64, i32


def read_register(builder, name: str):
    """Read a 32-bit special register of PTX, in a form that the optimiser may merge and move."""
    function = ir.FunctionType(I32, [])
    return builder.call(cgutils.get_or_insert_function(builder.module, function, f"llvm.nvvm.read.ptx.sreg.{name}"), [])


def _register(public, name: str) -> None:
    """Let `public` read a 32-bit special register as int32."""

    def define(typing_context):
        return signature(types.int32), lambda context, builder, sig, args: read_register(builder, name)

    register(public, define)


_register(lanes.lane_id, "laneid")
_register(lanes.thread_x, "tid.x")
_register(lanes.block_x, "ctaid.x")
_register(lanes.grid_x, "nctaid.x")


@lowers(lanes.lanes_below)
def _lanes_below(typing_context):
    # from the lane, which is read once, not from %lanemask_lt, which costs another slow register read
    def generate(context, builder, sig, args):
        return builder.sub(builder.shl(i32(1), read_register(builder, "laneid")), i32(1))

    return signature(types.uint32), generate


def _linear(builder, index: str, size: str, llvm_type):
    """Return x + (y + z · rows) · columns of two registers of three dimensions."""
    x, y, z, columns, rows = (
        builder.sext(value, llvm_type) if llvm_type != I32 else value
        for value in (
            read_register(builder, name) for name in (*(f"{index}.{axis}" for axis in "xyz"), f"{size}.x", f"{size}.y")
        )
    )
    return builder.add(builder.mul(builder.add(builder.mul(z, rows), y), columns), x)


def _product(builder, size: str, llvm_type):
    """Return the product of a register's three dimensions."""
    x, y, z = (read_register(builder, f"{size}.{axis}") for axis in "xyz")
    x, y, z = (builder.sext(value, llvm_type) if llvm_type != I32 else value for value in (x, y, z))
    return builder.mul(builder.mul(x, y), z)


@lowers(lanes.thread_index)
def _thread_index(typing_context):
    return signature(types.int32), lambda context, builder, sig, args: _linear(builder, "tid", "ntid", I32)


@lowers(lanes.block_size)
def _block_size(typing_context):
    return signature(types.int32), lambda context, builder, sig, args: _product(builder, "ntid", I32)


@lowers(lanes.block_index)
def _block_index(typing_context):
    return signature(types.int64), lambda context, builder, sig, args: _linear(builder, "ctaid", "nctaid", I64)


@lowers(lanes.grid_size)
def _grid_size(typing_context):
    return signature(types.int64), lambda context, builder, sig, args: _product(builder, "nctaid", I64)


@lowers(lanes.group_lanes)
def _group_lanes(typing_context, width):
    def generate(context, builder, sig, args):
        lane = read_register(builder, "laneid")
        lanes_of_a_group = builder.lshr(i32(-1), builder.sub(i32(32), args[0]))
        return builder.shl(lanes_of_a_group, builder.and_(lane, builder.sub(i32(0), args[0])))

    return signature(types.uint32, types.int32), generate


@lowers(lanes.as_mask)
def _as_mask(typing_context, mask):
    return signature(types.uint32, types.uint32), lambda context, builder, sig, args: args[0]


@lowers(lanes.anew)
def _anew(typing_context, mask):
    # What the text says NVVM does not look at, and ptxas does.
    def generate(context, builder, sig, args):
        asm = ir.InlineAsm(ir.FunctionType(I32, [I32]), "mov.u32 $0, $1;", "=r,r", side_effect=True)
        return builder.call(asm, args)

    return signature(types.uint32, types.uint32), generate


@lowers(lanes.active_mask)
def _active_mask(typing_context):
    # Numba's own cuda.activemask() is not marked convergent.
    def generate(context, builder, sig, args):
        asm = ir.InlineAsm(ir.FunctionType(I32, []), "activemask.b32 $0;", "=r", side_effect=True)
        return builder.call(asm, [], attrs=("convergent",))

    return signature(types.uint32), generate
