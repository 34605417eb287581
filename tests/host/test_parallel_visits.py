"""parallel_for: every index of a range once, none outside, whatever its form; the shapes of its launches."""

import itertools

import numpy as np
import pytest

import warpkit as wk
from tests.host.loops import HITS, INT64, device, expected, seed_ranges
from warpkit.host.launch import launch
from warpkit.host.parallel import layout_of
from warpkit.host.parallel_kernels import THREADS, TILE, each_item
from warpkit.host.ranges import dimensions_of
from warpkit.host.ranges_walk import divisor, walk_of
from warpkit.simt import machine

MOST = (2**31 - 1, 65535, 65535)


# ------------------------------------------------------------------ each index once, none outside


def test_p05_every_small_range_visits_what_pythons_does():
    cases = list(itertools.product(range(-7, 8), range(-7, 8), (-3, -2, -1, 1, 2, 3)))
    hits = device(np.zeros((len(cases), 32), np.int32))
    for row, case in enumerate(cases):
        wk.parallel_for(wk.Range(*case), HITS[1], hits, row)
    got = hits.copy_to_host()
    for row, case in enumerate(cases):
        wanted = np.zeros(32, np.int32)
        wanted[[i + 16 for i in range(*case)]] = 1
        assert (got[row] == wanted).all(), case


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_the_seeds_60_ranges(ndim):
    cases = [case for case in seed_ranges() if len(case) == ndim]
    assert len(seed_ranges()) == 60
    extents = [max(case[axis].stop for case in cases) + 4 for axis in range(ndim)]
    extents[0] += 16 if ndim == 1 else 0
    hits = device(np.zeros((len(cases), *extents), np.int32))
    for row, case in enumerate(cases):
        begin, end, step = (tuple(getattr(r, part) for r in case) for part in ("start", "stop", "step"))
        wk.parallel_for(wk.Range(begin, end, step), HITS[ndim], hits, row)
    for row, case in zip(hits.copy_to_host(), cases):
        wanted = np.zeros(extents, np.int32)
        for place in expected(*case):
            wanted[(place[0] + 16,) if ndim == 1 else place] = 1
        assert (row == wanted).all(), case


@pytest.mark.parametrize(
    "case",
    [
        (range(3), range(5)),
        (range(10, 0, -3), range(2, 9, 3)),
        (range(4, -1, -1), range(1), range(6, 0, -2)),
        (range(2), range(3), range(5), range(7)),
        (range(1), range(1), range(1), range(1)),
        (range(3, 0, -1), range(0, 9, 4), range(1, 2), range(7, 0, -3)),
        (range(1), range(4, 0, -3), range(1), range(2, 11, 2)),
    ],
    ids=str,
)
def test_samples_of_up_to_four_dimensions(case):
    shape = (12,) * len(case)
    hits = device(np.zeros(shape if len(case) == 4 else (1, *shape), np.int32))
    wk.parallel_for(case, HITS[len(case)], hits, 1 if len(case) == 4 else 0)
    wanted = np.zeros(shape, np.int32)
    for place in expected(*case):
        wanted[place] = 1
    assert (hits.copy_to_host().reshape(shape) == wanted).all()


@pytest.mark.parametrize("items", [1, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 4608, 5000])
def test_sizes_around_tiles_of_one_and_of_two_items_a_thread(items):
    hits = device(np.zeros((1, items + 64), np.int32))
    wk.parallel_for(items, HITS[1], hits, 0)
    got = hits.copy_to_host()[0]
    assert (got[16 : 16 + items] == 1).all()
    assert not got[:16].any()
    assert not got[16 + items :].any()


@pytest.mark.parametrize("shape", [(71, 73), (1, 5000), (5000, 1), (17, 19, 16), (1, 4500, 1), (3, 7, 11, 23)], ids=str)
def test_full_tiles_of_several_dimensions(shape):
    hits = device(np.zeros(shape if len(shape) == 4 else (1, *shape), np.int32))
    wk.parallel_for(shape, HITS[len(shape)], hits, 1 if len(shape) == 4 else 0)
    assert (hits.copy_to_host() == 1).all()


