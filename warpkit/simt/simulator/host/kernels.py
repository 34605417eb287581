"""Launching simulated kernels through the calls that launch real ones."""

import itertools
from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

from ...constants import library_name
from ...specs import ArraySpec, Image, Options, ScalarSpec, Spec
from .memory import DEVICE, memory_at
from .streams import _known

Triple = tuple[int, int, int]


def compile_image(function: Any, specs: Sequence[Spec], options: Options) -> Image:
    """Return the function: the simulator runs it as it is, and reads captured arrays where they are."""
    return Image(function, function.__name__, DEVICE.compute_capability, options)


def as_device(function: Any) -> Any:
    """Return the device function of a plain Python function or lambda, and as it is what a kernel can call anyway."""
    if not isinstance(function, FunctionType) or library_name(function):
        return function
    found = function.__dict__.get("_warpkit_device")
    if found is None or found.fn is not function:  # functools.wraps copies the dictionary
        found = function.__dict__["_warpkit_device"] = cuda.jit(device=True)(function)
    return found


def toolchain() -> None:
    """Return nothing: what is compiled nowhere is kept nowhere."""


def shared_key(function: Any, key: Hashable) -> Hashable:
    """Return what functions must have in common to share a kernel: here it is the function itself that runs."""
    return function


class Kernel:
    """A kernel of the simulator."""

    registers, local_bytes, shared_bytes, max_threads = 32, 0, 0, DEVICE.max_threads_per_block

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def launch(self, grid: Triple, block: Triple, shared: int, stream: int, payloads: Sequence[Any]) -> None:
        """Run the whole grid."""
        _known(stream)
        if block[0] * block[1] * block[2] > self.max_threads:
            threads = block[0] * block[1] * block[2]
            raise ValueError(f"a block has at most {self.max_threads} threads, not {threads}.")
        for what, given, most in (("grid", grid, DEVICE.max_grid), ("block", block, DEVICE.max_block)):
            if any(extent > limit for extent, limit in zip(given, most)):
                raise ValueError(f"a {what} has at most {most} on its axes, not {tuple(given)}.")
        self._kernel[grid, block, stream, shared](*payloads)

    def bind(self, grid: Triple, block: Triple, shared: int, payloads: Sequence[Any]) -> Callable[[int], None]:
        """Return a function of the stream that launches with everything else decided."""
        return lambda stream: self.launch(grid, block, shared, stream, payloads)


def load(image: Image) -> Kernel:
    """Return the kernel of a function."""
    kernel = cuda.jit(debug=image.options.debug)(image.code)
    kernel.warpkit_launches = True  # and what it captures is what it would be on a GPU
    return Kernel(kernel)


def template(
    kernel: Kernel, specs: Sequence[Spec | None], packs: Sequence[Callable[[int, Any], Any] | Any]
) -> Callable[[Triple, Triple, int, int, Sequence[Any], Sequence[Any]], bool]:
    """Return a launch of `kernel` with other addresses, numbers and owners, which says whether it has launched.

    Spec None: an argument that never changes, with its payload in the place of `pack`; it has no value, and no owner.
    The last owners may be missing: None.
    """

    def launch(
        grid: Triple, block: Triple, shared: int, stream: int, values: Sequence[Any], owners: Sequence[Any]
    ) -> bool:
        try:
            given = itertools.zip_longest(values, owners)
            payloads = [
                pack if spec is None else _payload(spec, pack, *next(given)) for spec, pack in zip(specs, packs)
            ]
        except OverflowError:
            return False
        kernel.launch(grid, block, shared, stream, payloads)
        return True

    return launch


def _payload(spec: Spec, pack: Callable[[int, Any], Any], value: Any, owner: Any) -> Any:
    return pack(value, owner) if isinstance(spec, ArraySpec) else scalar_payload(spec, value)  # type: ignore[arg-type]


def occupancy(kernel: Kernel, threads: int, shared: int = 0) -> int:
    """Return how many blocks a simulated multiprocessor holds at once."""
    return max(1, min(2, DEVICE.threads_per_multiprocessor // threads))


class _Foreign:
    """Memory that the simulator did not allocate, as NumPy reads it."""

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__, self.owner = interface, owner


def array_payload(
    pointer: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: np.dtype[Any], owner: object = None
) -> Any:
    """Return the array at an address as a kernel takes it. Arrays of one allocation stay views of one memory."""
    if isinstance(owner, FakeCUDAArray):
        held = owner._ary
        same = held.shape == shape and held.dtype == dtype and held.ctypes.data == pointer
        if same and (held.flags.c_contiguous if strides is None else held.strides == strides):
            return owner
    found = memory_at(pointer)
    if found is not None:
        store, offset = found
        return FakeCUDAArray(np.ndarray(shape, dtype, store, offset, strides))
    if 0 in shape:
        return FakeCUDAArray(np.empty(shape, dtype))
    interface = {"version": 3, "shape": shape, "typestr": dtype.str, "descr": dtype.descr, "data": (pointer, False)}
    array = np.asarray(_Foreign(interface | {"strides": strides}, owner))
    return FakeCUDAArray(array.view(dtype) if array.dtype != dtype else array)


def scalar_payload(spec: ScalarSpec, value: Any) -> Any:
    """Return a number in the type that the kernel is compiled for."""
    return spec.dtype.type(value)


def record_payload(value: Any) -> tuple[Any, object]:
    """Return (a record as a kernel takes it, what keeps its memory)."""
    return value, value


def tuple_payload(payloads: Sequence[Any]) -> tuple[Any, ...]:
    """Return a tuple of arguments."""
    return tuple(payloads)
