"""Readers of the arrays of numba, torch, CuPy and JAX, by their own attributes: no interface's dictionary is built.

None of these packages is imported here: the first array of a type brings its module along. A reader is a function of
(array, parameter's name) that returns an `Argument` or refuses in one sentence; the expensive questions are asked only
after the cheap ones found something amiss.
"""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

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
_new = tuple.__new__  # half the time of calling the class of a named tuple


def read_numba(array: Any, name: Name) -> Argument:
    """Read a numba device array; it carries what was read, as long as its stream is the same."""
    try:
        found, stream = array._warpkit_argument
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
        array._warpkit_argument = found, array.stream
    return found


class Torch(Framework):
    """torch: the caching allocator reuses memory in the order of the stream that it was allocated on."""

    name = "torch"

    def __init__(self, torch: ModuleType) -> None:
        self._raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def current_stream(self, device: int) -> int | None:
        """Return torch's current stream of that device."""
        return self._raw(device) if self._raw is not None else None


@functools.cache
def torch_reader(torch: ModuleType) -> Reader:
    """Return the reader of torch tensors."""
    framework = Torch(torch)
    table: dict[Any, tuple[Any, ...]] = {}

    def read(tensor: Any, name: Name) -> Argument:
        try:
            if tensor.is_contiguous():
                key: Any = (tensor.dtype, tensor.shape)
            else:
                key = (tensor.dtype, tensor.shape, tensor.stride())
            pointer, device = tensor.data_ptr(), tensor.get_device()
        except RuntimeError as error:
            _refuse_layout(tensor, name, error)
        found = table.get(key)
        if found is None:
            found = remember(table, key, _torch_layout(tensor, key, name))
        spec, pack, misaligned, lazy, layout = found
        if lazy or device < 0 or not pointer or pointer & misaligned or tensor.requires_grad:
            _check_tensor(tensor, layout, name)
        return _new(Argument, (spec, pack(pointer, tensor), pointer, layout, device, None, framework, tensor))

    return read


def _refuse_layout(tensor: Any, name: Name, error: RuntimeError) -> NoReturn:
    """Refuse a tensor that has no memory of its own, or more than one."""
    if str(tensor.layout) != "torch.strided":
        refuse(name, f"is a tensor of layout {tensor.layout}: pass its values, or x.to_dense().")
    refuse(name, f"is a {type(tensor).__name__} that shows no memory: {str(error).partition(chr(10))[0].rstrip('.')}.")


def _torch_layout(tensor: Any, key: Any, name: Name) -> tuple[Any, ...]:
    """Return what is read of the layout for (dtype, shape[, strides]), with whether there is more to ask every time.

    There is where signs may be left to be negated: in a complex tensor, and in a view of every other component of one.
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
    lazy = dtype.kind == "c" or strides is not None or layout.size < 2
    return layout.spec, layout.pack, layout.misaligned, lazy, layout


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
def cupy_reader(cupy: ModuleType) -> Reader:
    """Return the reader of CuPy arrays."""
    framework = CuPy(cupy)
    table: dict[Any, Layout] = {}

    def read(array: Any, name: Name) -> Argument:
        memory = array.data
        pointer = memory.ptr
        if array._c_contiguous:
            key: Any = (array.dtype, array.shape)
        else:
            key = array.dtype, array.shape, array.strides
        layout = table.get(key)
        if layout is None:
            layout = remember(table, key, layout_of(array.dtype, array.shape, array.strides, False, name))
        if pointer & layout.misaligned or not pointer:
            check_address(pointer, layout, name)
        payload = layout.pack(pointer, array)
        return _new(Argument, (layout.spec, payload, pointer, layout, memory.device_id, None, framework, array))

    return read


def read_jax(array: Any, name: Name) -> Argument:
    """Read a JAX array through DLPack, which waits for the computation that makes it; it is read-only."""
    return read_by_dlpack(array, name, readonly=True)
