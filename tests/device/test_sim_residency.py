"""No block waits for one that has not begun: a GPU that is busy starts the next block when another one has ended."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit import device
from warpkit.errors import NoProgress
from warpkit.simt.simulator.launches import RESIDENT, Launch

from .scans import NONE_FEW
from .selections import NOT_ALONE

N = 3 * RESIDENT * 64 + 5  # items: more tiles than blocks run at once
X = np.random.default_rng(5).integers(0, 9, N).astype(np.int32)
SELECT = {
    "stay": device.SelectPolicy(threads=32, nbytes=8, blocks=32, most_tiles=0, **NOT_ALONE),
    "one tile": device.SelectPolicy(few_threads=32, few_nbytes=8, most_tiles=1 << 20, **NOT_ALONE),
    "look back": device.SelectPolicy(
        **NOT_ALONE | {"look_until": 1 << 20}, look_threads=32, look_items=2, look_states=1, look_patience=3,
        whole_tiles=1 << 20,
    ),
}  # fmt: skip
SCAN = {
    "stay": device.ScanPolicy(threads=32, items=1, stages=2, blocks=32, ring_from=0),
    "one tile": device.ScanPolicy(tile_threads=32, tile_items=1, ring_from=1 << 40, **NONE_FEW),
    "sweep": device.ScanPolicy(ring_from=1 << 40, one_threads=32, one_items=4, sweep_threads=32, sweep_until=1 << 20),
    "look back": device.ScanPolicy(
        ring_from=1 << 40, **NONE_FEW | {"look_until": 1 << 20}, look_threads=32, look_items=2, look_states=1
    ),
    "look back, one tile": device.ScanPolicy(
        ring_from=1 << 40, tile_threads=32, tile_items=1, **NONE_FEW | {"tile_states": 1}
    ),
}


@pytest.fixture(autouse=True)
def busy(monkeypatch):
    """Let no further block begin while those that run make no progress."""
    admit = Launch.admit
    monkeypatch.setattr(Launch, "admit", lambda launch, count: count <= RESIDENT and admit(launch, count))


def is_odd(value):
    return value % 2 == 1


def test_the_fixture_stops_what_waits_for_all_blocks():
    @cuda.jit
    def meet(count, blocks):
        cuda.atomic.add(count, 0, 1)
        while count[0] < blocks:
            pass

    meet[RESIDENT, 1](np.zeros(1, np.int32), RESIDENT)
    with pytest.raises(NoProgress):
        meet[RESIDENT + 1, 1](np.zeros(1, np.int32), RESIDENT + 1)


@pytest.mark.parametrize("kind", SELECT)
@pytest.mark.parametrize("name", ["select", "partition", "unique", "run_length_encode"])
def test_selections(name, kind):
    given = (is_odd,) if name in ("select", "partition") else ()
    found = getattr(device, name)(cuda.to_device(X), *given, policy=SELECT[kind])
    first = (found[0] if isinstance(found, tuple) else found).copy_to_host()
    odd, changed = X % 2 == 1, np.append(True, X[1:] != X[:-1])
    wanted = {"select": X[odd], "partition": np.append(X[odd], X[~odd])}.get(name, X[changed])
    np.testing.assert_array_equal(first, wanted)


@pytest.mark.parametrize("kind", SCAN)
def test_scans(kind):
    np.testing.assert_array_equal(device.cumsum(cuda.to_device(X), policy=SCAN[kind]).copy_to_host(), np.cumsum(X))


def test_the_rest():
    several = device.ReducePolicy(threads=32, single_loads=1, least_loads=1, waves=64)
    assert device.sum(cuda.to_device(X), policy=several) == X.sum()
    rows = (X[:1536] / np.float32(9)).reshape(2, 768).astype(np.float32)
    parts = device.SoftmaxPolicy(words=8, most_threads=32, wide_threads=32, part_threads=32)
    found = device.softmax(cuda.to_device(rows), policy=parts).copy_to_host()
    np.testing.assert_allclose(found, np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True), rtol=1e-5)
    counts = device.bincount(cuda.to_device(X), 9)
    np.testing.assert_array_equal(counts.copy_to_host(), np.bincount(X, minlength=9))
    wk.synchronize()
