"""Staging on the hardware: what a thread notes of a pipeline, and what opens, closes and awaits its stages."""

import numpy as np
from llvmlite import ir
from numba.cuda import types
from numba.cuda.typing import signature

from .. import staging
from ..lanes import thread_index
from .arrays import allocate_local, allocate_shared, array_at
from .capability import at_least
from .kinds import kind_of
from .registration import register_intrinsic
from .staging_instructions import BULK, arrive, await_groups, commit, copy_to, has_landed, initialise
from .templates import lowers
from .words import I32, I64, i32

# The thread's own notes of a pipeline, in registers: where the next stage goes, which one is the oldest in flight, the
# parity of its phase, how many are in flight, how many there are in all.
NEXT, OLDEST, PARITY, IN_FLIGHT, STAGES = range(5)


def _pipeline(typing_context, stages):
    count = stages.literal_value if isinstance(stages, types.IntegerLiteral) else None
    if count is None or not 1 <= count <= staging.MOST_STAGES:
        staging.refuse_stages(f"a run-time {kind_of(stages).name}" if count is None else str(count))
    barriers, notes = types.Array(types.int64, 1, "C"), types.Array(types.int32, 1, "C")
    result = types.Tuple((barriers, notes))

    def generate(context, builder, sig, args):
        shared = allocate_shared(context, builder, I64, count)
        if at_least(*BULK):
            initialise(builder, shared, count)
        local = allocate_local(context, builder, I32, STAGES + 1)
        for index in range(STAGES + 1):
            value = i32(count if index == STAGES else 0)
            builder.store(value, builder.gep(local, [i32(0), i32(index)]))
        pair = [
            array_at(context, builder, barriers, shared, [count]),
            array_at(context, builder, notes, local, [STAGES + 1]),
        ]
        return context.make_tuple(builder, result, pair)

    return signature(result, stages), generate


register_intrinsic(staging.block_copy_pipeline, _pipeline)


@lowers(staging.has_bulk_copy)
def _has_bulk_copy(typing_context):
    return signature(types.boolean), lambda context, builder, sig, args: ir.Constant(ir.IntType(1), at_least(*BULK))


@lowers(staging.copy_bulk)
def _lower_copy_bulk(typing_context, pipe, target, source, base, nbytes):
    return lambda pipe, target, source, base, nbytes: copy_to(
        target, source, base, np.int32(nbytes), pipe[0], pipe[1][NEXT]
    )


@lowers(staging.close_stage)
def _close_stage(typing_context, pipe, bulk):
    def close(pipe, bulk):
        notes = pipe[1]
        commit()
        if not bulk and thread_index() == 0:
            arrive(pipe[0], notes[NEXT])  # a stage without a bulk copy has its phase too
        following = np.int32(notes[NEXT] + 1)
        notes[NEXT] = following if following < notes[STAGES] else np.int32(0)
        notes[IN_FLIGHT] = np.int32(notes[IN_FLIGHT] + 1)

    return close


@lowers(staging.await_stages)
def _await_stages(typing_context, pipe, left):
    def wait(pipe, left):
        notes = pipe[1]
        await_groups(left)
        while notes[IN_FLIGHT] > max(left, 0):
            while not has_landed(pipe[0], notes[OLDEST], notes[PARITY]):
                pass
            following = np.int32(notes[OLDEST] + 1)
            if following == notes[STAGES]:
                following = np.int32(0)
                notes[PARITY] = np.int32(notes[PARITY] ^ 1)
            notes[OLDEST] = following
            notes[IN_FLIGHT] = np.int32(notes[IN_FLIGHT] - 1)

    return wait
