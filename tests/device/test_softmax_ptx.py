"""What the kernels of softmax are made of: wide accesses, one barrier, one exponential an item, in registers."""

import numpy as np
import pytest

from tests.ptx import count
from tests.warp.matrix import label
from warpkit.device.softmax_kernel import Access, softmax_kernel
from warpkit.device.softmax_long import long_kernel
from warpkit.device.softmax_plan import DEFAULT, Side, form_of, options_of, specs_of
from warpkit.simt.specs import array_spec

from .compiled import assert_registers_only, image_and_ptx, wide_loads, wide_stores


def compiled(dtype, items, nbytes=16):
    """Return image, PTX and form of the kernel for rows of so many items, accessed in vectors of so many bytes."""
    dtype = np.dtype(dtype)
    length, wide = nbytes // dtype.itemsize, nbytes > dtype.itemsize
    form, threads = form_of(items // length, length, np.float64 if dtype == np.float64 else np.float32, DEFAULT)
    access = Access(dtype.type, nbytes, 1) if wide else Access(dtype.type, 0, 2)
    side = Side(access, array_spec(dtype, 1 if wide else 2), None, 0, (1.0,))
    kernel = (softmax_kernel if threads else long_kernel)(access, access, form)
    image, ptx = image_and_ptx(kernel, specs_of([side, side], not threads), options_of(form, not threads))
    return image, ptx, form


@pytest.mark.parametrize(
    ("dtype", "items"), [(np.float32, 8192), (np.float32, 32_768), (np.float16, 8192), (np.float64, 16_384)], ids=label
)
def test_a_row_of_a_block(dtype, items):
    image, ptx, form = compiled(dtype, items)
    assert_registers_only(image, ptx)
    held = form.loads * form.length
    assert form.threads * held == items
    assert (wide_loads(ptx), wide_stores(ptx)) == (form.loads, form.loads)
    assert count(ptx, "bar.sync") + count(ptx, "barrier.sync") == 1
    assert count(ptx, "shfl") == 20 * np.dtype(form.total).itemsize // 4
    assert count(ptx, "rcp") == 1
    if form.total is np.float32:
        assert count(ptx, "ex2") == held + 2  # the items', the warps' and the factor


def test_rows_of_a_part_of_a_warp():
    image, ptx, form = compiled(np.float32, 64)
    assert (form.lanes, form.loads) == (8, 2)
    assert_registers_only(image, ptx)
    assert (wide_loads(ptx), wide_stores(ptx)) == (2, 2)
    assert count(ptx, "shfl") == 6
    assert count(ptx, "bar") == image.shared == 0


@pytest.mark.parametrize(("dtype", "items"), [(np.float32, 1001), (np.float16, 8190), (np.float16, 50_258)], ids=label)
def test_rows_that_are_no_whole_vectors(dtype, items):
    image, ptx, form = compiled(dtype, items, 4)
    assert_registers_only(image, ptx)
    assert count(ptx, "ld.global") >= form.loads


def test_parts_of_rows():
    image, ptx, form = compiled(np.float32, 1 << 20)
    assert_registers_only(image, ptx)
    assert (wide_loads(ptx), wide_stores(ptx)) == (form.loads, form.loads)
