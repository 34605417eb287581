"""What a user's kernel on `lookback_pass` is compiled to: registers only, no calls; the same loop as ours."""

import numba
import numpy as np
import pytest

from bench import select_lookback
from tests.device.compiled import assert_registers_only, image_and_ptx
from tests.ptx import count
from warpkit.simt.specs import Options, array_spec

from . import passes
from .test_lookback_ptx import states_of


@pytest.mark.parametrize("name", passes.AGGREGATES)
def test_numba_alone_compiles_it_for_every_aggregate(compile_ptx, name):
    dtype = passes.AGGREGATES[name][0]
    i64 = numba.int64[::1]
    ptx = compile_ptx(
        passes.scanning(name)[1], numba.int32[::1], states_of(dtype), numba.int64, numba.int64[:, ::1], i64, i64
    )
    assert ".local" not in ptx
    assert count(ptx, "call") == count(ptx, "div") == count(ptx, "rem") == 0
    wide = {"4 bytes": "u64", "24 bytes": "u32"}.get(name, "b128")
    assert (count(ptx, f"st.relaxed.gpu.global.{wide}") > 0) == (name != "24 bytes")
    assert (count(ptx, f"st.release.gpu.global.{wide}") > 0) == (name == "24 bytes")


def test_map_scan_select_fits_as_many_registers_as_its_block_may_have():
    kernel, bounds = select_lookback.map_scan_select, (select_lookback.THREADS, select_lookback.BLOCKS)
    items, states = array_spec(np.int32, 1), array_spec(passes.carried(np.int32), 1)
    image, ptx = image_and_ptx(
        kernel.py_func, (items, states, items, array_spec(np.int64, 1)), Options(launch_bounds=bounds)
    )
    assert_registers_only(image, ptx)
    # A thread's items are read, sorted and written without a loop.
    assert count(ptx, "ld.shared.u32") >= 2 * select_lookback.ITEMS
    assert count(ptx, "st.shared.u32") >= select_lookback.ITEMS
    assert count(ptx, "st.global.u32") >= select_lookback.ITEMS
    assert count(ptx, "st.relaxed.gpu.global.u64") > 0


def test_as_many_blocks_fit_as_it_is_launched_with():
    a_block = select_lookback.odd_counts.shared_bytes + 1024 + 256  # what CUDA takes, and what is static
    assert select_lookback.BLOCKS * a_block <= 228 << 10  # of an H200
    assert select_lookback.TILE < 1 << 16  # places are of 16 bits
