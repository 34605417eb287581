"""The instructions of staging: cp.async from sm_80, cp.async.bulk with an mbarrier per stage from sm_90."""

from llvmlite import ir
from numba.cuda import types
from numba.cuda.typing import signature

from .. import staging
from .arrays import SHARED, element_pointer
from .capability import at_least
from .kinds import kind_of
from .ordered import call_asm
from .templates import lowers, register
from .words import I8, I32, I64, i32

BULK, ASYNC = (9, 0), (8, 0)

_START = """{{
.reg .pred first;
.reg .b32 x, y;
bar.sync 0;
mov.u32 x, %tid.x;
mov.u32 y, %tid.y;
or.b32 x, x, y;
mov.u32 y, %tid.z;
or.b32 x, x, y;
setp.eq.u32 first, x, 0;
{inits}
@first fence.mbarrier_init.release.cluster;
bar.sync 0;
}}"""


def initialise(builder, barriers, count):
    """Make `count` barriers in shared memory, each for one arrival, known to all threads and to the copies."""
    inits = "\n".join(f"@first mbarrier.init.shared::cta.b64 [$0+{8 * k}], 1;" for k in range(count))
    _converged_asm(builder, ir.VoidType(), [_shared_address(builder, barriers)], _START.format(inits=inits), "r")


def _converged_asm(builder, result, args, text, constraints):
    function = ir.FunctionType(result, [arg.type for arg in args])
    asm = ir.InlineAsm(function, text, constraints + ",~{memory}", side_effect=True)
    return builder.call(asm, args, attrs=("convergent",))


def _shared_address(builder, pointer):
    return builder.ptrtoint(builder.addrspacecast(pointer, pointer.type.pointee.as_pointer(SHARED)), I32)


def _global_address(builder, pointer):
    return builder.ptrtoint(builder.addrspacecast(pointer, pointer.type.pointee.as_pointer(1)), I64)


def _check_arrays(target, source) -> None:
    arrays = [t for t in (target, source) if isinstance(t, types.Array) and t.ndim == 1 and t.layout == "C"]
    if len(arrays) < 2 or target.dtype != source.dtype:
        staging.refuse_arrays(kind_of(target).name, kind_of(source).name)


def _byte_pointers(context, builder, sig, args, first, offset):
    """Return the addresses of byte `offset` in the target and behind `source[base]`; arguments from `first` on."""
    target, source, base = args[first : first + 3]
    pointers = [
        element_pointer(context, builder, sig.args[first], target, ir.Constant(I64, 0), types.int64),
        element_pointer(context, builder, sig.args[first + 1], source, base, sig.args[first + 2]),
    ]
    return [builder.gep(builder.bitcast(pointer, I8.as_pointer()), [offset]) for pointer in pointers]


@lowers(staging.copy_chunk, literal=True)
def _copy_chunk(typing_context, pipe, target, source, base, offset, nbytes):
    _check_arrays(target, source)
    width = nbytes.literal_value

    def generate(context, builder, sig, args):
        near, far = _byte_pointers(context, builder, sig, args, 1, args[4])
        if width >= 4 and at_least(*ASYNC):
            way = "cg" if width == 16 else "ca"  # 16 bytes go past the first-level cache
            text = f"cp.async.{way}.shared.global [$0], [$1], {width};"
            addresses = [_shared_address(builder, near), _global_address(builder, far)]
            call_asm(builder, ir.VoidType(), addresses, text, "r,l")
        else:
            wide = ir.IntType(8 * width) if width < 16 else ir.VectorType(I32, 4)
            value = builder.load(builder.bitcast(far, wide.as_pointer()))
            value.align = width
            builder.store(value, builder.bitcast(near, wide.as_pointer())).align = width
        return context.get_dummy_value()

    return signature(types.void, pipe, target, source, base, types.int64, nbytes), generate


def copy_to(target, source, base, nbytes, barriers, stage):
    """Copy `nbytes` to a stage's array, whose barrier counts them. For staging.py alone."""


@lowers(copy_to)
def _copy_bulk(typing_context, target, source, base, nbytes, barriers, stage):
    _check_arrays(target, source)

    def generate(context, builder, sig, args):
        if at_least(*BULK):
            near, far = _byte_pointers(context, builder, sig, args, 0, ir.Constant(I64, 0))
            barrier = _barrier_address(context, builder, sig, args, 4)
            text = (
                "fence.proxy.async.shared::cta;\n"  # what the block did in the target before comes before the copy
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$3], $2;\n"
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];"
            )
            addresses = [_shared_address(builder, near), _global_address(builder, far), args[3], barrier]
            call_asm(builder, ir.VoidType(), addresses, text, "r,l,r,r")
        return context.get_dummy_value()

    return signature(types.void, target, source, base, types.int32, barriers, types.int32), generate


def _barrier_address(context, builder, sig, args, first):
    return _shared_address(
        builder, element_pointer(context, builder, sig.args[first], args[first], args[first + 1], types.int32)
    )


def arrive(barriers, stage):
    """Arrive at the barrier of a stage. For staging.py alone."""


@lowers(arrive)
def _lower_arrive(typing_context, barriers, stage):
    def generate(context, builder, sig, args):
        if at_least(*BULK):
            barrier = _barrier_address(context, builder, sig, args, 0)
            call_asm(builder, ir.VoidType(), [barrier], "mbarrier.arrive.shared::cta.b64 _, [$0];", "r")
        return context.get_dummy_value()

    return signature(types.void, barriers, types.int32), generate


def has_landed(barriers, stage, parity):
    """Return whether a phase of a stage's barrier is over. For staging.py alone."""


@lowers(has_landed)
def _lower_has_landed(typing_context, barriers, stage, parity):
    def generate(context, builder, sig, args):
        if not at_least(*BULK):
            return ir.Constant(ir.IntType(1), True)
        text = (
            "{\n.reg .pred done;\nmbarrier.try_wait.parity.shared::cta.b64 done, [$1], $2;\nselp.u32 $0, 1, 0, done;\n}"
        )
        barrier = _barrier_address(context, builder, sig, args, 0)
        done = _converged_asm(builder, I32, [barrier, args[2]], text, "=r,r,r")
        return builder.icmp_unsigned("!=", done, i32(0))

    return signature(types.boolean, barriers, types.int32, types.int32), generate


def _group_operation(text: str):
    """Return a function without arguments that emits `text` where there are asynchronous copies."""

    def emit():
        """For staging.py alone."""

    def define(typing_context):
        def generate(context, builder, sig, args):
            if at_least(*ASYNC):
                asm = ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), text, "~{memory}", side_effect=True)
                builder.call(asm, [])
            return context.get_dummy_value()

        return signature(types.void), generate

    register(emit, define)
    return emit


commit = _group_operation("cp.async.commit_group;")
_await_0, _await_1, _await_2, _await_3, _await_4, _await_5, _await_6, _await_7 = (
    _group_operation(f"cp.async.wait_group {left};") for left in range(staging.MOST_STAGES)
)


def await_groups(left):
    """Wait for all but the newest `left` groups of this thread: a number in the instruction. For staging.py alone."""


@lowers(await_groups)
def _lower_await_groups(typing_context, left):
    def wait(left):
        if left < 4:
            if left < 2:
                if left < 1:
                    _await_0()
                else:
                    _await_1()
            elif left < 3:
                _await_2()
            else:
                _await_3()
        elif left < 6:
            if left < 5:
                _await_4()
            else:
                _await_5()
        elif left < 7:
            _await_6()
        elif left == 7:
            _await_7()

    return wait
