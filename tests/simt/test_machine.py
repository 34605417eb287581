"""The host face of the waist: arrays, launches, what is below; and how device functions become known."""

import numpy as np
import pytest
from numba import cuda

from tests.simt.waist import kernel
from tests.warp.matrix import SIMULATOR
from warpkit.errors import OutsideKernel, Refused
from warpkit.simt import lanes, machine
from warpkit.simt.refusals import refuse


@kernel("int32", "int64")
def add_index(x, out):
    """Write x plus the place in the grid."""
    i = cuda.blockIdx.x * lanes.block_size() + lanes.thread_index()
    if i < out.size:
        out[i] = x[i] + i


@pytest.mark.parametrize("shape", [(), 1, 7, (3, 4), (2, 3, 5), 0])
@pytest.mark.parametrize("dtype", ["int8", "float16", "complex128", "bool", [("a", "i4"), ("b", "f8")]], ids=str)
def test_arrays_go_to_the_device_and_back_as_copies(shape, dtype):
    raw = np.random.default_rng(1).bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize)
    x = np.frombuffer(raw, np.uint8).copy() % 2
    x = x.view(dtype).reshape(shape)
    there = machine.to_device(x)
    before = x.copy()
    x[...] = np.zeros((), dtype)
    back = machine.to_host(there)
    assert back.dtype == before.dtype
    assert back.shape == before.shape
    assert back.tobytes() == before.tobytes()


def test_strided_arrays_and_lists_are_copied_too():
    x = np.arange(24).reshape(4, 6)
    for view in (x[::2, ::-1], x.T):
        assert (machine.to_host(machine.to_device(view)) == view).all()
    assert machine.to_host(machine.to_device([1, 2, 3])).tolist() == [1, 2, 3]


def test_empty_has_shape_and_dtype():
    for shape, dtype in ((5, np.float32), ((2, 3), "int16")):
        array = machine.empty(shape, dtype)
        assert array.dtype == np.dtype(dtype)
        assert machine.to_host(array).shape == (shape if isinstance(shape, tuple) else (shape,))


@pytest.mark.parametrize(("grid", "block"), [(3, 32), ((3,), (32,)), ((3, 1, 1), (32, 1)), (3, (16, 2))], ids=str)
def test_a_launch_takes_one_to_three_dimensions(grid, block):
    x, out = machine.to_device(np.arange(90, dtype=np.int32)), machine.empty(90, np.int64)
    machine.launch(add_index, grid, block, x, out)
    machine.synchronize()
    assert (machine.to_host(out) == 2 * np.arange(90)).all()


@pytest.mark.parametrize("grid", [0, (0,), (4, 0), (3, 3, 0)], ids=str)
def test_an_empty_grid_launches_nothing(grid):
    out = np.full(4, -1, np.int64)
    machine.launch(add_index, grid, 32, np.zeros(4, np.int32), out)
    assert (out == -1).all()


def test_compiling_a_kernel_launches_nothing():
    x, out = machine.to_device(np.ones(8, np.int32)), machine.to_device(np.full(8, -1))
    run = cuda.jit(add_index.py_func if hasattr(add_index, "py_func") else add_index.fn)
    assert machine.compile_kernel(run, x, out) is run
    assert (machine.to_host(out) == -1).all()
    machine.launch(run, 1, 8, x, out)
    assert (machine.to_host(out) == np.arange(8) + 1).all()
    assert SIMULATOR or len(run.overloads) == 1


def test_what_is_below():
    below = machine.describe()
    assert below["machine"] == ("simulator" if SIMULATOR else "gpu")
    assert below["name"]
    if not SIMULATOR:
        assert below["compute_capability"] >= (7, 0)
        assert below["multiprocessors"] >= 1


# ------------------------------------------------------------------ device functions


def only_integers(value, times):
    """Refuse anything but integers."""
    if not value.is_integer:
        refuse(f"scaled: needs an integer, not {value.name}.")


@machine.device_function(only_integers)
def scaled(value, times=3):
    """A function of a library."""
    return value * times + lanes.lane_id()


@kernel("int32", "int64")
def scale(x, out):
    """Positional, by name, by default."""
    i = cuda.threadIdx.x
    out[i] = scaled(x[i]) + 100 * scaled(x[i], 5) + 10000 * scaled(x[i], times=x[i])


def test_a_device_function_is_plain_python_with_a_check():
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int64)
    scale[1, 32](x, out)
    lane = np.arange(32)
    assert (out == (3 * x + lane) + 100 * (5 * x + lane) + 10000 * (x.astype(np.int64) ** 2 + lane)).all()


@cuda.jit
def scale_floats(x, out):
    """The check speaks of the user's line."""
    out[0] = scaled(x[0])  # refused here


def test_the_check_refuses_in_one_line():
    with pytest.raises(Refused) as caught:
        scale_floats[1, 1](np.ones(1, np.float32), np.ones(1, np.float32))
    message = str(caught.value)
    assert message.startswith("scaled: needs an integer, not float32. (")
    assert "test_machine.py:" in message
    assert "\n" not in message


@pytest.mark.simulator
def test_a_question_about_a_thread_needs_one():
    for function in (lanes.lane_id, lanes.thread_index, lanes.active_mask):
        with pytest.raises(OutsideKernel):
            function()
