"""Fixtures that tests of calls which come again share."""

import pytest

from tests.host.dry import calls_anew
from tests.warp.matrix import SIMULATOR
from warpkit.device import again

from .again import reading, reading_again


@pytest.fixture
def at_once(monkeypatch):
    """Return the list of what every look at a call said: whether it was launched at once. No call is known yet."""
    said, launched_again = [], again.launched_again

    def listening(*given):
        said.append(False)
        said[-1] = launched_again(*given)
        return said[-1]

    monkeypatch.setattr(again.CallTable, "now", calls_anew())
    monkeypatch.setattr(again, "launched_again", listening)
    return said


@pytest.fixture
def quickly(at_once, monkeypatch):
    """Return `at_once` with arrays that are read quickly: as if each had been in a call before."""
    monkeypatch.setattr(again, "read_again", reading if SIMULATOR else reading_again(again.read_again))
    return at_once
