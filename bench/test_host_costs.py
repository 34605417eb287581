"""What calls cost the host, by pytest-benchmark: `pytest bench/test_host_costs.py` (extra bench).

The same calls as the suites launch and reduce-host, in the form that other projects' figures have: minimum, mean,
standard deviation, `--benchmark-compare`. The GPU's work is negligible. Needs a GPU; in the simulator every call is
made once, and its time means nothing.
"""

import numpy as np
import pytest
from numba import config, cuda

import warpkit as wk
from warpkit import device

from .launched import ARRAYS, BLOCK, GRID, ITEMS, add_up

CALLS, ROUNDS, WARM = (1, 1, 0) if config.ENABLE_CUDASIM else (1000, 7, 1)
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.benchmark(group="host"),
    pytest.mark.skipif(not cuda.is_available(), reason="needs a GPU or, to be tried without times, the simulator"),
]


@pytest.fixture(scope="module")
def five():
    """Return five small arrays."""
    return [cuda.to_device(np.zeros(ITEMS, np.float32)) for _ in range(ARRAYS)]


@pytest.fixture
def measure(benchmark):
    """Return a function that measures what a call costs the host."""

    def run(call):
        call()
        cuda.synchronize()
        benchmark.pedantic(call, iterations=CALLS, rounds=ROUNDS, warmup_rounds=WARM)
        cuda.synchronize()

    return run


def test_launch(measure, five):
    """One launch with five arrays."""
    measure(lambda: wk.launch(add_up, GRID, BLOCK, *five))


def test_prepared(measure, five):
    """The same, prepared."""
    measure(wk.prepare(add_up, GRID, BLOCK, *five))


def test_launch_by_numba(measure, five):
    """The same by Numba."""
    configured = add_up[GRID, BLOCK]
    measure(lambda: configured(*five))


def test_sum_with_out(measure, five):
    """A sum that stays on the device."""
    out = cuda.device_array(1, np.float32)
    measure(lambda: device.sum(five[0], out=out))


def test_sum(measure, five):
    """A sum that is waited for."""
    measure(lambda: device.sum(five[0]))


def test_parallel_for(measure, five):
    """A loop over three arrays."""

    def body(i, x, y, z):
        z[i] = x[i] + y[i]

    measure(lambda: wk.parallel_for(ITEMS, body, *five[:3]))


def test_command_list(measure, five):
    """Five launches recorded anew, committed and submitted."""
    stream = wk.Stream()
    call = wk.prepare(add_up, GRID, BLOCK, *five, stream=stream)

    def record_and_submit():
        commands = wk.CommandList()
        for _ in range(5):
            commands << call
        stream.submit(commands.commit())

    measure(record_and_submit)
