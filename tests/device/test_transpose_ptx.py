"""What the kernels of transposes are made of: 16 bytes at once on both sides, in registers, nothing divided."""

import numpy as np
import pytest

from tests.ptx import count
from tests.warp.matrix import label
from warpkit.device.transpose import DEFAULT, NUMBERS, WORDS
from warpkit.device.transpose_kernel import ACROSS, DOWN, WIDE, transpose_kernel
from warpkit.simt.specs import Options, array_spec

from .compiled import assert_registers_only, image_and_ptx, wide_loads, wide_stores


def compiled(item, load, store):
    """Return image and PTX of a transpose."""
    item = np.dtype(item)
    kernel = transpose_kernel(item, load, store, DEFAULT)
    specs = [array_spec(item, 1 if way == WIDE else 2, way == WIDE) for way in (load, store)]
    return image_and_ptx(kernel, (*specs, NUMBERS), Options(launch_bounds=(DEFAULT.threads, 0)))


@pytest.mark.parametrize("item", WORDS.values(), ids=label)
def test_16_bytes_at_once(item):
    image, ptx = compiled(item, WIDE, WIDE)
    size, edge = np.dtype(item).itemsize, DEFAULT.edge_for(np.dtype(item).itemsize)
    each = edge * edge * size // (16 * DEFAULT.threads)
    assert_registers_only(image, ptx)
    assert (wide_loads(ptx), wide_stores(ptx)) == (each, each)
    assert count(ptx, "bar.sync") + count(ptx, "barrier.sync") == 1
    assert image.shared <= 48 << 10


@pytest.mark.parametrize(
    "item", [np.uint8, np.uint32, np.complex128, np.dtype("u1,u2"), np.dtype("u4,u4,u4")], ids=label
)
@pytest.mark.parametrize(("load", "store"), [(ACROSS, ACROSS), (DOWN, ACROSS), (ACROSS, DOWN)])
def test_item_by_item(item, load, store):
    assert_registers_only(*compiled(item, load, store))


@pytest.mark.parametrize(("load", "store"), [(WIDE, ACROSS), (DOWN, WIDE)])
def test_one_side_16_bytes_at_once(load, store):
    image, ptx = compiled(np.uint32, load, store)
    assert_registers_only(image, ptx)
    assert max(wide_loads(ptx), wide_stores(ptx)) == 4
