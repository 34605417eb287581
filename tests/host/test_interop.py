"""The frameworks' own arrays: fast readers on look-alikes everywhere, the real packages on a GPU."""

import numpy as np
import pytest
from numba import cuda

from tests.warp.matrix import NUMBERS
from warpkit import Refused, Stream, synchronize
from warpkit.host.arrays import as_argument, as_output
from warpkit.host.launch import launch
from warpkit.host.streams import enter
from warpkit.simt import machine
from warpkit.simt.specs import array_spec

from .interop_objects import Capsules, Interface, host_memory_is_device_0
from .test_arrays import R01, frozen, refusal

everywhere = pytest.mark.everywhere
host = pytest.fixture(autouse=True)(host_memory_is_device_0)


def same_as_interface(found, shown):
    """Check that a fast reader says what the interface says."""
    slow = as_argument(shown if isinstance(shown, Interface) else Interface(shown), "x")
    for what in ("spec", "pointer", "shape", "strides", "dtype", "size", "device"):
        assert getattr(found, what) == getattr(slow, what), what


# -- torch -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.bool_, *NUMBERS], ids=str)
def test_a_tensor_is_read(torch, dtype):
    array = np.zeros((2, 3), dtype)
    same_as_interface(as_argument(torch.Tensor(array), "x"), array)


@pytest.mark.parametrize("view", [name for name in R01 if "none" not in name])
def test_a_tensor_of_any_strides_is_read(torch, view):
    array = R01[view][0]
    slow = Interface(array, data=(array.ctypes.data, False))
    same_as_interface(as_argument(torch.Tensor(array), "x"), slow)


@everywhere
def test_a_parameter_is_a_tensor(torch):
    array = np.zeros(3, np.float32)
    found = as_argument(torch.Parameter(array, requires_grad=False), "x")
    assert found.spec is array_spec(np.float32, 1)
    assert found.framework.name == "torch"


@everywhere
def test_p09_an_empty_tensor_has_no_memory(torch):
    found = as_argument(torch.Tensor(np.zeros((0, 3))), "x")
    assert (found.pointer, found.size, found.spec.contiguous) == (0, 0, True)


@everywhere
@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"requires_grad": True}, "x.detach()"),
        ({"device": -1}, "x.cuda()"),
        ({"dtype": "bfloat16"}, "bfloat16"),
        ({"dtype": "float8_e4m3fn"}, "float"),  # a type of NumPy where ml_dtypes is imported
        ({"layout": "sparse_coo"}, "x.to_dense()"),
        ({"layout": "sparse_csr"}, "layout torch.sparse_csr"),
    ],
    ids=str,
)
def test_p19_a_tensor_that_no_kernel_takes_is_refused(torch, options, answer):
    for array in (np.zeros(4, np.float32), np.zeros((4, 4), np.float32).T):
        assert answer in refusal(torch.Tensor(array, **options))


@everywhere
@pytest.mark.parametrize("bit", ["conj", "neg"])
def test_a_lazily_conjugated_tensor_is_never_misread(torch, bit):
    real = [np.zeros(6, np.float32)[::2], np.zeros(1, np.float32)] if bit == "neg" else []  # no conjugate view is real
    for array in (np.zeros(3, np.complex64), *real):
        as_argument(torch.Tensor(array), "x")
        assert "resolve_conj()" in refusal(torch.Tensor(array, **{bit: True}))


@everywhere
def test_a_misaligned_tensor_is_refused(torch):
    array = np.zeros(17, np.uint8)[1:].view(np.float32)
    if array.ctypes.data % 4 == 0:
        array = np.zeros(18, np.uint8)[2:].view(np.float32)
    assert "misaligned" in refusal(torch.Tensor(array))


# -- CuPy --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.bool_, *NUMBERS, np.dtype([("a", "<f8"), ("b", "<i8")])], ids=str)
def test_a_cupy_array_is_read(cupy, dtype):
    for array in (np.zeros((2, 3), dtype), np.zeros((2, 6), dtype)[:, ::2], np.zeros((3, 2), dtype).T):
        same_as_interface(as_argument(cupy.ndarray(array), "x"), array)


@everywhere
def test_p09_an_empty_cupy_array_has_no_memory(cupy):
    assert as_argument(cupy.ndarray(np.zeros((3, 0))), "x").pointer == 0


@everywhere
def test_a_cupy_array_without_memory_is_refused(cupy):
    array = cupy.ndarray(np.zeros(3))
    array.data.ptr = 0
    assert "pointer is null" in refusal(array)


@everywhere
def test_an_array_knows_its_device(cupy, torch):
    assert as_argument(cupy.ndarray(np.zeros(3), device=1), "x").device == 1
    assert as_argument(torch.Tensor(np.zeros(3), device=2), "x").device == 2


