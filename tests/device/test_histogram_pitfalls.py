"""Public bugs of histograms elsewhere, by the row of the collection that they come from: each must not happen here."""

import numpy as np
import pytest
from numba import cuda

from tests.warp.matrix import SIMULATOR
from warpkit import device

from .reductions import to_device
from .test_histogram import POLICY


def counts(x, bins, span=None):
    """Return a histogram as a list."""
    return device.histogram(to_device(x), bins, span, policy=POLICY).copy_to_host().tolist()


@pytest.mark.parametrize(
    ("x", "span"),
    [
        (np.array([-32768, -1, 0, 32766], np.int16), (-32768, 32767)),
        (np.array([-128, -1, 0, 126], np.int8), (-128, 127)),
        (np.array([-1_500_000_000, -1, 0, 1_499_999_999], np.int32), (-1_500_000_000, 1_500_000_000)),
    ],
    ids=["int16", "int8", "int32"],
)
def test_g01_ranges_wider_than_half_the_type(x, span):
    assert counts(x, 4, span) == np.histogram(x.astype(float), 4, span)[0].tolist()
    assert sum(counts(x, 4, span)) == 4
    assert counts(x, 2, span) == [2, 2]


def test_g02_negative_items_of_one_byte():
    assert counts(np.array([-50, -1, 0, 49], np.int8), 4, (-50, 50)) == [1, 1, 1, 1]


def test_g03_a_range_that_the_bins_do_not_divide():
    for dtype in (np.int8, np.int16, np.int64):
        assert counts(np.arange(10, dtype=dtype), 4, (0, 10)) == [3, 2, 3, 2]


def test_g04_bounds_of_integers_stay_floats():
    assert counts(np.arange(10), 4, (0.5, 8.5)) == [2, 2, 2, 2]


def test_g05_nan_is_in_no_bin():
    for dtype in (np.float16, np.float32, np.float64):
        assert counts(np.array([0.1, np.nan, 0.6, np.nan], dtype), 2, (0, 1)) == [1, 1]
        assert counts(np.array([0.1, np.nan, 0.6, np.nan], dtype), [0, 0.5, 1]) == [1, 1]


def test_g06_items_on_edges_fall_where_numpy_puts_them():
    found = counts(np.array([0.3, 0.6, 0.7]), 10, (0, 1))
    assert [k for k, count in enumerate(found) if count] == [2, 5, 6]


def test_g07_the_upper_edge_is_in_the_last_bin():
    for dtype in (np.int8, np.int32, np.float32, np.float64):
        assert counts(np.array([0, 5, 10], dtype), 2, (0, 10)) == [1, 2]
        assert counts(np.array([0, 5, 10], dtype), [0, 5, 10]) == [1, 2]


class TestG08Ranges:
    """Ranges that are none are refused, empty ones widened."""

    @pytest.mark.parametrize("span", [(5, 1), (np.nan, 1), (0, np.inf)], ids=str)
    def test_refused(self, span):
        with pytest.raises(ValueError, match=r"^histogram: range must be"):
            counts(np.arange(3.0), 2, span)

    @pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan], ids=str)
    def test_items_that_make_none(self, odd):
        with pytest.raises(ValueError, match=r"^histogram: range must be two finite numbers.*pass range="):
            counts(np.array([1.0, odd]), 2)

    def test_widened(self):
        assert counts(np.array([2, 2, 3]), 2, (2, 2)) == np.histogram([2, 2, 3], 2, (2, 2))[0].tolist()
        assert counts(np.full(5, 7.0), 3) == np.histogram(np.full(5, 7.0), 3)[0].tolist()


@pytest.mark.parametrize("bins", [1, 255, 256, 257, 12_000 if SIMULATOR else 5_000_000])
def test_g09_any_number_of_bins(bins):
    x = np.random.default_rng(2).random(400 if SIMULATOR else 10**6)
    assert counts(x, bins, (0, 1)) == np.histogram(x, bins, (0, 1))[0].tolist()


def test_g10_one_number_of_bins_after_another():
    x = np.random.default_rng(3).random(300)
    for bins in (16, 1000, 16, 9000 if SIMULATOR else 300_000, 16):
        assert counts(x, bins, (0, 1)) == np.histogram(x, bins, (0, 1))[0].tolist()


def test_g11_items_at_the_ends_of_their_type():
    ends = np.iinfo(np.int64)
    assert counts(np.array([ends.min, 0, ends.max]), 8, (0, 1)) == [1] + [0] * 7
    assert counts(np.array([0, 1, 2**64 - 1], np.uint64), 2, (0, 2)) == [1, 1]
    assert counts(np.array([ends.min, 0, ends.max]), [ends.min, 0, ends.max]) == [1, 2]
    assert counts(np.array([-3.4e38, 3.4e38, 0.5], np.float32), 2, (0, 1)) == [0, 1]


def test_g12_many_numbers_and_whole_numbers_of_halves():
    x = cuda.to_device(np.arange(3000 if SIMULATOR else 65536))
    assert set(device.bincount(x).copy_to_host().tolist()) == {1}
    assert counts(np.array([0.25, 1.25, 2.25], np.float16), 3, (0, 3)) == [1, 1, 1]
