"""Exchanges: striped, blocked, by ranks; every size of item and of scratch; no bank conflicts."""

import numpy as np
import pytest

import warpkit as wk
from tests.warp.kinds import RECORDS
from tests.warp.matrix import NUMBERS, bit_patterns, label

from .items import SIZES, as_blocked, as_striped, moved, scattered, tiles
from .kernels import launch
from .matrix import FEW, SIMULATOR, threads

SHAPES = [(1,), (33,), (64,)] if SIMULATOR else FEW
ARRANGED = {
    "striped_to_blocked": (wk.block_striped_to_blocked, as_blocked),
    "blocked_to_striped": (wk.block_blocked_to_striped, as_striped),
}


def check(name, x, shape, size, own=0):
    """Exchange every block's items and compare bit for bit."""
    function, rule = ARRANGED[name]
    out = np.zeros_like(x)
    launch(moved(function, size, x.dtype if x.dtype.names else x.dtype.type, own), shape, x, out)
    expected = np.concatenate([rule(tile, size) for tile in tiles(x)])
    for field in x.dtype.names or [...]:
        assert out[field].tobytes() == expected[field].tobytes()


@pytest.mark.parametrize("shape", SHAPES, ids=label)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ARRANGED)
def test_items_are_rearranged(name, size, shape):
    check(name, bit_patterns(np.int32, 2 * size * threads(shape)), shape, size)


@pytest.mark.parametrize("dtype", [*NUMBERS, np.bool_], ids=label)
@pytest.mark.parametrize("name", ARRANGED)
def test_items_of_every_type_move_bit_for_bit(name, dtype):
    check(name, bit_patterns(dtype, 2 * 3 * 33), (33,), 3)


@pytest.mark.parametrize("record", RECORDS)
def test_records_move(record):
    check("striped_to_blocked", bit_patterns(RECORDS[record], 2 * 2 * 33), (33,), 2)


@pytest.mark.parametrize(("dtype", "size", "shape"), [(np.complex128, 9, (64,)), (np.float64, 12, (10, 10))], ids=label)
@pytest.mark.parametrize("name", ARRANGED)
def test_more_items_than_the_pool_holds_take_more_rounds(name, dtype, size, shape):
    check(name, bit_patterns(dtype, 2 * size * threads(shape)), shape, size)


OWN = [(np.int32, own) for own in (20, 100, 130, 264, 1000)]
OWN += [(dtype, own) for dtype in (np.int8, np.float16, np.float64, np.complex128) for own in (130, 300)]


@pytest.mark.parametrize(("dtype", "own"), OWN, ids=label)
def test_an_own_scratch_of_any_length_will_do(dtype, own):
    check("striped_to_blocked", bit_patterns(dtype, 2 * 8 * 33), (33,), 8, own)
    check("blocked_to_striped", bit_patterns(dtype, 2 * 4 * 64), (64,), 4, own)


@pytest.mark.parametrize("own", [0, 50], ids="scratch {}".format)
@pytest.mark.parametrize("size", [1, 3, 4])
def test_items_go_where_their_ranks_say(size, own):
    rng = np.random.default_rng(3)
    count = size * 40
    x = bit_patterns(np.float32, 2 * count)
    ranks = np.concatenate([rng.permutation(count), rng.permutation(count)]).astype(np.int32)
    expected = np.empty_like(x)
    for start in (0, count):
        expected[start + ranks[start : start + count]] = x[start : start + count]
    out = np.zeros_like(x)
    launch(scattered(wk.block_scatter_to_blocked, size, np.float32, own), (8, 5), x, ranks, out)
    assert out.tobytes() == expected.tobytes()
    launch(scattered(wk.block_scatter_to_striped, size, np.float32, own), (8, 5), x, ranks, out)
    assert out.tobytes() == np.concatenate([as_striped(tile, size) for tile in tiles(expected)]).tobytes()


def test_an_item_without_a_place_is_dropped():
    x, ranks, out = np.arange(80, dtype=np.int32), np.arange(80, dtype=np.int32), np.zeros(80, np.int32)
    ranks[[3, 50]] = -1, 80
    launch(scattered(wk.block_scatter_to_blocked, 2, np.int32), (40,), x, ranks, out, blocks=1)
    kept = np.delete(np.arange(80), [3, 50])
    assert (out[kept] == kept).all()
