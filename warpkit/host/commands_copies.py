"""Uploads, downloads, copies and fills as commands of a list: what they take, and what they come to."""

from typing import Any

import numpy as np

from ..errors import Refused
from ..simt import machine
from ..simt.lanes import block_index, thread_x
from ..simt.specs import array_spec, scalar_spec
from ..simt.steps import DOWNLOAD, ON_DEVICE, UPLOAD, CopyStep, FillStep, KernelStep
from .arrays import Argument, as_argument
from .commands import Command, StagedDownload, StagedUpload, Work, deferred
from .program import Program


def upload(target: Any, source: Any) -> Command:
    """Return the command that copies a host array to a device array of the same shape and type.

    A pageable `source` is read when the list is submitted and is free afterwards; a pinned one when the command runs.
    """
    return deferred(_upload, target, source)


def download(target: Any, source: Any) -> Command:
    """Return the command that copies a device array to a host array of the same shape and type.

    `target` has the data when the callbacks of the list run.
    """
    return deferred(_download, target, source)


def copy(target: Any, source: Any) -> Command:
    """Return the command that copies a device array to another of the same shape and type."""
    return deferred(_copy, target, source)


def fill(target: Any, value: Any) -> Command:
    """Return the command that sets every item of a device array to a number."""
    return deferred(_fill, target, value)


def _upload(target: Any, source: Any) -> Command:
    to, host = device_array("upload", target, writes=True), host_array("upload", source)
    agree("upload", to, host.shape, host.dtype)
    if not to.size:
        return Work(())
    if machine.is_pinned(host.ctypes.data) and host.flags.c_contiguous:
        return Work([CopyStep(to.pointer, host.ctypes.data, host.nbytes, UPLOAD)], (target, source))
    return StagedUpload(to.pointer, host, target)


def _download(target: Any, source: Any) -> Command:
    host, out = host_array("download", target), device_array("download", source)
    agree("download", out, host.shape, host.dtype)
    if not host.flags.writeable:
        raise Refused("download: the host array is read-only; give one that can be written.")
    if not out.size:
        return Work(())
    if machine.is_pinned(host.ctypes.data) and host.flags.c_contiguous:
        return Work([CopyStep(host.ctypes.data, out.pointer, host.nbytes, DOWNLOAD)], (target, source))
    return StagedDownload(host, out.pointer, source)


def _copy(target: Any, source: Any) -> Command:
    to, out = device_array("copy", target, writes=True), device_array("copy", source)
    agree("copy", to, out.shape, out.dtype)
    nbytes = out.size * out.dtype.itemsize
    if to.pointer != out.pointer and abs(to.pointer - out.pointer) < nbytes:
        raise ValueError("copy: the arrays overlap, and a copy reads and writes in any order: go through a third one.")
    return Work([CopyStep(to.pointer, out.pointer, nbytes, ON_DEVICE)] if nbytes else (), (target, source))


def _fill(target: Any, value: Any) -> Command:
    to = device_array("fill", target, writes=True)
    item = filling(value, to.dtype)
    if item.ndim:
        raise Refused(f"fill: the value is one number, not an array of shape {item.shape}.")
    if not to.size:
        return Work(())
    data = item.tobytes()
    for size in (1, 2, 4):  # the shortest pattern that repeats to the item
        if data == data[:size] * (len(data) // size):
            pattern = int.from_bytes(data[:size], "little")
            return Work([FillStep(to.pointer, pattern, size, to.size * len(data) // size)], target)
    specs = array_spec(to.dtype, 1), scalar_spec(to.dtype)
    compiled, _ = FILL.compiled(specs)
    flat = machine.array_payload(to.pointer, (to.size,), None, to.dtype, target)
    payloads = [flat, machine.scalar_payload(specs[1], item[()])]
    grid, block = (-(-to.size // FILL_THREADS), 1, 1), (FILL_THREADS, 1, 1)
    return Work([KernelStep(compiled.kernel, grid, block, 0, payloads)], target)


def filling(value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a value as an array of no dimensions, of `dtype`; refuse one that would come out as another number."""
    given = np.asarray(value)
    if given.ndim or dtype.names or dtype.kind == "b":
        try:
            return np.array(value, dtype)
        except (TypeError, ValueError):
            raise Refused(f"fill: {value!r} does not go into an array of {dtype}.") from None
    ranks = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
    exact = isinstance(value, int) or given.dtype.kind in "biu"
    exact = exact or (given.dtype.kind == "f" and dtype.kind in "iu" and float(given).is_integer())
    if (1 if exact else ranks.get(given.dtype.kind, 4)) > ranks[dtype.kind]:
        raise Refused(f"fill: {value!r} does not go into an array of {dtype}.")
    if exact and dtype.kind in "iu" and not np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max:
        raise ValueError(f"fill: {value!r} is outside of {dtype}.")
    return np.array(value, dtype)


def fill_items(target: Any, value: Any) -> None:
    """Kernel: set every item; for items of which no part of 4 bytes repeats."""
    place = block_index() * FILL_THREADS + thread_x()
    if place < target.size:
        target[place] = value


FILL, FILL_THREADS = Program(fill_items), 256


def device_array(operation: str, array: Any, writes: bool = False) -> Argument:
    """Return a device array that is contiguous, as copies need it."""
    argument = as_argument(array, operation)
    if not argument.is_array:
        raise Refused(f"{operation}: one side is a device array, not a {type(array).__name__}.")
    if argument.strides is not None:
        raise Refused(f"{operation}: the device array must be contiguous; copy it to one that is.")
    if writes and argument.readonly:
        raise Refused(f"{operation}: the device array is read-only.")
    return argument


def host_array(operation: str, array: Any) -> np.ndarray[Any, Any]:
    """Return a NumPy array as it is."""
    if not isinstance(array, np.ndarray):
        raise Refused(f"{operation}: the host side is a NumPy array, not a {type(array).__name__}.")
    return array


def agree(operation: str, device: Argument, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse a copy between arrays that differ."""
    if tuple(device.shape) != tuple(shape) or device.dtype != dtype:
        raise Refused(
            f"{operation}: both arrays have one shape and type; these are {device.dtype} {tuple(device.shape)} on the "
            f"device and {dtype} {tuple(shape)}."
        )
