"""Histograms under random schedules of blocks and lanes, launch after launch on the same scratch.

An output that is added to before it is clear loses counts under some of them.
"""

import numpy as np
import pytest
from numba import cuda

from tests.block.schedules import explore, found_by
from warpkit import device
from warpkit.device import clearing, histogram_common
from warpkit.simt.memory import atomic_compare_exchange, load_shared_relaxed

PRIVATE = device.HistogramPolicy(threads=32, loads=1, shared=1 << 8, worth=1, full_from=0)
COMMON = device.HistogramPolicy(threads=32, loads=1, most_shared=0, table=16, emptied=64)


def counting(policy):
    """Return run(seed): a histogram by a few blocks into an output of a few slices that holds rubbish."""

    def run(seed):
        bins = 1 + 17 * seed % 100
        x = np.random.default_rng(seed).random(100 + 60 * seed % 300, np.float32)
        out = cuda.to_device(np.full(bins, 1000, np.int32))
        device.histogram(cuda.to_device(x), bins, (0, 1), out=out, policy=policy)
        np.testing.assert_array_equal(out.copy_to_host(), np.histogram(x, bins, (0, 1))[0])

    return run


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    """Clear in small slices, so that blocks share the work."""
    monkeypatch.setattr(clearing, "SLICE", 32)


@pytest.mark.parametrize("policy", [PRIVATE, COMMON], ids=["private", "common"])
def test_counts_are_right_under_every_schedule(policy):
    explore(counting(policy), 12)


def test_adding_before_the_output_is_clear_is_found(monkeypatch):
    monkeypatch.setattr(histogram_common, "await_clear", lambda out, store: None)
    assert found_by(counting(COMMON), BaseException, 60) is not None


def test_a_place_that_another_bin_has_got_meanwhile_is_found(monkeypatch):
    def claimed(bins, slot, number):
        held = load_shared_relaxed(bins, slot)
        if held == -1:
            atomic_compare_exchange(bins, slot, -1, number)
            return True  # whoever was first
        return held == number

    monkeypatch.setattr(histogram_common, "claimed", claimed)
    assert found_by(counting(COMMON), AssertionError, 60) is not None
