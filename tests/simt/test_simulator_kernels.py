"""Users' unchanged kernels: how they launch, where their helpers live, what happens when they raise."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from numba import cuda, float32, int8, uint32

from warpkit.errors import OutsideKernel
from warpkit.simt import simulator

from . import simulator_helpers as helpers


@cuda.jit
def fill(out):
    out[cuda.grid(1)] = cuda.grid(1)


def test_helpers_in_another_module_find_the_running_thread_under_any_name_and_without_decorator():
    @cuda.jit
    def kernel(out):
        i = helpers.position()
        out[i, 0] = i
        out[i, 1] = helpers.undecorated_position()
        out[i, 2] = helpers.neighbour(i)

    out = np.zeros((128, 3), np.int64)
    kernel[2, 64](out)
    i = np.arange(128)
    assert (out == np.stack([i, i, i ^ 1], axis=1)).all()


def test_names_imported_one_by_one_work():
    script = """
from warpkit.simt import simulator
from numba.cuda import jit, threadIdx, blockIdx, blockDim, grid, shfl_down_sync, atomic, shared, syncthreads
import numpy as np
@jit
def kernel(out):
    i = threadIdx.x + blockIdx.x * blockDim.x
    atomic.add(out, 32, 1)
    out[i] = shfl_down_sync(0xFFFFFFFF, grid(1), 1)
out = np.zeros(33, np.int64)
kernel[1, 32](out)
assert out.tolist() == [*range(1, 32), 31, 32], out
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=pathlib.Path.cwd())


DECORATED = """
import numpy as np
@cuda.jit
def kernel(out):
    out[cuda.laneid] = cuda.shfl_sync(0xFFFFFFFF, cuda.laneid, 31 - cuda.laneid)
out = np.zeros(32, np.int32)
"""
CHECK = "kernel[1, 32](out)\nassert (out == np.arange(32)[::-1]).all()\n"
NUMBA, WARPKIT = "from numba import cuda\n", "import warpkit.simt.simulator\n"


@pytest.mark.parametrize(
    "script", [NUMBA + DECORATED + WARPKIT + CHECK, WARPKIT + NUMBA + DECORATED + CHECK], ids=["after", "before"]
)
def test_import_order_does_not_matter(script):
    subprocess.run([sys.executable, "-c", script], check=True, cwd=pathlib.Path.cwd())


def test_importing_it_beside_a_real_gpu_target_is_refused():
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_ENABLE_CUDASIM"}
    script = "import warpkit.simt.simulator"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "needs NUMBA_ENABLE_CUDASIM=1" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("grid", [3, (2, 3), (2, 1, 2)], ids=str)
@pytest.mark.parametrize("block", [64, (8, 8), (4, 4, 4), (3, 5, 2), (1, 64)], ids=str)
def test_threads_are_numbered_x_first_in_every_shape(grid, block):
    @cuda.jit
    def kernel(lanes, places, sizes):
        t, b, d, g = cuda.threadIdx, cuda.blockIdx, cuda.blockDim, cuda.gridDim
        index = t.x + d.x * (t.y + d.y * t.z)
        number = b.x + g.x * (b.y + g.y * b.z)
        lanes[number, index] = cuda.laneid
        x, y, z = cuda.grid(3)
        places[z, y, x] += 1
        sizes[0], sizes[1], sizes[2] = cuda.gridsize(3)

    whole_grid, whole_block = ((*np.atleast_1d(s), 1, 1)[:3] for s in (grid, block))
    extents = [int(a * b) for a, b in zip(whole_grid, whole_block, strict=True)]
    lanes = np.full((np.prod(whole_grid), np.prod(whole_block)), -1)
    places, sizes = np.zeros(extents[::-1], np.int32), np.zeros(3, np.int64)
    kernel[grid, block](lanes, places, sizes)
    assert (lanes == np.arange(lanes.shape[1]) % 32).all()
    assert (places == 1).all()
    assert sizes.tolist() == extents


def test_a_configured_kernel_keeps_its_configuration():
    small, large = fill[1, 2], fill[2, 4]
    for launch, count in ((small, 2), (large, 8), (small, 2)):
        out = np.full(8, -1)
        launch(out)
        assert (out >= 0).sum() == count
    with pytest.raises(ValueError, match="at most 1024"):
        fill[1, 1025](np.zeros(1025))


