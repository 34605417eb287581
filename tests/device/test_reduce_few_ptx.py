"""What the kernels of reductions of few items are made of: short and straight, nothing that need not be there."""

import functools

import numpy as np
import pytest

from tests.ptx import assert_register_only, count, shuffles
from tests.warp.matrix import label
from warpkit import device
from warpkit.device.reduce_families import FAMILIES
from warpkit.device.reduce_working import ReductionOf, program_of
from warpkit.simt.specs import array_spec

from .compiled import image_and_ptx, wide_loads

POLICY = device.ReducePolicy()
READS = 1, 32 * POLICY.few_loads + 1, POLICY.single_loads, POLICY.single_loads + 1
SHAPES = dict(zip(("warp", "few", "one", "several"), map(POLICY.few_shape, READS)))
WARP = SHAPES["warp"]


@functools.cache
def compiled(name, dtype, shape, ndim=1):
    """Return image and PTX of a reduction of few items, as it is compiled for a launch."""
    meaning, total, result = FAMILIES[name].build(name, np.dtype(dtype), None)
    what = ReductionOf(meaning, array_spec(dtype, ndim, ndim == 1), total, result, None, None, True)
    program, specs = program_of(what, POLICY, shape)
    return image_and_ptx(program.function, specs, program.options)


def barriers(ptx):
    """Count the barriers of a block."""
    return count(ptx, "bar.sync") + count(ptx, "barrier.sync") + count(ptx, "bar.red")


def meetings(shape):
    """Return how many shuffles it takes to combine values of one word: in a warp, among warps, among blocks."""
    among_warps = max(shape.threads // 32 // 8, 1).bit_length() - 1
    return 5 + among_warps + (1 + 5 if shape.several else 0)


def test_the_default_has_all_kinds():
    assert [shape.several for shape in SHAPES.values()] == [False, False, False, True]
    assert len(set(SHAPES.values())) == 4
    assert WARP.threads == 32


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int32, np.float32, np.float64, np.int64], ids=label)
def test_every_read_is_wide_and_nothing_leaves_the_registers(dtype, kind):
    shape = SHAPES[kind]
    image, ptx = compiled("sum", dtype, shape)
    assert wide_loads(ptx) == shape.loads
    assert_register_only(ptx)
    assert image.local == image.spills == 0
    assert image.storable
    assert count(ptx, "div") == count(ptx, "rem") == 0
    assert barriers(ptx) == (0 if shape is WARP else 1)
    assert count(ptx, "atom") == (1 if shape.several else 0)
    assert count(ptx, "fence") + count(ptx, "membar") == 0


@pytest.mark.parametrize("kind", SHAPES)
def test_how_often_lanes_meet(kind):
    shape = SHAPES[kind]
    for dtype, words in ((np.float32, 1), (np.float64, 2)):
        _, ptx = compiled("sum", dtype, shape)
        assert shuffles(ptx) == meetings(shape) * words - (words - 1 if shape.several else 0)  # who is last: one word
    _, ptx = compiled("sum", np.int32, shape)
    assert count(ptx, "redux.sync") == (6 if shape.several else 3)  # a sum of 64 bits in three pieces
    _, ptx = compiled("max", np.int32, shape)
    assert count(ptx, "redux.sync") == (2 if shape.several else 1)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family(name):
    for shape in SHAPES.values():
        for dtype in (np.uint8, np.float64):
            image, ptx = compiled(name, dtype, shape)
            assert wide_loads(ptx) >= shape.loads  # totals of 16 bytes come from scratch as widely
            assert_register_only(ptx)
            assert image.local == image.spills == 0
            assert image.registers <= 64 * 1024 // shape.threads


def test_strided_arrays():
    for ndim in (2, 3, 4):
        _, ptx = compiled("sum", np.float32, SHAPES["few"], ndim=ndim)
        assert_register_only(ptx)
        assert count(ptx, "div") == count(ptx, "rem") == 0
