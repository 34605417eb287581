"""How staging copies on each GPU: bulk and cp.async on sm_90, cp.async on sm_80, loads and stores before."""

import numba
import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.ptx import assemble, assert_register_only, count

from .refusing import check_refusal, launch_or_compile
from .test_banks import transpose
from .test_staging import many_turns, three_ahead, two_stages

f32, i64 = numba.float32[::1], numba.int64[::1]


@cuda.jit
def one_stage(source, out, base, num_items):
    """Copy one tile and read it back."""
    tile = wk.shared_array(256, np.float32)
    pipe = wk.block_copy_pipeline(1)
    wk.block_copy_async(pipe, tile, source, base, num_items)
    wk.block_copy_wait(pipe, 0)
    out[cuda.threadIdx.x] = tile[cuda.threadIdx.x]


TYPES = f32, f32, numba.int64, numba.int64


def test_sm_90(compile_ptx):
    ptx = compile_ptx(one_stage, *TYPES)
    assert_register_only(ptx)
    assert count(ptx, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes") == 1
    assert count(ptx, "cp.async.cg.shared.global") == 1  # 16 bytes a thread
    assert count(ptx, "cp.async.ca.shared.global") == 2  # 8 and 4
    assert count(ptx, "cp.async.commit_group") == count(ptx, "cp.async.wait_group") == 1
    assert ptx.count("@first mbarrier.init") == 1
    assert count(ptx, "mbarrier.try_wait.parity") >= 1
    assert count(ptx, "bar.sync") == 2 + 1  # the pipeline, the wait
    used = assemble(ptx)
    assert used.spills == used.stack == 0


# In processes of their own: what a function compiles to is remembered once per process, not per GPU.
@pytest.mark.parametrize(("cc", "asynchronous"), [((8, 0), True), ((7, 5), False)], ids=["sm_80", "sm_75"])
def test_older_gpus(cc, asynchronous):
    import subprocess
    import sys

    program = f"""
from tests import ptx
from tests.block.test_staging_ptx import one_stage, TYPES
with ptx.without_gpu():
    print(ptx.compile_ptx(one_stage, *TYPES, cc={cc}))
"""
    text = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert count(text, "cp.async.bulk") == count(text, "mbarrier") == count(text, "fence") == 0
    assert count(text, "cp.async.cg") == asynchronous
    assert count(text, "cp.async.ca") == 2 * asynchronous
    assert count(text, "cp.async.commit_group") == asynchronous
    if not asynchronous:
        assert count(text, "st.shared.v4.u32") >= 1
    assert count(text, "bar.sync") == 1


@pytest.mark.parametrize("kernel", [(two_stages(256), f32, f32), (three_ahead, i64, i64)], ids=["two", "four"])
def test_pipelines_stay_in_registers(compile_ptx, kernel):
    ptx = compile_ptx(*kernel)
    assert_register_only(ptx)
    assert assemble(ptx).spills == 0


def test_a_run_time_number_of_stages_left(compile_ptx):
    ptx = compile_ptx(many_turns, f32, numba.float32[:, ::1], numba.int64)
    assert_register_only(ptx)
    assert count(ptx, "cp.async.wait_group") >= 3


def test_without_optimisation(compile_ptx):
    assert "cp.async.bulk" in compile_ptx(one_stage, *TYPES, debug=True, opt=False)


def test_bank_helpers_are_two_instructions(compile_ptx):
    matrix = numba.float32[:, ::1]
    ptx = compile_ptx(transpose, matrix, matrix, matrix)
    assert_register_only(ptx)
    assert count(ptx, "div") == count(ptx, "rem") == 0


BAD = {
    "stages at run time": (lambda x, n: wk.block_copy_pipeline(n), "stages must be a compile-time integer from 1 to 8"),
    "nine stages": (lambda x, n: wk.block_copy_pipeline(9), "from 1 to 8, not 9"),
    "no array": (
        lambda x, n: wk.block_copy_async(wk.block_copy_pipeline(1), n, x, 0, 1),
        "target_shared must be an array",
    ),
    "a float base": (
        lambda x, n: wk.block_copy_async(wk.block_copy_pipeline(1), x, x, 0.5, 1),
        "base must be an integer",
    ),
    "no number of stages": (
        lambda x, n: wk.block_copy_wait(wk.block_copy_pipeline(1), 0.5),
        "stages_left must be an integer",
    ),
}


@pytest.mark.everywhere
@pytest.mark.parametrize("what", BAD)
def test_refusals(what):
    check_refusal(BAD[what], np.zeros(4, np.float32), np.zeros(1, np.int64))


@pytest.mark.everywhere
def test_strides_and_different_dtypes_are_refused():
    @cuda.jit
    def run(x, y):
        wk.block_copy_async(wk.block_copy_pipeline(1), x, y, 0, 1)

    for x, y in ((np.zeros(4, np.float32), np.zeros(4, np.int32)), (np.zeros(4), np.zeros(8)[::2])):
        with pytest.raises(wk.Refused, match="needs two contiguous one-dimensional arrays of one dtype"):
            launch_or_compile(run, x, y)