# -- DLPack ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.bool_, *NUMBERS], ids=str)
def test_p19_dlpack_is_read(dtype):
    for array in (np.zeros((2, 3), dtype), np.zeros((4, 6), dtype)[::2, ::-3]):
        made = Capsules(array)
        same_as_interface(as_argument(made, "x"), array)
        assert made.streams == [1], "the producer orders its work before the legacy default stream's"


@everywhere
def test_dlpack_says_read_only():
    assert as_argument(Capsules(frozen(np.zeros(3))), "x").readonly


@everywhere
def test_dlpack_is_on_its_device_and_after_the_legacy_stream():
    found = as_argument(Capsules(np.zeros(3), (13, 4)), "x")
    assert (found.device, found.stream) == (4, 0)


@everywhere
@pytest.mark.parametrize(
    ("place", "answer"), [((1, 0), "host memory"), ((3, 0), "host memory"), ((10, 0), "kind 10")], ids=str
)
def test_dlpack_of_another_device_is_refused(place, answer):
    assert answer in refusal(Capsules(np.zeros(3), place))


@everywhere
def test_dlpack_that_fails_is_quoted():
    class Fails(Capsules):
        def __dlpack__(self, **options):
            raise BufferError("sharded over two devices.")

    assert "sharded over two devices." in refusal(Fails(np.zeros(3)))


@everywhere
def test_a_jax_array_is_read_only():
    class ArrayImpl(Capsules):
        pass

    ArrayImpl.__module__ = "jaxlib._jax"
    assert as_argument(ArrayImpl(np.zeros(3)), "x").readonly
    assert "read-only" in refusal(ArrayImpl(np.zeros(3)), read=as_output)


# -- through a kernel --------------------------------------------------------------------------------------------------


@cuda.jit
def number_rows(out, x):
    """out[i, j] = x[i, j] + 1."""
    i = cuda.grid(1)
    if i < out.shape[0]:
        for j in range(out.shape[1]):
            out[i, j] = x[i, j] + 1


def on_device(array):
    """Return (an object with the interface over a device copy of the *whole* memory of a view, how to read it back)."""
    whole = array
    while whole.base is not None:
        whole = whole.base
    copy = cuda.to_device(whole)
    found = as_argument(copy, "whole")
    offset = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    made = Interface(array, data=(found.pointer + offset, False), strides=array.strides)
    made.copy = copy
    return made, copy.copy_to_host


STRIDED = {
    "plain": lambda whole: whole,
    "transposed": lambda whole: whole.T,
    "reversed": lambda whole: whole[::-1, ::-1],
    "columns": lambda whole: whole[:, :2],
    "every other": lambda whole: whole[::2, ::3],
}


@pytest.mark.parametrize("view", STRIDED.values(), ids=STRIDED.keys())
def test_r01_a_kernel_reads_what_the_strides_say(view):
    x = view(np.arange(48, dtype=np.float32).reshape(6, 8))
    given, _ = on_device(x)
    out = cuda.to_device(np.zeros(x.shape, np.float32))
    launch(number_rows, 1, 32, out, given)
    assert (out.copy_to_host() == x + 1).all()


@pytest.mark.parametrize("view", STRIDED.values(), ids=STRIDED.keys())
def test_r02_a_kernel_writes_where_the_strides_say(view):
    whole = np.full((6, 8), -1, np.float32)
    out = view(whole)
    x = np.arange(out.size, dtype=np.float32).reshape(out.shape)
    given, read_back = on_device(out)
    launch(number_rows, 1, 32, given, cuda.to_device(x))
    out[...] = x + 1
    assert (read_back() == whole).all(), "and nowhere else"


def test_r03_a_kernel_reads_one_element_for_all():
    one = cuda.to_device(np.full(1, 3, np.float32))
    memory = as_argument(one, "one").pointer, False
    broadcast = Interface(np.zeros(1, np.float32), data=memory, shape=(5, 2), strides=(0, 0))
    out = cuda.to_device(np.zeros((5, 2), np.float32))
    launch(number_rows, 1, 32, out, broadcast)
    assert (out.copy_to_host() == 4).all()


@cuda.jit
def take_all(out, number, pair, record):
    """Write what numbers, a tuple with an array in it and a record hold."""
    out[0], out[1], out[2], out[3] = number, pair[0], pair[1][2], record["b"]


