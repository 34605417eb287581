"""What the kernels of few items are made of: registers, wide accesses, few barriers; nothing that a GPU waits for."""

import numpy as np
import pytest

from tests.ptx import count
from tests.warp import operators
from tests.warp.matrix import label
from warpkit.device.scan_families import CUMSUM, dtypes_of, scan_family
from warpkit.device.scan_few import few_kernel
from warpkit.device.scan_look_kernel import LookingShape, look_kernel
from warpkit.device.scan_plan import ScanOf, options_for, scan_of, specs_of
from warpkit.device.scan_policy import policy_for
from warpkit.simt.specs import array_spec

from .compiled import assert_registers_only, image_and_ptx, wide_loads, wide_stores

PAIR = np.dtype([("a", np.float32), ("b", np.float32)])
KINDS = ["one", "large", "sweep", "look"]


def shape_of(kind, item, total):
    """Return the shape of a kind of kernel, as the policy has it."""
    policy = policy_for((9, 0), item, total)
    if kind == "tile":
        return LookingShape(policy.tile_threads, policy.wide_items, states=policy.tile_states)
    return getattr(policy, kind)


def compiled(kind, item, family=CUMSUM, reverse=False, counted=False, ndim=1):
    """Return (image, PTX, items of a thread)."""
    item = np.dtype(item)
    total, result = dtypes_of(family, item, None)
    counter = array_spec(np.int64, 1) if counted else None
    array, starts = array_spec(item, ndim, ndim == 1), family.exclusive
    what = ScanOf(family, array, array_spec(result, 1), total, starts, reverse, counter)
    shape = shape_of(kind, item, total)
    make = look_kernel if kind == "tile" else few_kernel
    return *image_and_ptx(make(scan_of(what), shape), specs_of(what), options_for(shape, 1)), shape.items


@pytest.mark.parametrize("kind", [*KINDS, "tile"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.float64], ids=label)
@pytest.mark.parametrize("reverse", [False, True])
def test_registers_only(dtype, reverse, kind):
    image, ptx, _ = compiled(kind, dtype, reverse=reverse, counted=True)
    assert_registers_only(image, ptx)
    assert count(ptx, "atom") == (2 if kind in ("look", "tile") else 0)  # of one thread: its number, and a launch's end
    assert count(ptx, "membar") == count(ptx, "fence") == 0


@pytest.mark.parametrize("kind", KINDS)
def test_items_are_read_and_written_16_bytes_at_once(kind):
    _, ptx, items = compiled(kind, np.float32)
    assert wide_stores(ptx) == items // 4
    assert wide_loads(ptx) == items // 4 * (1 + (shape_of(kind, np.dtype("f4"), np.dtype("f4")).loads))
    assert count(ptx, "cp.async") == 0


def test_an_operator_of_the_users_is_not_asked_about_what_is_no_item():
    for kind in ("one", "large"):
        image, ptx, _ = compiled(kind, PAIR, scan_family("exclusive_scan", operators.affine))
        assert_registers_only(image, ptx)
    image, ptx, _ = compiled("one", np.float16, ndim=3, reverse=True, counted=True)
    assert_registers_only(image, ptx)
