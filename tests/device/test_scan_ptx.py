"""What the kernels of scans are made of: registers only, wide accesses, no division; and that they go to the disk."""

import numpy as np

from tests.ptx import count
from tests.warp import operators
from warpkit.device.scan_families import CUMSUM, dtypes_of, scan_family
from warpkit.device.scan_kernel import ring_kernel, tile_kernel
from warpkit.device.scan_plan import ScanOf, options_for, scan_of, specs_of
from warpkit.device.scan_policy import policy_for
from warpkit.device.tiles import TileShape
from warpkit.simt.specs import array_spec

from .compiled import assert_registers_only, image_and_ptx, wide_loads, wide_stores

PAIR = np.dtype([("a", np.float32), ("b", np.float32)])


def compiled(family, item, ring, shape=None, ndim=1, contiguous=True, starts=False, reverse=False, counted=False):
    """Return (image, PTX) of a scan; `shape`: instead of that of the policy."""
    item = np.dtype(item)
    total, result = dtypes_of(family, item, None)
    counter = array_spec(np.int64, 1) if counted else None
    array = array_spec(item, ndim, contiguous)
    what = ScanOf(family, array, array_spec(result, 1), total, starts or family.exclusive, reverse, counter)
    policy = policy_for((9, 0), item, total)
    shape = shape or (policy.ring if ring else policy.tile)
    make = ring_kernel if ring else tile_kernel
    return image_and_ptx(make(scan_of(what), shape), specs_of(what), options_for(shape, 1))


def test_a_ring_keeps_its_tiles_in_registers_and_writes_16_bytes():
    image, ptx = compiled(CUMSUM, np.float32, True)
    assert_registers_only(image, ptx)
    assert image.registers <= 128
    assert wide_stores(ptx) >= 1
    assert count(ptx, "cp.async.bulk") >= 1
    assert count(ptx, "atom") == 6  # the first two tiles and every one ahead, each of which may end the launch


def test_a_tile_is_read_in_flight():
    image, ptx = compiled(CUMSUM, np.float32, False)
    assert_registers_only(image, ptx)
    assert image.registers <= 80  # three blocks of 256 threads on a multiprocessor
    assert wide_loads(ptx) == 4
    assert wide_stores(ptx) >= 1
    assert count(ptx, "cp.async") == 0


SMALL = TileShape(64, 3, 2)


def test_pairs_by_an_operator_of_the_users():
    image, ptx = compiled(scan_family("exclusive_scan", operators.affine), PAIR, False, SMALL)
    assert_registers_only(image, ptx)
    assert compiled(scan_family("inclusive_scan", operators.affine), PAIR, True, SMALL)[0].storable


def test_an_array_of_three_axes_from_its_end_with_a_count_on_the_device():
    image, ptx = compiled(
        CUMSUM, np.float16, False, SMALL, ndim=3, contiguous=False, starts=True, reverse=True, counted=True
    )
    assert_registers_only(image, ptx)


def test_a_lambda_that_captures_an_array():
    table = np.arange(4.0)
    family = scan_family("inclusive_scan", lambda a, b: b if table[1] > 0 else a)
    image, _ = compiled(family, np.float64, False, SMALL)
    assert len(image.captured) == 1
    assert image.local == image.spills == 0
