"""Bank conflicts: the count, and layouts that have none."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk

COUNTS = [
    (lambda lane: lane, 4, 1),
    (lambda lane: 32 * lane, 4, 32),  # a column of a tile that is 32 wide
    (lambda lane: 33 * lane, 4, 1),  # the same with a word of padding
    (lambda lane: 2 * lane, 4, 2),
    (lambda lane: 17, 4, 1),  # one word for all: a broadcast
    (lambda lane: lane // 2, 4, 1),
    (lambda lane: 32 * (lane % 4), 4, 4),
    (lambda lane: lane, 1, 1),  # four lanes share a word
    (lambda lane: 128 * lane, 1, 32),
    (lambda lane: lane, 8, 1),
    (lambda lane: 16 * lane, 8, 16),
    (lambda lane: lane, 16, 1),
    (lambda lane: 8 * lane, 16, 8),
    (lambda lane: 32 * lane if lane < 5 else None, 4, 5),
    ([], 4, 0),
    ([3, 35], 4, 2),
]


@pytest.mark.everywhere
@pytest.mark.parametrize("case", range(len(COUNTS)))
def test_acceptance_15_count(case):
    index, itemsize, degree = COUNTS[case]
    assert wk.bank_conflicts(index, itemsize) == degree


@pytest.mark.everywhere
@pytest.mark.parametrize("k", [0, 1, 7, 31])
def test_padding_and_swizzling_have_no_conflicts(k):
    assert wk.bank_conflicts(lambda lane: wk.padded_index(32 * lane + k)) == 1
    assert wk.bank_conflicts(lambda lane: wk.swizzled_index(lane, k)) == 1
    assert wk.bank_conflicts(lambda lane: wk.swizzled_index(k, lane)) == 1


@pytest.mark.everywhere
def test_every_item_has_a_place_of_its_own():
    assert sorted(wk.swizzled_index(r, c) for r in range(32) for c in range(32)) == list(range(1024))
    for count in (0, 1, 32, 33, 64, 1000):
        places = [wk.padded_index(i) for i in range(count)]
        assert len(set(places)) == count
        assert max(places, default=0) < max(1, wk.padded_size(count))


@pytest.mark.everywhere
def test_refusals():
    with pytest.raises(ValueError, match="itemsize must be"):
        wk.bank_conflicts(lambda lane: lane, 3)
    with pytest.raises(ValueError, match="32 lanes, not 33"):
        wk.bank_conflicts(range(33))


@cuda.jit
def transpose(x, padded, swizzled):
    """Transpose a 32 × 32 tile through shared memory in both layouts."""
    one = wk.shared_array(1055, np.float32)  # padded_size(1024)
    other = wk.shared_array(1024, np.float32)
    lane = cuda.threadIdx.x
    for row in range(32):
        one[wk.padded_index(32 * row + lane)] = x[row, lane]
        other[wk.swizzled_index(row, lane)] = x[row, lane]
    wk.sync_block()
    for row in range(32):
        padded[row, lane] = one[wk.padded_index(32 * lane + row)]
        swizzled[row, lane] = other[wk.swizzled_index(lane, row)]


def test_both_layouts_transpose_a_tile():
    x = np.arange(1024, dtype=np.float32).reshape(32, 32)
    outs = np.zeros_like(x), np.zeros_like(x)
    transpose[1, 32](x, *outs)
    assert (outs[0] == x.T).all()
    assert (outs[1] == x.T).all()
