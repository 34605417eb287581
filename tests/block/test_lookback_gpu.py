"""Look-back at its real size, under load, launch after launch and in replayed graphs. Needs a GPU."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.matrix import label
from warpkit.simt import machine

from . import tiles

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("dtype", [np.int32, np.float64, np.complex128], ids=label)
def test_many_more_tiles_than_resident_blocks(dtype):
    count = 1 << 20 if dtype is np.int32 else 1 << 18
    x = (np.arange(count) % 3).astype(dtype)
    states = wk.tile_states(count, dtype)
    for grid in (20_000, 264):
        assert (tiles.run(tiles.published_ahead(wk.add), states, x, grid, 32) == tiles.sums(x)).all()


@cuda.jit
def spin(until):
    """Keep every block busy for a while."""
    for _ in range(until):
        cuda.nanosleep(1000)


def test_while_another_kernel_fills_the_gpu():
    multiprocessors = machine.describe()["multiprocessors"]
    other, mine = cuda.stream(), cuda.stream()
    count = 100_000
    x, out = cuda.to_device(np.ones(count, np.int32)), cuda.device_array((count, 32), np.int32)
    init, states = cuda.to_device(np.zeros(1, np.int32)), wk.tile_states(count, np.int32)
    cuda.synchronize()
    spin[multiprocessors * 64, 1024, other](100)
    tiles.prefixes(wk.add)[4096, 32, mine](states, count, x, init, out)
    cuda.synchronize()
    assert (out.copy_to_host() == np.arange(count)[:, None]).all()


def test_a_thousand_launches_without_a_reset():
    count = 3000
    x, out = cuda.to_device(np.ones(count, np.int32)), cuda.device_array((count, 32), np.int32)
    init, states = cuda.to_device(np.zeros(1, np.int32)), wk.tile_states(count, np.int32)
    for launch in range(1000):
        used = count - launch
        if launch % 100 == 0:
            out.copy_to_device(np.full((count, 32), -1, np.int32))
        tiles.prefixes(wk.add)[500, 32](states, used, x, init, out)
        if launch % 50 == 0:
            assert (out.copy_to_host()[:used] == np.arange(used)[:, None]).all()


def test_in_a_replayed_graph():
    from cuda.bindings import driver

    count, stream = 5000, cuda.stream()
    x, out = cuda.to_device(np.ones(count, np.int32)), cuda.device_array((count, 32), np.int32)
    init, states = cuda.to_device(np.zeros(1, np.int32)), wk.tile_states(count, np.int32)
    launch = tiles.published_ahead(wk.add)[300, 32, stream]
    launch(states, count, x, init, out)  # compiled and loaded before the capture
    handle = driver.CUstream(int(stream))
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    checked(driver.cuStreamBeginCapture(handle, mode))
    for _ in range(3):
        launch(states, count, x, init, out)
    graph = checked(driver.cuStreamEndCapture(handle))
    ready = checked(driver.cuGraphInstantiate(graph, 0))
    for _ in range(20):
        out.copy_to_device(np.full((count, 32), -1, np.int32))
        cuda.synchronize()
        checked(driver.cuGraphLaunch(ready, handle))
        stream.synchronize()
        assert (out.copy_to_host() == np.arange(count)[:, None]).all()
    checked(driver.cuGraphExecDestroy(ready))
    checked(driver.cuGraphDestroy(graph))


def checked(answer):
    """Return what a driver call gives; it must have succeeded."""
    status, *results = answer
    assert status == 0, status
    return results[0] if results else None
