"""The machine face: kernels, memory, streams, events and graphs by their handles, the same on both machines."""

import threading

import numpy as np
import pytest
from numba import cuda

from tests.room import no_room
from warpkit.errors import Refused
from warpkit.simt import machine
from warpkit.simt.specs import Options, array_spec, c_strides, scalar_spec, tuple_spec
from warpkit.simt.steps import DOWNLOAD, ON_DEVICE, UPLOAD, CopyStep, FillStep, KernelStep

FLOAT = np.dtype(np.float32)


def scale(x, y, factor):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * factor


def address(array):
    """Return where a device array begins."""
    interface = array.__cuda_array_interface__ if hasattr(array, "__cuda_array_interface__") else None
    return interface["data"][0] if interface else array._ary.ctypes.data


def vector(array):
    """Return the payload of a one-dimensional array in C order."""
    return machine.array_payload(address(array), array.shape, None, np.dtype(array.dtype), array)


def uploaded(values):
    """Return a device array with a copy of `values`."""
    array = machine.device_array(values.shape, values.dtype, 0)
    values = np.ascontiguousarray(values)
    machine.copy_from_host(address(array), values.ctypes.data, values.nbytes, 0)
    machine.stream_synchronize(0)
    return array


def compiled(function, *specs, **options):
    """Compile and load a kernel."""
    return machine.load(machine.compile_image(function, specs, Options(**options)))


def scaling(**options):
    """Return the kernel `scale` for float32."""
    read, write = array_spec(FLOAT, 1, True, True), array_spec(FLOAT, 1)
    return compiled(scale, read, write, scalar_spec(FLOAT), **options)


