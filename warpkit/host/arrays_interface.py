"""Readers of arrays of any make, by the two protocols: `__cuda_array_interface__` and DLPack."""

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import Refused
from ..simt import machine
from ..simt.dlpack import read_dlpack
from .arrays_layout import UNKNOWN, Argument, Name, check_address, layout_of, refuse

LEGACY = 1  # the number of the legacy default stream where 0 means something else; here it is 0
CPU, CUDA, CUDA_PINNED, CUDA_MANAGED = 1, 2, 3, 13  # DLPack's kinds of device


def read_by_interface(array: Any, interface: Any, name: Name) -> Argument:
    """Read what `__cuda_array_interface__` says, of any version; its stream is one that work has to come after."""
    kind = type(array).__name__
    if not isinstance(interface, Mapping):
        refuse(name, f"({kind}) has a __cuda_array_interface__ that is no dictionary.")
    try:
        shape, typestr, (pointer, readonly) = interface["shape"], interface["typestr"], interface["data"]
        shape, pointer = _integers(shape), int(pointer or 0)
        strides = None if interface.get("strides") is None else _integers(interface["strides"])
        dtype = _dtype(typestr, interface.get("descr"))
    except KeyError as missing:
        refuse(name, f"({kind}) has no {missing.args[0]!r} in its __cuda_array_interface__.")
    except (TypeError, ValueError) as error:
        refuse(name, f"({kind}) has a malformed __cuda_array_interface__: {str(error).rstrip('.')}.")
    if interface.get("mask") is not None:
        refuse(name, "is a masked array, whose mask no kernel here reads: pass the data and the mask as two arrays.")
    layout = layout_of(dtype, shape, strides, bool(readonly), name)
    check_address(pointer, layout, name)
    stream = _stream(interface, name)
    device = _device(pointer, kind, name) if layout.size else machine.current_device()
    return Argument(layout.spec, layout.pack(pointer, array), pointer, layout, device, stream, UNKNOWN, array)


def _device(pointer: int, kind: str, name: Name) -> int:
    """Return the device of an address, of which the interface says nothing."""
    try:
        return machine.device_of(pointer)
    except RuntimeError as error:
        refuse(name, f"({kind}) is no memory of a GPU: its address is {pointer:#x} ({str(error).rstrip('.')}).")


def _integers(given: Any) -> tuple[int, ...]:
    return tuple([operator.index(entry) for entry in given])


def _dtype(typestr: str, descr: Any) -> np.dtype[Any]:
    """Return the dtype; a record's fields and padding are in `descr`, which says nothing else that typestr does not."""
    if typestr[1:2] == "V" and descr is not None and len(descr) > 0:
        fields = np.lib.format.descr_to_dtype([tuple(field) for field in descr])
        if fields.names is not None:
            return fields
    return np.dtype(typestr)


def _stream(interface: Mapping[str, Any], name: Name) -> int | None:
    """Return the producer's stream of a version 3 interface; None: it asks for no order."""
    stream = interface.get("stream") if interface.get("version", 0) >= 3 else None
    if stream is None:
        return None
    if type(stream) is bool or not hasattr(stream, "__index__") or int(stream) <= 0:
        refuse(
            name,
            f"says that its stream is {stream!r}, which is none: an interface names 1 (legacy default), 2 (default of "
            "the thread), a stream's handle, or None.",
        )
    return 0 if stream == LEGACY else int(stream)


def read_by_dlpack(array: Any, name: Name, readonly: bool = False) -> Argument:
    """Read anything with `__dlpack__`: its pending work comes before the legacy default stream's from here on."""
    kind = type(array).__name__
    try:
        place, device = (int(number) for number in array.__dlpack_device__())
        if place not in (CUDA, CUDA_MANAGED):
            where = "in host memory" if place in (CPU, CUDA_PINNED) else f"on a device of DLPack's kind {place}"
            refuse(name, f"({kind}) is {where}: move it to the GPU first.")
        tensor = read_dlpack(array)
    except Refused:
        raise
    except (AttributeError, BufferError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        refuse(name, f"({kind}) does not come by DLPack: {type(error).__name__}, {str(error).rstrip('.')}.")
    layout = layout_of(tensor.dtype, tensor.shape, tensor.strides, readonly or tensor.readonly, name)
    check_address(tensor.pointer, layout, name)
    owner = tensor.view, array
    return Argument(layout.spec, layout.pack(tensor.pointer, owner), tensor.pointer, layout, device, 0, UNKNOWN, owner)
