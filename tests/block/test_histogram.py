"""Block histogram."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.matrix import label

from .kernels import launch, place
from .matrix import FEW, SIMULATOR, threads

BINS = 37


def counting(dtype):
    """Return the kernel that counts in bins of `dtype`, twice in a row, and writes each block's bins."""

    @cuda.jit
    def run(bins, pred, out):
        index, size, i = place()
        shared = wk.shared_array(BINS, dtype)
        for k in range(index, BINS, size):
            shared[k] = 0
        wk.sync_block()
        wk.block_histogram(shared, bins[i], pred[i])
        wk.block_histogram(shared, 0)
        for k in range(index, BINS, size):
            out[cuda.blockIdx.x, k] = shared[k]

    return run


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.uint64, np.float32, np.float64], ids=label)
def test_bins_hold_the_counts_and_outsiders_are_not_counted(dtype):
    run = counting(dtype)
    for shape in FEW:
        rng = np.random.default_rng(1)
        bins, pred = rng.integers(-3, BINS + 3, 2 * threads(shape)), rng.random(2 * threads(shape)) < 0.7
        out = np.zeros((2, BINS), dtype)
        launch(run, shape, bins, pred, out)
        for got, b, p in zip(out, np.split(bins, 2), np.split(pred, 2)):
            expected = np.bincount(b[p & (b >= 0) & (b < BINS)], minlength=BINS)
            expected[0] += threads(shape)
            assert (got == expected).all()


@cuda.jit
def private(key, total, each):
    """Acceptance 11: a histogram of two bins a block, then one global atomic a bin."""
    index, _, i = place()
    bins = wk.shared_array(2, np.uint32)
    if index < 2:
        bins[index] = 0
    wk.sync_block()
    wk.block_histogram(bins, key[i], True)
    if index == 0:
        each[cuda.blockIdx.x] = bins[0]
    if index < 2:
        cuda.atomic.add(total, index, bins[index])


def test_a11_all_keys_0():
    blocks = 6 if SIMULATOR else 96
    key = np.zeros(128 * blocks, np.int32)
    total, each = np.zeros(2, np.uint32), np.zeros(blocks, np.uint32)
    launch(private, (128,), key, total, each, blocks=blocks)
    assert (each == 128).all()
    assert total.tolist() == [128 * blocks, 0]
