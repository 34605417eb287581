"""Reductions of few items: one warp, one block, several blocks, around every size at which they change."""

import operator
from dataclasses import replace

import numpy as np
import pytest

from tests.warp.matrix import SIMULATOR, label, random_bits
from warpkit import device
from warpkit.device.reduce_few import FewShape
from warpkit.errors import Refused

from .reductions import FEW, LAYOUTS, NUMPY, data, for_order, for_sum, laid_out, np_sum, same, to_device

EIGHT = replace(FEW, few_loads=8, single_loads=512)  # reads of a thread
POLICIES = [FEW, EIGHT] if SIMULATOR else [FEW, EIGHT, None]
WARPS = replace(FEW, few_threads=128, single_threads=64, threads=64)  # more than one warp everywhere


def edges_of(policy, itemsize):
    """Return numbers of items around those at which another kernel, or another grid, takes over."""
    length, policy = max(16 // itemsize, 1), policy or device.ReducePolicy()
    block = policy.threads * policy.loads
    warps = {32 * loads for loads in (1, 2, 4, 8) if loads <= policy.few_loads}
    reads = {*warps, policy.few_threads * policy.few_loads, policy.single_loads, policy.few_until, block, 2 * block}
    around = {number * length + more for number in reads for more in (-1, 0, length)}
    return sorted(n for n in {1, 2, 5, *around} if 0 < n < (3000 if SIMULATOR else 1 << 22))


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int32, np.float32, np.float64, np.complex128], ids=label)
def test_wherever_another_kernel_takes_over(dtype):
    rng = np.random.default_rng(8)
    for policy in POLICIES:
        for n in edges_of(policy, np.dtype(dtype).itemsize):
            x = for_sum(dtype, n + 3, rng)
            for first in (0, 3):
                same(device.sum(to_device(x[first : first + n]), policy=policy), np_sum(x[first : first + n]))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64], ids=label)
def test_sums_of_64_bits_wrap(dtype):
    """Warps add them up in pieces of 27 bits: all bits count, and the signs."""
    rng, extremes = np.random.default_rng(9), np.iinfo(dtype)
    for n in (1, 32, 130, 700):
        for x in (random_bits(dtype, n, rng), np.full(n, extremes.max, dtype), np.full(n, extremes.min, dtype)):
            for policy in (FEW, WARPS):
                same(device.sum(to_device(x), policy=policy), np_sum(x))
    negative = np.full(500, -(2**31), np.int32)
    same(device.sum(to_device(negative), policy=FEW), np_sum(negative))


@pytest.mark.parametrize("name", ["max", "argmin", "argmax", "minmax", "prod", "mean", "any", "all", "count_nonzero"])
def test_every_family_in_every_kind(name):
    for n in (1, 2, 31, 127, 128, 129, 257, 511, 700):
        x = data(name, np.float32, n, seed=n)
        for policy in (FEW, WARPS):
            same(getattr(device, name)(to_device(x), policy=policy), NUMPY[name](x))


