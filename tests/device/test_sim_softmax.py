"""Softmax of rows in parts under random schedules of blocks and lanes, launch after launch on the same scratch."""

import numpy as np
import pytest
from numba import cuda

from tests.block.schedules import explore, found_by
from warpkit import device
from warpkit.device import softmax_long
from warpkit.host import scratch

from .test_softmax import PARTS, expected, normal


@pytest.fixture(autouse=True)
def scratch_of_its_own(monkeypatch):
    """What a wrong kernel leaves in the scratch is nobody else's."""
    monkeypatch.setattr(scratch, "_pool", {})


def rows_in_parts(seed):
    """Compare a few rows of some parts each; later seeds find the scratch as earlier ones have left it."""
    x = normal((1 + seed % 4, 300 + 170 * seed % 400), seed=seed)
    got = device.softmax(cuda.to_device(x), policy=PARTS).copy_to_host()
    np.testing.assert_allclose(got, expected(x), 1e-5)


def test_rows_are_right_under_every_schedule():
    explore(rows_in_parts, 8)


def test_writing_before_a_row_has_all_its_parts_is_found(monkeypatch):
    monkeypatch.setattr(softmax_long, "await_pairs", lambda store, row, parts: None)
    assert found_by(rows_in_parts, BaseException, 20) is not None


def test_rows_that_are_left_with_something_are_found(monkeypatch):
    monkeypatch.setattr(softmax_long, "leave_row", lambda store, row, rows, parts, notes: None)
    assert found_by(rows_in_parts, BaseException, 20) is not None


@pytest.mark.parametrize("lag", [3, 4, 7, 12])
def test_every_half_is_done_once_and_no_second_before_the_first_halves_of_its_row(lag):
    rows, parts = 4, 3
    units = rows * parts
    work = [softmax_long.work_of(np.int64(number), np.int64(units), np.int64(lag)) for number in range(2 * units)]
    places = {(bool(second), int(part)): number for number, (second, part) in enumerate(work)}
    assert len(places) == 2 * units
    for (second, part), number in places.items():
        if second:
            first = part - part % parts
            assert all(places[False, other] < number for other in range(first, first + parts))