@pytest.mark.parametrize("begin", [INT64 - 5, INT64 - 9, -INT64, 2**31 - 3, 2**32 - 3, -4], ids=str)
@pytest.mark.parametrize("step", [1, 2, -1, -2])
def test_ranges_at_the_end_of_an_index_type(begin, step):
    indices = [begin + step * k for k in range(4)]
    if not all(-INT64 <= i < INT64 for i in indices):
        begin, indices = begin - 4 * step, [i - 4 * step for i in indices]
    out = device(np.zeros(4, np.int64))

    def keep(i, out, begin, step):
        for k in range(4):
            if begin + step * k == i:
                out[k] = i

    wk.parallel_for(range(begin, begin + 4 * step, step), keep, out, begin, step)
    assert out.copy_to_host().tolist() == indices


def test_indices_are_int64_whatever_is_used_inside():
    out = device(np.zeros(3, np.int64))

    def widths(i, j, out):
        out[i] = (i + 2**40) * (j + 1) + (i - 5)

    wk.parallel_for((3, 1), widths, out)
    assert out.copy_to_host().tolist() == [(i + 2**40) + (i - 5) for i in range(3)]


def wide_numbers(shape):
    """Return what a kernel gets for a dense range in 64 bits, however small it is."""
    numbers, below = [], int(np.prod(shape))
    for outer, inner in itertools.pairwise(shape):
        below //= outer
        numbers += [*divisor(below, 64), -inner % 2**64]
    return tuple(np.uint64(n) for n in numbers)


@pytest.mark.parametrize("shape", [(700,), (23, 31), (7, 11, 9), (3, 7, 5, 7)], ids=str)
@pytest.mark.parametrize("grid", [(3, 1, 1), (2, 2, 1), (1, 2, 3)], ids=str)
def test_64_bits_and_grids_of_three_axes_walk_the_same(shape, grid):
    items, ndim = int(np.prod(shape)), len(shape)
    hits = device(np.zeros(shape if ndim == 4 else (1, *shape[:-1], shape[-1] + 32), np.int32))
    kernel = each_item(machine.as_device(HITS[ndim]), ndim, False, True)
    tile = 64 * -(-items // (64 * int(np.prod(grid))))
    counts = (np.uint64(items), np.uint64(0), np.uint64(tile))
    launch(kernel, grid, tile, *counts, wide_numbers(shape), (), (hits, 1 if ndim == 4 else 0))
    got = hits.copy_to_host()
    assert got.sum() == items
    assert got.max() == 1


def test_64_bit_numbers_are_those_of_the_walk():
    dimensions = dimensions_of((3, 1 << 20, 1 << 20))
    assert walk_of(dimensions).numbers == wide_numbers((3, 1 << 20, 1 << 20))


# ------------------------------------------------------------------ the shape of a launch


@pytest.mark.everywhere
@pytest.mark.parametrize("items", [1, 100, 256, 4096, 4097, 10**6, 2**31, 2**31 + 1, 10**12, 2**40 + 7, 2**63], ids=str)
def test_a_layout_covers_every_item_and_full_tiles_are_full(items):
    shape = layout_of(items, 4096, MOST)
    blocks = int(np.prod([int(n) for n in shape.grid], dtype=object))
    assert blocks * shape.tile_items >= items
    assert (blocks - 1) * shape.tile_items < items or blocks >= 2**31
    assert all(0 < extent <= most for extent, most in zip(shape.grid, MOST))
    assert shape.threads % 32 == 0
    assert shape.threads <= THREADS
    assert (shape.tile_items == shape.threads) == (items <= 4096)
    assert shape.full_items == (0 if items <= 4096 else items // TILE * TILE)
    assert blocks * shape.tile_items < 2**64
