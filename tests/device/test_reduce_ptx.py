"""What the kernels of reductions are made of: wide loads in flight, registers only, few of them, one atomic."""

import functools

import numpy as np
import pytest
from numba import cuda

from tests.ptx import assert_register_only, count, shuffles
from tests.warp.matrix import label
from warpkit import device
from warpkit.device.reduce_families import FAMILIES
from warpkit.device.reduce_operators import reduce_family
from warpkit.device.reduce_working import ReductionOf, program_of
from warpkit.simt.numba_cuda.compiler import compile_image
from warpkit.simt.specs import array_spec

from .compiled import image_and_ptx, wide_loads

POLICY = device.ReducePolicy()


def kernel(family, dtype, ndim=1, contiguous=True, counted=False):
    """Return the kernel of a reduction and the specs of its arguments."""
    meaning, total, result = family.build(family.name, np.dtype(dtype), None)
    array, counter = array_spec(dtype, ndim, contiguous), array_spec(np.int64, 1) if counted else None
    program, specs = program_of(ReductionOf(meaning, array, total, result, None, counter, True), POLICY, None)
    return program.function, specs


@functools.cache
def compiled(family, dtype, **how):
    """Return image and PTX of a reduction, compiled once for all that is asserted of it."""
    return image_and_ptx(*kernel(family, dtype, **how))


def assert_nothing_spills(image, most):
    """Assert that a kernel has no local memory, and at most so many registers."""
    assert image.local == image.spills == 0
    assert image.registers <= most


WAYS = 2  # where a thread reads once, and where it goes round
SUMS = [np.bool_, np.uint8, np.int16, np.int32, np.float16, np.float32, np.float64, np.int64, np.complex64]


@pytest.mark.parametrize("dtype", SUMS, ids=label)
def test_a_sum_reads_16_bytes_at_once_four_times_in_flight(dtype):
    image, ptx = compiled(FAMILIES["sum"], dtype)
    assert wide_loads(ptx) == WAYS * POLICY.loads
    assert_register_only(ptx)
    assert count(ptx, "div") == count(ptx, "rem") == 0
    assert_nothing_spills(image, 40)


@pytest.mark.parametrize(("dtype", "words"), [(np.float32, 1), (np.float16, 1), (np.int32, 2), (np.float64, 2)])
def test_how_often_lanes_and_blocks_meet(dtype, words):
    """A block's total: 5 shuffles in the warp, 3 among the warps; once for the block, once for the grid."""
    _, ptx = compiled(FAMILIES["sum"], dtype)
    assert shuffles(ptx) == 2 * (5 + 3) * words
    assert count(ptx, "atom") == 1
    assert count(ptx, "bar.sync") + count(ptx, "barrier.sync") + count(ptx, "bar.red") == 3
    assert count(ptx, "fence") + count(ptx, "membar") == 0
    assert count(ptx, "st.relaxed.gpu") == 1 + 3 + 1  # a total; three that are absent again; the counter


@pytest.mark.parametrize(("name", "dtype"), [("min", np.int32), ("max", np.float32), ("any", np.uint8)])
def test_lanes_meet_in_one_instruction_where_the_hardware_has_it(name, dtype):
    _, ptx = compiled(FAMILIES[name], dtype)
    if np.dtype(dtype).kind in "iu":
        assert count(ptx, "redux.sync") == 2
    assert wide_loads(ptx) == WAYS * POLICY.loads


@pytest.mark.parametrize("name", ["argmin", "minmax", "count_nonzero", "all", "mean", "prod"])
def test_nothing_of_the_family_leaves_the_registers(name):
    for dtype in (np.uint8, np.float32):
        image, ptx = compiled(FAMILIES[name], dtype)
        assert wide_loads(ptx) == WAYS * POLICY.loads
        assert_register_only(ptx)
        assert_nothing_spills(image, 128)


@cuda.jit(device=True)
def last(earlier, later):
    """Return the later value unless it is 0."""
    return later if later != 0 else earlier


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64], ids=label)
def test_in_order_rows_are_read_as_widely(dtype):
    image, ptx = compiled(reduce_family(last), dtype)
    assert wide_loads(ptx) >= 4 + 1  # four rows at once; the last rows one by one, a loop that may be unrolled
    assert_register_only(ptx)
    assert count(ptx, "div") == count(ptx, "rem") == 0
    assert_nothing_spills(image, 48)


def test_four_rows_cost_eight_shuffles():
    """8 for four rows; 6 each for one row, a row of blocks, the two edges; 3 among the warps, twice."""
    _, ptx = compiled(reduce_family(last), np.float64)
    assert shuffles(ptx) == 2 * (8 + 4 * 6 + 2 * 3)


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
def test_strided_arrays_are_read_without_a_division(ndim):
    _, ptx = compiled(FAMILIES["sum"], np.float32, ndim=ndim, contiguous=False)
    loads = sum(count(ptx, f"ld.{how}32") for how in ("f", "u", "b", "global.f", "global.u", "global.b"))
    assert loads >= WAYS * POLICY.loads
    assert_register_only(ptx)
    assert count(ptx, "div") == count(ptx, "rem") == 0


def test_a_count_on_the_device_is_one_load_more():
    (_, plain), (_, counted) = (compiled(FAMILIES["sum"], np.float32, **how) for how in ({}, {"counted": True}))
    assert count(counted, "ld.global") == count(plain, "ld.global") + 1


PACKED = np.dtype([("a", "i1"), ("b", "f8"), ("c", "f2"), ("d", "c8"), ("e", "?")])


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_packed_records_stay_in_registers(name):
    _, ptx = compiled(FAMILIES[name], PACKED)
    assert_register_only(ptx)


@pytest.mark.parametrize("what", ["function", "lambda", "captures"])
def test_functions_of_a_user_compile(what):
    table = np.arange(4.0)
    op = {
        "function": last.py_func,
        "lambda": lambda a, b: b if b else a,
        "captures": lambda a, b: b if table[1] > 0 else a,
    }[what]
    image = compile_image(*kernel(reduce_family(op), np.float64), cc=(9, 0))
    assert len(image.captured) == (what == "captures")
    assert image.local == image.spills == 0


@pytest.mark.parametrize("name", FAMILIES)
def test_kernels_of_named_reductions_go_into_the_disk_cache(name):
    image, _ = compiled(FAMILIES[name], np.float32)
    assert image.storable