def test_numbers_tuples_and_records_reach_a_kernel():
    out = cuda.to_device(np.zeros(4))
    record = np.array([(1, 4.5)], np.dtype([("a", "<i4"), ("b", "<f8")], align=True))[0]
    launch(take_all, 1, 1, out, np.float32(1.5), (2, cuda.to_device(np.full(3, 3.0))), record)
    assert out.copy_to_host().tolist() == [1.5, 2, 3, 4.5]


# -- the real packages -------------------------------------------------------------------------------------------------


def real(name):
    return pytest.importorskip(name)


def said_by(array, **otherwise):
    """Return an object that says of itself what an array's interface says, and what a test wants said instead."""
    return Interface(np.zeros(1), **{"descr": None, **array.__cuda_array_interface__, **otherwise})


MAKERS = {
    "cupy": lambda array: real("cupy").asarray(array),
    "torch": lambda array: real("torch").from_numpy(array.copy()).cuda(),
    "numba": cuda.to_device,
}


@pytest.mark.gpu
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("dtype", [np.bool_, *NUMBERS], ids=str)
def test_a_real_array_is_read_as_its_interface_says(name, dtype):
    array = MAKERS[name](np.zeros((4, 6), dtype))
    views = [array] if name == "numba" else [array, array.T, array[::2, 1:], array[:, :0]]
    for view in views:
        found = as_argument(view, "x")
        slow = as_argument(said_by(view, version=2), "x")
        for what in ("spec", "pointer", "shape", "strides", "dtype", "device"):
            if what != "pointer" or found.size:  # an interface says 0 for no items
                assert getattr(found, what) == getattr(slow, what), what


@pytest.mark.gpu
@pytest.mark.parametrize("name", MAKERS)
def test_r01_a_real_view_reaches_a_kernel(name):
    x = np.arange(48, dtype=np.float32).reshape(6, 8)
    view = MAKERS[name](x)[1::2, ::3]
    out = MAKERS[name](np.zeros((3, 3), np.float32))
    launch(number_rows, 1, 32, out, view)
    got = out.get() if name == "cupy" else out.cpu().numpy() if name == "torch" else out.copy_to_host()
    assert (got == x[1::2, ::3] + 1).all()


@pytest.mark.gpu
def test_p19_real_tensors_that_no_kernel_takes():
    torch = real("torch")
    assert "x.detach()" in refusal(torch.zeros(3, device="cuda", requires_grad=True))
    assert "x.cuda()" in refusal(torch.zeros(3))
    assert "bfloat16" in refusal(torch.zeros(3, device="cuda", dtype=torch.bfloat16))
    assert "resolve_conj()" in refusal(torch.zeros(3, device="cuda", dtype=torch.complex64).conj())
    assert "resolve_conj()" in refusal(torch.zeros(3, device="cuda", dtype=torch.complex64).conj().imag)
    assert "layout" in refusal(torch.zeros(3, device="cuda").to_sparse())
    assert as_argument(torch.nn.Parameter(torch.zeros(3, device="cuda"), requires_grad=False), "x").size == 3


@pytest.mark.gpu
def test_a_real_jax_array_reaches_a_kernel():
    jax = real("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU support")
    x = jax.numpy.arange(12, dtype="float32").reshape(3, 4)
    out = cuda.to_device(np.zeros((3, 4), np.float32))
    launch(number_rows, 1, 32, out, x)
    assert (out.copy_to_host() == np.asarray(x) + 1).all()


@pytest.mark.gpu
def test_p16_an_array_on_another_device_is_refused_by_name():
    if machine.device_count() < 2:
        pytest.skip("needs two GPUs")
    torch = real("torch")
    x = torch.zeros((3, 4), device="cuda:1")
    with pytest.raises(Refused, match="on device 1, and device 0 is current"):
        launch(number_rows, 1, 32, x, x)
    with cuda.gpus[1]:
        launch(number_rows, 1, 32, x, x.clone())
    assert (x == 1).all().item()


@pytest.mark.gpu
@pytest.mark.parametrize("own", [True, False])
def test_p20_results_know_the_stream_of_their_memory(own):
    stream = Stream() if own else Stream.wrap(0)
    array = machine.device_array((8,), np.float32, stream.handle)
    assert array.__cuda_array_interface__["stream"] == (stream.handle if own else None)
    for view in (array, array[2:], array.view(np.int32)):
        found = as_argument(view, "x")
        assert (found.stream, found.framework.name) == (stream.handle, "unknown")
    assert enter(stream, [as_argument(array, "x")]) == (stream.handle, ())
    assert len(enter(Stream(), [as_argument(array, "x")])[1]) == 1, "elsewhere it has to be held"


# -- streams of the real packages --------------------------------------------------------------------------------------

ITEMS = 1 << 20
MILLISECOND = 1_000_000


