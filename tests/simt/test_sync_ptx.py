"""What waiting costs: one instruction each."""

import numba
import pytest

from tests.ptx import assert_register_only, count, result_type
from tests.simt import test_sync
from tests.simt.waist import array_of, registered
from warpkit.simt import sync

FENCES = {sync.fence_block: ("membar.cta", "fence.acq_rel.cta"), sync.fence_device: ("membar.gl", "fence.acq_rel.gpu")}
FENCES[sync.fence_system] = ("membar.sys", "fence.acq_rel.sys")


@pytest.mark.parametrize("predicate", ["boolean", "uint64", "float32"])
def test_a_barrier_with_a_question_is_one_instruction(compile_ptx, predicate):
    ptx = compile_ptx(test_sync.asking(), array_of(predicate), array_of("int32"), array_of("boolean"))
    for name in ("popc.u32", "and.pred", "or.pred"):
        assert (
            count(ptx, f"bar.red.{name}") + count(ptx, f"barrier.red.{name}") + count(ptx, f"barrier.cta.red.{name}")
            == 1
        )
    assert_register_only(ptx)


def test_a_barrier_is_one_instruction(compile_ptx):
    ptx = compile_ptx(*registered("around_the_block"))
    turns = count(ptx, "bar.sync") + count(ptx, "barrier.sync") + count(ptx, "barrier.cta.sync")
    assert turns in (2, 10)  # a loop of five, or unrolled
    assert_register_only(ptx)


@pytest.mark.parametrize("fence", FENCES)
def test_a_fence_is_one_instruction_of_its_scope(compile_ptx, fence):
    def run(x):
        x[0] = 1
        fence()
        x[1] = 2

    ptx = compile_ptx(run, array_of("int32"))
    assert sum(count(ptx, text) for text in FENCES[fence]) == 1
    assert sum(count(ptx, text) for pair in FENCES.values() for text in pair) == 1
    assert count(ptx, "st.global") == 2


def test_sleep_is_one_instruction(compile_ptx):
    def run(x):
        sync.sleep(x[0])

    ptx = compile_ptx(run, array_of("int64"))
    assert count(ptx, "nanosleep.u32") == 1
    assert_register_only(ptx)


def test_answers_have_the_promised_type():
    assert result_type(lambda x: sync.barrier_count(x), numba.float32) == numba.int32
    assert result_type(lambda x: sync.barrier_all(x), numba.int64) == numba.boolean
    assert result_type(lambda x: sync.barrier_any(x), numba.boolean) == numba.boolean