def test_device_arrays_streams_forall_and_scalars_stay_as_they_were():
    @cuda.jit
    def scale(out, x, factor, flag, pair):
        i = cuda.grid(1)
        if i < out.size and flag:
            out[i] = x[i] * factor + pair[0][i] + pair[1]

    x, stream = cuda.to_device(np.arange(10, dtype=np.float32)), cuda.stream()
    out = cuda.device_array(10, np.float32)
    scale.forall(10)(out, x, np.float32(2), True, (x, 1))
    assert (out.copy_to_host() == np.arange(10) * 3 + 1).all()
    scale[1, 32, stream](out, x, 0, True, (x, 0))
    assert (out.copy_to_host() == np.arange(10)).all()


def test_a_kernel_used_as_a_device_function_runs_in_the_caller():
    @cuda.jit
    def outer(out):
        fill(out)

    out = np.zeros(8, np.int64)
    outer[1, 8](out)
    assert (out == np.arange(8)).all()


def test_a_device_function_takes_arguments_by_name_and_a_launch_does_not():
    @cuda.jit(device=True)
    def scaled(value, by=3):
        return value * by

    @cuda.jit
    def kernel(out):
        out[cuda.threadIdx.x] = scaled(cuda.threadIdx.x, by=2) + scaled(value=1)

    out = np.zeros(4, np.int64)
    kernel[1, 4](out)
    assert out.tolist() == [3, 5, 7, 9]
    with pytest.raises(TypeError, match="kernel: a launch takes its arguments by position"):
        kernel[1, 4](out=out)


def test_device_code_outside_a_kernel_says_so():
    uses = {
        "cuda.threadIdx": lambda: cuda.threadIdx.x,
        "cuda.grid": lambda: cuda.grid(1),
        "cuda.syncthreads": lambda: cuda.syncthreads(),
        "this": lambda: cuda.atomic.add(np.zeros(1), 0, 1),
        "thread": lambda: simulator.thread(),
    }
    for name, use in uses.items():
        with pytest.raises(OutsideKernel) as caught:
            use()
        assert str(caught.value) == f"{name} is a device function: call it inside a numba.cuda.jit kernel."
    assert not hasattr(cuda, "laneid")
    with pytest.raises(AttributeError):
        cuda.nonsense  # noqa: B018


@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_a_seed_gives_one_order_every_time(monkeypatch, seed):
    monkeypatch.setenv("WARPKIT_SIM_SEED", seed)
    orders = []

    @cuda.jit
    def kernel(tickets, counter):
        for step in range(2):
            tickets[step, cuda.grid(1)] = cuda.atomic.add(counter, 0, 1)
            cuda.syncthreads()

    for _ in range(2):
        tickets = np.zeros((2, 256), np.int64)
        kernel[4, 64](tickets, np.zeros(1, np.int64))
        assert sorted(tickets.ravel()) == list(range(512))
        orders.append(tickets)
    assert (orders[0] == orders[1]).all()
    assert (seed == "0") == (orders[0][0, :64] == np.arange(64)).all()


@pytest.mark.filterwarnings("ignore")  # Numba compiles these helpers in object mode and says so at length
def test_xoroshiro_of_numba_runs():
    from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

    @cuda.jit
    def kernel(states, out):
        out[cuda.grid(1)] = xoroshiro128p_uniform_float32(states, cuda.grid(1))

    out = np.zeros(64, np.float32)
    kernel[2, 32](create_xoroshiro128p_states(64, seed=1), out)
    assert len(set(out.tolist())) > 60
    assert ((out >= 0) & (out < 1)).all()


def test_numba_types_as_casts_and_cache_hints():
    @cuda.jit
    def kernel(x, out):
        out[0] = uint32(cuda.ldcg(x, 0) - 2)
        cuda.stcs(out, 1, int8(x[1] * 100))
        out[2] = float32(x[0]) / 3

    out = np.zeros(3)
    kernel[1, 1](np.array([1, 3], np.int32), out)
    assert out.tolist() == [2**32 - 1, 44, float(np.float32(1) / np.float32(3))]
