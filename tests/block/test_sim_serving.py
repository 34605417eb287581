"""Look-back in which one block serves: who begins late, who is alone, in which order it combines, on a busy GPU."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit.block import lookback_serve
from warpkit.errors import NoProgress
from warpkit.simt.simulator.launches import RESIDENT, Launch

from . import passes
from .passes import TILE, float_prefixes, values
from .schedules import explore

NAMES = ["4 bytes", "12 bytes", "24 bytes"]


@pytest.fixture
def went_alone(monkeypatch):
    """Return a list with what every first block did: whether it worked alone."""
    found, serve_rows = [], lookback_serve.serve_rows

    def noted(*args):
        served = serve_rows(*args)
        if cuda.threadIdx.x == 0:
            found.append(not served)
        return served

    monkeypatch.setattr(lookback_serve, "serve_rows", noted)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_only_block_is_alone(name, went_alone):
    passes.run(name, values(9 * TILE + 1), 1)
    assert went_alone == [True]


@pytest.mark.parametrize("name", NAMES)
def test_a_block_beside_others_serves(name, went_alone, monkeypatch):
    monkeypatch.setattr(lookback_serve, "PATIENCE", 1 << 30)
    passes.run(name, values(40 * TILE + 1), 4)  # more than a row of 32
    assert went_alone == [False]


@pytest.fixture
def late(monkeypatch, went_alone):
    """Let all blocks but the first begin when it has given up waiting for them; return whether there were any."""
    admit, order, joined = Launch.admit, Launch._order, []

    def joining(launch):
        if went_alone and not joined:
            joined.append(admit(launch, RESIDENT - 1))
        return order(launch)

    def one_at_first(launch, count):
        if joined:
            return admit(launch, count)
        return not launch.started and admit(launch, 1)

    monkeypatch.setattr(lookback_serve, "PATIENCE", 3)
    monkeypatch.setattr(Launch, "admit", one_at_first)
    monkeypatch.setattr(Launch, "_order", joining)
    return joined


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("grid", [2, 5])
def test_blocks_that_begin_when_the_first_one_works_alone(name, grid, late, went_alone):
    passes.run(name, values(12 * TILE + 1), grid)
    assert late == [True]
    assert went_alone == [True]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("patience", [1, 1 << 30], ids=["alone if it is early", "serves"])
def test_many_schedules(name, patience, monkeypatch):
    monkeypatch.setattr(lookback_serve, "PATIENCE", patience)
    states = wk.tile_states(6, passes.AGGREGATES[name][0])

    def run(seed):
        passes.run(name, values(1 + (seed * 131) % (6 * TILE), seed), 1 + seed % 4, states, stages=2 + seed % 3)

    explore(run, 6)


# ------------------------------------------------------------------ the order of floats


def rows_of_32(x):
    """Return what lies before every number, combined as the serving block does it."""
    before, run = np.zeros_like(x), None
    for row in range(0, len(x), 32):
        scan = x[row : row + 32].copy()
        for step in (1, 2, 4, 8, 16):
            scan[step:] = scan[:-step] + scan[step:]
        scan = scan if run is None else run + scan
        before[row + 1 : row + 33] = scan[: len(before) - row - 1]
        run = scan[-1]
    return before


def test_floats_are_combined_in_rows_whatever_the_grid_and_the_schedule(monkeypatch):
    monkeypatch.setattr(lookback_serve, "PATIENCE", 1 << 30)
    x = (np.random.default_rng(1).normal(size=75) * 10.0 ** np.arange(75) % 7).astype(np.float32)
    wanted = rows_of_32(x)
    assert (np.cumsum(x)[:-1] != wanted[1:]).any()  # an order of its own

    def run(seed):
        found = float_prefixes(x, 2 + seed % 4)
        assert (found[1:].view(np.uint32) == wanted[1:].view(np.uint32)).all()

    run(0)
    explore(run, 4)


# ------------------------------------------------------------------ a busy GPU


@pytest.fixture
def busy(monkeypatch):
    """Let no further block begin while those that run make no progress."""
    admit = Launch.admit
    monkeypatch.setattr(Launch, "admit", lambda launch, count: count <= RESIDENT and admit(launch, count))


def test_the_fixture_stops_what_waits_for_all_blocks(busy):
    @cuda.jit
    def meet(count, blocks):
        cuda.atomic.add(count, 0, 1)
        while count[0] < blocks:
            pass

    with pytest.raises(NoProgress):
        meet[RESIDENT + 1, 1](np.zeros(1, np.int32), RESIDENT + 1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("grid", [RESIDENT + 1, 3 * RESIDENT])
def test_more_blocks_than_run_at_once(name, grid, busy):
    passes.run(name, values(3 * RESIDENT * TILE + 5), grid)