def test_nan_wherever_it_is():
    for n in (1, 3, 128, 257, 520):
        for at in sorted({0, n // 2, n - 1}):
            x = for_order(np.float32, n, np.random.default_rng(n))
            x[at] = np.nan
            assert np.isnan(device.max(to_device(x), policy=FEW))
            assert device.argmin(to_device(x), policy=FEW) == at


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    for n in (40, 300):
        x = laid_out(layout, n, lambda count: for_sum(np.int16, count, np.random.default_rng(3)))
        same(device.sum(to_device(x), policy=FEW), np_sum(x))


def test_items_of_records_and_long_items():
    for dtype, fits in (([("a", "i4"), ("b", "f4")], True), ([("a", "f8"), ("b", "f8"), ("c", "i8")], False)):
        x = np.zeros(200, dtype)
        for name in x.dtype.names:
            x[name] = np.arange(200)
        total = device.sum(to_device(x), policy=FEW)
        assert [int(total[name]) for name in x.dtype.names] == [19900] * len(x.dtype.names)
        assert (x.dtype.itemsize <= 16) == fits


def test_what_a_users_function_captures_may_change():
    x = np.arange(300)
    table = np.array([2, 3])
    for policy in (FEW, WARPS):
        for n in (10, 200, 300):
            for factor in (5, 7):
                table[1] = factor
                there = to_device(x[:n])
                total = device.transform_reduce(there, lambda v: v * table[1], operator.add, policy=policy)
                most = device.transform_reduce(there, lambda v: v * table[1], max, policy=policy)
                assert (total, most) == (x[:n].sum() * factor, (n - 1) * factor)


def test_the_same_bits_every_time():
    x = to_device(np.random.default_rng(2).random(900).astype(np.float32))
    for policy in (FEW, WARPS):
        assert len({device.sum(x, policy=policy).tobytes() for _ in range(4)}) == 1


@pytest.mark.parametrize("threads", [256, 512, 1024])
def test_one_warp_combines_all_warps(threads):
    policy = replace(FEW, few_threads=threads, few_loads=1)
    x = np.random.default_rng(threads).integers(0, 99, threads) * (1 + 2j)  # a read each
    for n in (33, threads // 2 + 1, threads):
        same(device.sum(to_device(x[:n]), policy=policy), np_sum(x[:n]))


@pytest.mark.parametrize("blocks", [2, 33, 65, 128])
def test_one_warp_combines_all_blocks(blocks):
    policy = replace(FEW, loads=1, single_loads=1, few_until=1 << 12)
    x = np.random.default_rng(blocks).integers(0, 99, 32 * blocks) * (1 + 2j)  # a read each
    for _ in range(2):
        same(device.sum(to_device(x), policy=policy), np_sum(x))


DEFAULT = device.ReducePolicy(threads=256, loads=4, single_threads=512, few_threads=256, few_loads=4, few_until=1 << 17)


@pytest.mark.parametrize(
    ("reads", "shape", "grid"),
    [
        (0, FewShape(32, 1), (1, 32)),
        (32, FewShape(32, 1), (1, 32)),
        (33, FewShape(32, 2), (1, 32)),
        (65, FewShape(32, 4), (1, 32)),
        (128, FewShape(32, 4), (1, 32)),
        (129, FewShape(256, 4), (1, 256)),
        (1 << 10, FewShape(256, 4), (1, 256)),
        ((1 << 10) + 1, FewShape(512, 8), (1, 512)),
        (1 << 12, FewShape(512, 8), (1, 512)),
        ((1 << 12) + 1, FewShape(256, 4, True), (5, 256)),
        (1 << 17, FewShape(256, 4, True), (128, 256)),
        ((1 << 17) + 1, None, None),
    ],
)
def test_which_shape_and_grid(reads, shape, grid):
    found = DEFAULT.few_shape(reads)
    assert found == shape
    if found is not None:
        assert found.grid_for(reads) == grid


@pytest.mark.parametrize(
    "policy", [FEW, WARPS, DEFAULT, replace(DEFAULT, single_loads=1), replace(FEW, few_until=1 << 20)]
)
def test_a_grid_reads_all_and_has_few_blocks(policy):
    for reads in [*range(700), *range(700, 1 << 16, 997)]:
        shape = policy.few_shape(reads)
        if shape is not None:
            blocks, threads = shape.grid_for(reads)
            assert blocks * threads * shape.loads >= reads
            assert blocks == 1 if not shape.several else 1 < blocks <= 128
            assert threads == shape.threads


def test_policies_that_are_none():
    for field, value in (("few_loads", 3), ("few_loads", 16), ("few_threads", 48), ("few_until", -1)):
        with pytest.raises(Refused, match=f"^ReducePolicy: {field} must be "):
            replace(DEFAULT, **{field: value})
