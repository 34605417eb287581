"""Readers of the arrays of numba, torch, CuPy and JAX, by their own attributes: no interface's dictionary is built.

None of these packages is imported here: the first array of a type brings its module along. A reader is a function of
(array, parameter's name) that returns an `Argument` or refuses in one sentence; the expensive questions are asked only
after the cheap ones found something amiss.
"""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..simt import machine
from .arrays_interface import LEGACY, read_by_dlpack
from .arrays_layout import (
    UNKNOWN,
    Argument,
    Framework,
    Layout,
    Name,
    check_address,
    layout_of,
    refuse,
    remember,
)

Reader = Callable[[Any, Name], Argument]
# What is read quickly: layout, address, device, framework (None where neither order nor memory needs a thought).
# None: there is more to ask, or to refuse.
Quick = tuple[Layout, int, int, Framework | None] | None
_new = tuple.__new__  # half the time of calling the class of a named tuple


class Readers(NamedTuple):
    """How a type of arrays is read: into an argument, or quickly, for the little that a repeated launch needs."""

    read: Reader
    quick: Callable[[Any], Quick]


class DefaultStream(Framework):
    """Who gave memory in the order of the default stream, and takes it back so: as this library's pool does."""

    name = "the default stream"

    def current_stream(self, device: int) -> int | None:
        """Return the default stream."""
        return 0


DEFAULT_STREAM = DefaultStream()


def read_numba(array: Any, name: Name) -> Argument:
    """Read a numba device array; it carries what was read, as long as its stream is the same."""
    try:
        found, stream, _ = array._warpkit_argument
        if stream is array.stream:
            return found
    except AttributeError:
        pass
    pointer, shape, strides, dtype, stream, device, memory, foreign = machine.read_device_array(array)
    layout = layout_of(dtype, shape, strides, False, name)
    check_address(pointer, layout, name)
    framework = UNKNOWN if foreign or stream is not None else None  # numba's own release waits for work in flight
    payload = layout.pack(pointer, memory)
    stream = 0 if stream == LEGACY else stream
    found = Argument(layout.spec, payload, pointer, layout, device, stream, framework, memory)
    if memory is not array and payload is not array:  # else the array would hold itself
        home = DEFAULT_STREAM if stream == 0 and not foreign else framework
        quick = (layout, pointer, device, home) if home is not UNKNOWN else None
        array._warpkit_argument = found, array.stream, quick
    return found


def quick_numba(array: Any) -> Quick:
    """Read a numba device array that was read before."""
    try:
        _, stream, quick = array._warpkit_argument
        return quick if stream is array.stream else None
    except AttributeError:
        return None


NUMBA = Readers(read_numba, quick_numba)


NEGATED, CONJUGATED = 1, 2  # what torch may have left to be done to the elements


class Torch(Framework):
    """torch: the caching allocator reuses memory in the order of the stream that it was allocated on."""

    name = "torch"

    def __init__(self, torch: ModuleType) -> None:
        self._raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def current_stream(self, device: int) -> int | None:
        """Return torch's current stream of that device."""
        return self._raw(device) if self._raw is not None else None


@functools.cache
def torch_readers(torch: ModuleType) -> Readers:
    """Return the readers of torch tensors."""
    framework = Torch(torch)
    table: dict[Any, tuple[Layout, int]] = {}

    def quick(tensor: Any) -> Quick:
        try:
            if tensor.is_contiguous():
                key: Any = (tensor.dtype, tensor.shape)
            else:
                key = (tensor.dtype, tensor.shape, tensor.stride())
            pointer, device = tensor.data_ptr(), tensor.get_device()
            layout, lazy = table[key]
        except (KeyError, RuntimeError):
            return None
        if device < 0 or not pointer or pointer & layout.misaligned or tensor.requires_grad:
            return None
        if lazy and (tensor.is_neg() or (lazy == CONJUGATED and tensor.is_conj())):
            return None
        return layout, pointer, device, framework

    def read(tensor: Any, name: Name) -> Argument:
        found = quick(tensor)
        if found is None:
            try:
                key: Any = (tensor.dtype, tensor.shape)
                if not tensor.is_contiguous():
                    key = (*key, tensor.stride())
                pointer, device = tensor.data_ptr(), tensor.get_device()
            except RuntimeError as error:
                _refuse_layout(tensor, name, error)
            layout, _ = table.get(key) or remember(table, key, _torch_layout(tensor, key, name))
            _check_tensor(tensor, layout, name)
        else:
            layout, pointer, device, _ = found
        payload = layout.pack(pointer, tensor)
        return _new(Argument, (layout.spec, payload, pointer, layout, device, None, framework, tensor))

    return Readers(read, quick)


