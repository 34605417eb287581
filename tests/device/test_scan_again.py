"""Calls that come again: on a GPU, and in the simulator with arrays that are read quickly, as there on a GPU."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit import device
from warpkit.device import scan_call
from warpkit.device.again import Pair
from warpkit.host.arrays import as_argument
from warpkit.host.streams_in import enter

from .scans import SIMULATOR, rubbish, same


@pytest.fixture
def quickly(monkeypatch):
    """Return the list of what every look at a call said: whether it was launched at once."""
    said, run_again = [], scan_call.run_again

    def listening(*given):
        said.append(bool(run_again(*given)))
        return said[-1]

    def reading(x, out, stream):
        source, target = as_argument(x, "x"), as_argument(out, "out")
        key = source.layout, target.layout, source.device
        return Pair(key, source.pointer, target.pointer, enter(stream, (source, target))[0])

    monkeypatch.setattr(scan_call, "run_again", listening)
    if SIMULATOR:
        monkeypatch.setattr(scan_call, "read_again", reading)
    return said


@pytest.mark.parametrize("n", [200, 4000], ids=["one tile", "several"])
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
def test_the_second_call_is_the_drivers_own(quickly, n, reverse):
    """The second one with these arrays, of any addresses: Numba's carry what was read of them the first time."""
    kept = []
    for turn in range(2 if SIMULATOR else 4):
        x, out = np.arange(n) % 9 + turn, rubbish(n, np.int64)
        there = cuda.to_device(x)
        kept.append((there, out))
        device.cumsum(there, out=out, reverse=reverse)
        same(out.copy_to_host(), sums(x, reverse))
        there.copy_to_device(x + 1)
        quickly.clear()
        device.cumsum(there, out=out, reverse=reverse)
        assert quickly == [True]
        same(out.copy_to_host(), sums(x + 1, reverse))


def sums(x, reverse):
    """Return NumPy's running sums."""
    return np.array(np.cumsum(x[::-1])[::-1] if reverse else np.cumsum(x))


def test_in_place_overlap_and_another_stream(quickly):
    memory, stream = cuda.to_device(np.ones(3000, np.float32)), wk.Stream()
    x, free, shifted = memory[:1000], memory[1000:2000], memory[999:1999]
    for _ in range(2):
        device.exclusive_scan(x, wk.maximum, out=free, stream=stream)
        wk.synchronize()
        device.exclusive_scan(x, wk.maximum, out=x)
        with pytest.raises(ValueError, match="shares memory"):
            device.exclusive_scan(x, wk.maximum, out=shifted)
        wk.synchronize()
    found = memory.copy_to_host()
    assert found[:3].tolist() == [-np.inf, -np.inf, 1]
    assert found[1000:1003].tolist() == [-np.inf, -np.inf, 1]
    assert quickly[-3:] == [True, True, False]


def test_what_takes_more_than_a_slot_goes_the_slow_way(quickly):
    for dtype in (np.complex64, np.dtype([("a", np.int32), ("b", np.int32)])):
        x = cuda.to_device(np.ones(100, dtype))
        out = device.cumsum(x)
        for _ in range(3):
            assert device.cumsum(x, out=out) is out
        assert out.copy_to_host()[-1].item() == (100 if dtype == np.complex64 else (100, 100))
    if not SIMULATOR:
        assert not any(quickly)


def test_more_tile_states_than_before(quickly):
    """The pool's memory grows between two calls of the same layouts: the launch is told its new size."""
    for n in (4000, 4000, 9000 if SIMULATOR else 80_000, 4000, 4000):
        x, out = cuda.to_device(np.ones(n, np.int64)), rubbish(n, np.int64)
        device.cumsum(x, out=out)
        same(out.copy_to_host(), np.arange(1, n + 1))
