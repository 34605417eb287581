"""Objects of other libraries, hand-made: what they show of themselves, over NumPy memory.

In the simulator a device pointer is a host address, so these are arrays there; elsewhere they can be read, not used.
"""

import sys
import types

import numpy as np

from warpkit.simt import machine

DLPACK_CUDA = (2, 0)


class Interface:
    """An object with `__cuda_array_interface__` over a NumPy array, and what a test wants said instead."""

    def __init__(self, array, **said):
        self.array = array
        shown = {key: array.__array_interface__[key] for key in ("shape", "typestr", "descr", "data", "strides")}
        shown["data"] = (array.__array_interface__["data"][0], not array.flags.writeable)
        self.__cuda_array_interface__ = {**shown, "version": 3, **said}


class Capsules:
    """An object with DLPack's methods over a NumPy array that says where it is."""

    def __init__(self, array, place=DLPACK_CUDA):
        self.array, self.place, self.streams = array, place, []

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, *, stream=None, max_version=None, **others):
        self.streams.append(stream)
        return self.array.__dlpack__(max_version=max_version)


def fake_torch():
    """Return a module that looks like torch as far as tensors and streams are read."""
    torch = types.ModuleType("torch")
    torch.current = {0: 0}
    torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: torch.current.get(device, 0))

    class Tensor:
        def __init__(self, array, device=0, requires_grad=False, dtype=None, conj=False, neg=False, layout="strided"):
            self.array, self._device, self.requires_grad = array, device, requires_grad
            self.dtype, self.layout = f"torch.{dtype or array.dtype.name}", f"torch.{layout}"
            self.shape, self.is_cuda, self.device = array.shape, device >= 0, "cuda" if device >= 0 else "cpu"
            self._conj, self._neg = conj, neg

        def data_ptr(self):
            return self.array.ctypes.data if self.array.size else 0

        def is_contiguous(self):
            if self.layout == "torch.sparse_csr":
                raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
            return self.layout == "torch.strided" and self.array.flags.c_contiguous

        def stride(self):
            if self.layout != "torch.strided":
                raise RuntimeError("sparse tensors do not have strides")
            return tuple(step // self.array.itemsize for step in self.array.strides)

        def element_size(self):
            return self.array.itemsize

        def get_device(self):
            return self._device

        def is_conj(self):
            return self._conj

        def is_neg(self):
            return self._neg

    class Parameter(Tensor):
        pass

    class Stream:
        cuda_stream = property(lambda self: self._handle)

        def __init__(self, handle):
            self._handle = handle

    Tensor.__module__, Parameter.__module__, Stream.__module__ = "torch", "torch.nn.parameter", "torch.cuda.streams"
    torch.Tensor, torch.Parameter, torch.Stream = Tensor, Parameter, Stream
    return torch


def fake_cupy():
    """Return a module that looks like CuPy as far as arrays and streams are read."""
    cupy = types.ModuleType("cupy")

    class Stream:
        def __init__(self, handle):
            self.ptr = handle

        def use(self):
            cupy.current = self

    class ndarray:
        def __init__(self, array, device=0):
            self.array, self.shape, self.strides, self.dtype = array, array.shape, array.strides, array.dtype
            pointer = array.ctypes.data if array.size else 0
            self.data = types.SimpleNamespace(ptr=pointer, device_id=device)
            self._c_contiguous = array.flags.c_contiguous

    Stream.__module__, ndarray.__module__ = "cupy.cuda.stream", "cupy"
    cupy.ndarray, cupy.Stream, cupy.current = ndarray, Stream, Stream(0)
    cupy.cuda = types.SimpleNamespace(get_current_stream=lambda device=-1: cupy.current)
    return cupy


def installed(monkeypatch, module):
    """Put a fake module where an import would have put the real one."""
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def host_memory_is_device_0(monkeypatch):
    """Let the driver not be asked whose memory it is, where there are several GPUs: an autouse fixture."""
    monkeypatch.setattr(machine, "device_of", lambda pointer: 0)


def spaced(shape, step=2, dtype=np.float32):
    """Return an array of 0, 1, 2, … whose elements have room between them along every axis."""
    whole = np.full([extent * step for extent in shape], -1, dtype)
    part = whole[tuple([slice(None, None, step)] * len(shape))]
    part[...] = np.arange(part.size, dtype=dtype).reshape(part.shape)
    return part