@cuda.jit
def copy_late(out, x, milliseconds):
    """Copy x to out after a while."""
    for _ in range(milliseconds):
        cuda.nanosleep(MILLISECOND)
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = x[i]


def late(out, x, milliseconds, stream=None):
    """Launch `copy_late`."""
    launch(copy_late, 8, 256, out, x, milliseconds, stream=stream)


def current_streams(name):
    """Return (the package, a block in which a new stream of it is current; it does not wait for the legacy one)."""
    package = real(name)
    if name == "torch":
        return package, package.cuda.stream(package.cuda.Stream())
    return package, package.cuda.Stream(non_blocking=True)


def new(name, package, value):
    """Return a new array of that package, of `ITEMS` floats."""
    if name == "torch":
        return package.full((ITEMS,), value, device="cuda", dtype=package.float32)
    return package.full(ITEMS, value, dtype="f4")


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_p32_without_a_stream_work_goes_to_the_current_one(name):
    package, current = current_streams(name)
    with current:
        x, between, out = (new(name, package, value) for value in (3, 0, 0))
        late(between, x, 20)
        between += 1  # of the package, on its stream
        late(out, between, 0)
        assert float(out.sum()) == 4 * ITEMS


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_p17_work_on_another_stream_comes_after_the_frameworks(name):
    package, current = current_streams(name)
    side = Stream()
    out = cuda.to_device(np.zeros(ITEMS, np.float32))
    synchronize()
    with current:
        x, between = new(name, package, 3), new(name, package, 0)
        late(between, x, 20)
        late(out, between, 0, stream=side)
    side.synchronize()
    assert (out.copy_to_host() == 3).all()


@pytest.mark.gpu
@pytest.mark.parametrize("named", [True, False])
def test_p17_work_comes_after_the_stream_that_an_interface_names(named):
    producer, side = Stream(), Stream()
    x, between, out = (cuda.to_device(np.full(ITEMS, value, np.float32)) for value in (3, 0, 0))
    synchronize()  # an upload may return before it is done, and no stream here waits for the legacy one
    late(between, x, 50, stream=producer)
    late(out, said_by(between, stream=producer.handle if named else None), 0, stream=side)
    side.synchronize()
    assert (out.copy_to_host() == (3 if named else 0)).all(), "and no stream asks for no order"
    producer.synchronize()


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_p20_memory_dropped_after_a_launch_is_not_used_again_too_early(name):
    package = real(name)
    side = Stream()
    out = cuda.to_device(np.zeros(ITEMS, np.float32))
    synchronize()
    for turn in range(100):
        x = new(name, package, turn)
        late(out, x, 2, stream=side)
        del x
        again = new(name, package, -1)  # of the same size, at once: the pool would hand out the same memory
        side.synchronize()
        assert (out.copy_to_host()[:: ITEMS // 64] == turn).all()
        del again


@pytest.mark.gpu
def test_a_tensor_is_captured_with_torch():
    torch = real("torch")
    x, out = torch.arange(ITEMS, device="cuda", dtype=torch.float32), torch.zeros(ITEMS, device="cuda")
    late(out, x, 0)
    elsewhere = said_by(x, version=3, stream=Stream().handle)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        late(out, x, 0)
        with pytest.raises(Refused, match="being captured"):
            late(out, elsewhere, 0)
    for turn in range(3):
        x += 1
        graph.replay()
        assert torch.equal(out, x), turn


@pytest.mark.gpu
def test_p28_holding_memory_elsewhere_spoils_no_capture():
    torch = real("torch")
    x, out = torch.ones(ITEMS, device="cuda"), torch.zeros(ITEMS, device="cuda")
    side, other = Stream(), cuda.to_device(np.zeros(ITEMS, np.float32))
    source = cuda.to_device(np.ones(ITEMS, np.float32))
    made = said_by(source)
    synchronize()
    late(out, x, 0)
    late(other, made, 0, stream=side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="global"):
        late(out, x, 0)
        late(other, made, 1, stream=side)  # not captured; its memory is held, and asked about
        late(other, made, 0, stream=side)
    graph.replay()
    side.synchronize()
    assert torch.equal(out, x)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_our_stream_is_a_stream_of_theirs(name):
    package, stream = real(name), Stream()
    if name == "torch":
        theirs = package.cuda.ExternalStream(stream.handle)
        current = package.cuda.stream(theirs)
    else:
        make = getattr(package.cuda.Stream, "from_external", None)
        theirs = current = make(stream) if make else package.cuda.ExternalStream(stream.handle)
    assert Stream.wrap(theirs) == stream
    with current:
        x, out = new(name, package, 2), new(name, package, 0)
        late(out, x, 5)
        assert float((out + 1).sum()) == 3 * ITEMS