@pytest.mark.parametrize("n", [0, 1, 31, 100, 1000])
def test_a_kernel_is_launched_and_bound(n):
    x, y = uploaded(np.arange(n, dtype=np.float32)), uploaded(np.zeros(n, np.float32))
    kernel = scaling()
    payloads = [vector(x), vector(y), machine.scalar_payload(scalar_spec(FLOAT), 3)]
    grid = (max(-(-n // 64), 1), 1, 1)

    kernel.launch(grid, (64, 1, 1), 0, 0, payloads)
    assert y.copy_to_host().tolist() == (3 * np.arange(n)).tolist()

    again = kernel.bind(grid, (64, 1, 1), 0, [vector(y), vector(x), payloads[2]])
    again(0)
    again(0)
    assert x.copy_to_host().tolist() == (9 * np.arange(n)).tolist()


SCALARS = [True, -3, 200, 7.5, 2.5 - 1j]
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_every_type_arrive(dtype):
    dtype = np.dtype(dtype)
    value = {"b": True, "i": -3, "u": 200, "f": 7.5, "c": 2.5 - 1j}[dtype.kind]

    def store(first, out, second):
        out[0] = first
        out[1] = second[1]

    pair = tuple_spec((scalar_spec("i4"), scalar_spec(dtype)))
    kernel = compiled(store, scalar_spec(dtype), array_spec(dtype, 1), pair)
    out = uploaded(np.zeros(2, dtype))
    parts = [machine.scalar_payload(scalar_spec("i4"), 5), machine.scalar_payload(scalar_spec(dtype), value)]
    kernel.launch((1, 1, 1), (1, 1, 1), 0, 0, [parts[1], vector(out), machine.tuple_payload(parts)])

    assert out.copy_to_host().tolist() == [value, value]


@pytest.mark.parametrize(
    ("part", "contiguous"),
    [
        (np.s_[:, :], True),
        (np.s_[::2, ::3], False),
        (np.s_[::-1, ::-1], False),
        (np.s_[1], True),
        (np.s_[:, 2], False),
    ],
)
def test_strides_are_read(part, contiguous):
    whole = np.arange(42, dtype=np.int64).reshape(6, 7)
    view, store = whole[part], uploaded(whole)
    offset = view.ctypes.data - whole.ctypes.data

    def two(x, out):
        out[0] = x[1, 2] if x.ndim == 2 else 0

    def one(x, out):
        out[0] = x[1]

    spec = array_spec(view.dtype, view.ndim, contiguous)
    kernel = compiled(two if view.ndim == 2 else one, spec, array_spec(np.int64, 1))
    out = uploaded(np.zeros(1, np.int64))
    x = machine.array_payload(
        address(store) + offset, view.shape, None if contiguous else view.strides, view.dtype, store
    )
    kernel.launch((1, 1, 1), (1, 1, 1), 0, 0, [x, vector(out)])

    assert out.copy_to_host()[0] == (view[1, 2] if view.ndim == 2 else view[1])


def test_c_order():
    for shape in [(), (5,), (2, 3, 4), (1, 7)]:
        assert c_strides(shape, 4) == np.empty(shape, np.float32).strides


def test_memory_is_allocated_copied_filled_and_released():
    stream = machine.stream_create()
    first, second = machine.allocate(400, stream), machine.allocate(400, stream)
    host, back = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)

    machine.copy_from_host(first, host.ctypes.data, 400, stream)
    machine.copy(second, first, 400, stream)
    machine.fill(second, 0xFF, 40, stream)
    machine.copy_to_host(back.ctypes.data, second, 400, stream)
    machine.stream_synchronize(stream)

    assert back.tolist() == [-1] * 10 + host[10:].tolist()
    assert first % 256 == second % 256 == 0
    for pointer in (first, second):
        machine.release(pointer, stream)
    assert machine.allocate(0, stream) == 0
    machine.release(0, stream)
    machine.stream_destroy(stream)


def test_memory_beyond_the_limit_is_refused_and_the_rest_goes_on():
    with no_room(), pytest.raises(MemoryError, match=r"allocation of 4096 bytes: \d+ of the 0 bytes"):
        machine.allocate(4096, 0)
    machine.release(machine.allocate(4096, 0), 0)


@pytest.mark.parametrize("array", [np.arange(3.0)[1:2][::-1], np.arange(6.0).reshape(2, 3)[:, ::-1], np.float64(7)])
def test_a_copy_of_any_strides_goes_to_the_device(array):
    there = machine.to_device(array)
    assert there.shape == np.shape(array)
    assert (there.copy_to_host() == array).all()


def test_a_device_array_frees_itself():
    for _ in range(100):
        array = machine.device_array((1 << 16,), np.uint8, 0)
        view = array[5:10]
        del array
        assert view.copy_to_host().size == 5


def test_events_order_and_time():
    stream, other = machine.stream_create(), machine.stream_create()
    first, second = machine.event_create(timing=True), machine.event_create(timing=True)
    assert machine.event_query(first)

    machine.event_record(first, stream)
    machine.event_wait(other, first)
    machine.event_record(second, other)
    machine.event_synchronize(second)

    assert machine.event_elapsed(first, second) >= 0
    assert machine.event_query(first)
    assert machine.event_query(second)
    assert machine.stream_query(stream)
    assert not machine.is_capturing(stream)
    assert machine.capture_id(stream) is None
    for event in (first, second):
        machine.event_destroy(event)
    for handle in (stream, other):
        machine.stream_destroy(handle)


def steps_of(kernel, up, first, second, down, factor):
    """Upload, scale, copy behind, fill the first three, download."""
    pays = [vector(first), vector(second), machine.scalar_payload(scalar_spec(FLOAT), factor)]
    return [
        CopyStep(address(first), up, 400, UPLOAD),
        KernelStep(kernel, (4, 1, 1), (32, 1, 1), 0, pays),
        CopyStep(address(first), address(second), 400, ON_DEVICE),
        FillStep(address(first), 0x40000000, 4, 3),
        CopyStep(down, address(first), 400, DOWNLOAD),
    ]


def as_array(pointer):
    """Return pinned memory as 100 floats."""
    return np.frombuffer((np.ctypeslib.ctypes.c_float * 100).from_address(pointer), np.float32)


def test_a_graph_repeats_a_list_of_steps_and_takes_changes():
    kernel = scaling()
    up, down, other = (machine.pinned(400) for _ in range(3))
    first, second = uploaded(np.zeros(100, np.float32)), uploaded(np.zeros(100, np.float32))
    as_array(up)[:] = np.arange(100)
    stream = machine.stream_create()
    steps = steps_of(kernel, up, first, second, down, 2)
    assert all(map(machine.fits_graph, steps))
    graph = machine.Graph(steps)

    for target, factor in [(down, 2), (down, 5), (other, 5), (other, 5)]:
        graph.launch(steps_of(kernel, up, first, second, target, factor), stream)
        machine.stream_synchronize(stream)
        assert as_array(target).tolist() == [2.0] * 3 + (factor * np.arange(3, 100)).tolist()

    as_array(down)[:] = 0
    for step in steps:
        machine.run(step, stream)
    machine.stream_synchronize(stream)
    assert as_array(down).tolist() == [2.0] * 3 + (2 * np.arange(3, 100)).tolist()
    for pointer in (up, down, other):
        machine.unpin(pointer)
    machine.stream_destroy(stream)


@pytest.mark.parametrize(
    ("grid", "block", "said"),
    [
        ((1, 1, 1), (2048, 1, 1), "at most 1024 threads, not 2048"),
        ((1, 70000, 1), (32, 1, 1), "70000"),
    ],
)
def test_a_launch_that_cannot_be_is_refused(grid, block, said):
    x = uploaded(np.ones(4, np.float32))
    payloads = [vector(x), vector(x), machine.scalar_payload(scalar_spec(FLOAT), 3)]
    with pytest.raises(ValueError, match=said):
        scaling().launch(grid, block, 0, 0, payloads)


@pytest.mark.gpu
def test_too_much_shared_memory_is_refused_and_much_is_granted():
    x, y = uploaded(np.ones(4, np.float32)), uploaded(np.zeros(4, np.float32))
    payloads = [vector(x), vector(y), machine.scalar_payload(scalar_spec(FLOAT), 3)]
    kernel = scaling()
    with pytest.raises(ValueError, match="bytes of shared memory on this GPU, not 999999"):
        kernel.launch((1, 1, 1), (32, 1, 1), 999999, 0, payloads)

    kernel.launch((1, 1, 1), (32, 1, 1), 100_000, 0, payloads)

    assert y.copy_to_host().tolist() == [3] * 4


def test_a_thread_of_its_own_launches():
    x, y = uploaded(np.ones(40, np.float32)), uploaded(np.zeros(40, np.float32))
    payloads = [vector(x), vector(y), machine.scalar_payload(scalar_spec(FLOAT), 3)]
    kernel, failed = scaling(), []

    def work():
        try:
            for _ in range(20):
                kernel.launch((2, 1, 1), (32, 1, 1), 0, 0, payloads)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert y.copy_to_host().tolist() == [3] * 40


def test_users_kernels_are_known_by_their_options():
    assert machine.decorated(scale) == (scale, Options())
    assert machine.decorated(cuda.jit(scale)) == (scale, Options())
    assert machine.decorated(cuda.jit(debug=False)(scale))[0] is scale
    with pytest.raises(Refused, match="scale is a device function"):
        machine.decorated(cuda.jit(device=True)(scale))


@pytest.mark.gpu
def test_options_of_a_kernel_are_kept():
    limited = cuda.jit(max_registers=32, fastmath=True, launch_bounds=(128, 2), lineinfo=True)(scale)

    assert machine.decorated(limited)[1] == Options((128, 2), 32, True, False, True)
    assert machine.decorated(cuda.jit(debug=True, opt=False)(scale))[1] is None


def test_what_the_device_is():
    found = machine.properties()

    assert found.multiprocessors >= 1
    assert found.max_threads_per_block == 1024
    assert machine.device_of(address(uploaded(np.zeros(3, np.int8)))) == machine.current_device()
    assert machine.occupancy(scaling(), 128) >= 1
    most = machine.properties().shared_per_block - 2048
    assert 1 <= machine.occupancy(scaling(), 128, most) <= machine.occupancy(scaling(), 128)