def _refuse_layout(tensor: Any, name: Name, error: RuntimeError) -> NoReturn:
    """Refuse a tensor that has no memory of its own, or more than one."""
    if str(tensor.layout) != "torch.strided":
        refuse(name, f"is a tensor of layout {tensor.layout}: pass its values, or x.to_dense().")
    refuse(name, f"is a {type(tensor).__name__} that shows no memory: {str(error).partition(chr(10))[0].rstrip('.')}.")


def _torch_layout(tensor: Any, key: Any, name: Name) -> tuple[Layout, int]:
    """Return the layout for (dtype, shape[, strides]), and what may be left to be done, to be asked for every time.

    Signs may: in a complex tensor, and in a view of every other component of one.
    """
    kind = str(key[0]).rpartition(".")[2]
    try:
        dtype = np.dtype(kind)
    except TypeError:
        refuse(
            name,
            f"is a tensor of {kind}, which kernels here do not take: convert it with x.float(), or view its bits with "
            f"x.view(torch.{'uint16' if tensor.element_size() == 2 else 'uint8'}).",
        )
    strides = tuple(step * dtype.itemsize for step in key[2]) if len(key) == 3 else None
    layout = layout_of(dtype, tuple(key[1]), strides, False, name)
    if dtype.kind == "c":
        return layout, CONJUGATED
    return layout, NEGATED if strides is not None or layout.size < 2 else 0


def _check_tensor(tensor: Any, layout: Layout, name: Name) -> None:
    """Refuse a tensor that is not on a GPU, needs gradients, is not what its memory says, or has a bad address."""
    if tensor.get_device() < 0 or not tensor.is_cuda:
        refuse(name, f"is a tensor on {tensor.device}: move it to the GPU first, with x.cuda().")
    if tensor.requires_grad:
        refuse(name, "is a tensor that requires grad, which no kernel here records: pass x.detach().")
    if tensor.is_conj() or tensor.is_neg():
        refuse(name, "is a lazily conjugated or negated tensor: pass x.resolve_conj().resolve_neg().")
    check_address(tensor.data_ptr(), layout, name)


class CuPy(Framework):
    """CuPy: the memory pool reuses memory in the order of the stream that it was allocated on."""

    name = "CuPy"

    def __init__(self, cupy: ModuleType) -> None:
        self._current = cupy.cuda.get_current_stream

    def current_stream(self, device: int) -> int | None:
        """Return CuPy's current stream of that device."""
        handle: int = self._current(device).ptr
        return 0 if handle == LEGACY else handle


@functools.cache
def cupy_readers(cupy: ModuleType) -> Readers:
    """Return the readers of CuPy arrays."""
    framework = CuPy(cupy)
    table: dict[Any, Layout] = {}

    def quick(array: Any) -> Quick:
        memory = array.data
        if array._c_contiguous:
            key: Any = (array.dtype, array.shape)
        else:
            key = array.dtype, array.shape, array.strides
        layout, pointer = table.get(key), memory.ptr
        if layout is None or pointer & layout.misaligned or not pointer:
            return None
        return layout, pointer, memory.device_id, framework

    def read(array: Any, name: Name) -> Argument:
        found = quick(array)
        if found is None:
            memory, strides = array.data, array.strides
            key: Any = (array.dtype, array.shape) if array._c_contiguous else (array.dtype, array.shape, strides)
            layout = table.get(key) or remember(table, key, layout_of(array.dtype, array.shape, strides, False, name))
            pointer, device = memory.ptr, memory.device_id
            check_address(pointer, layout, name)
        else:
            layout, pointer, device, _ = found
        payload = layout.pack(pointer, array)
        return _new(Argument, (layout.spec, payload, pointer, layout, device, None, framework, array))

    return Readers(read, quick)


def read_jax(array: Any, name: Name) -> Argument:
    """Read a JAX array through DLPack, which waits for the computation that makes it; it is read-only."""
    return read_by_dlpack(array, name, readonly=True)
