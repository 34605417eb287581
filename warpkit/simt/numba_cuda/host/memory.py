"""Device memory from a stream-ordered pool of our own, and copies.

The pool keeps what is released (a free list per size would be a second one), so that in steady state an allocation is
no call into the operating system. Where a device has no pools, plain allocations take their place.
"""

import functools
import threading
from typing import Any

import numpy as np
from cuda.bindings import driver

from ...specs import c_strides
from .calls import answer, call
from .devices import current_device, properties
from .streams import is_capturing, relaxed, side_stream, stream_is_gone, stream_synchronize

LEGACY_STREAMS = (0, 1)
_limit: int | None = None
_sizes: dict[int, int] = {}  # bytes of every live allocation
_in_use = 0
_lock = threading.Lock()
_late: list[tuple[int, int]] = []  # released while their stream was captured


@functools.cache
def _pool(device: int) -> Any:
    """Return this device's pool; it never gives memory back to the system on its own."""
    location = driver.CUmemLocation()
    location.type, location.id = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, device
    wanted = driver.CUmemPoolProps()
    wanted.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.location = location
    pool = call(driver.cuMemPoolCreate, wanted)
    everything = driver.cuuint64_t(2**64 - 1)
    call(driver.cuMemPoolSetAttribute, pool, driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, everything)
    return pool


def limit_memory(nbytes: int | None) -> None:
    """Refuse allocations that would make more than `nbytes` in use at once; None: as much as the device has."""
    global _limit
    _limit = nbytes


def allocate(nbytes: int, stream: int, zeroed: bool = False) -> int:
    """Return the address of `nbytes` of device memory, usable by work on `stream` from here on; 0 for none.

    zeroed: every byte is 0; otherwise they hold something.
    While `stream` is captured the memory is made beside the graph, at once: it is there in every replay.
    Errors: MemoryError in one sentence; then nothing has changed.
    """
    if not nbytes:
        return 0
    if is_capturing(stream):
        with relaxed():
            side = side_stream(current_device())
            pointer = allocate(nbytes, side, zeroed)
            stream_synchronize(side)
            return pointer
    while _late:
        release(*_late.pop())
    _count(nbytes)
    try:
        if properties().memory_pools:
            pointer = int(call(driver.cuMemAllocFromPoolAsync, nbytes, _pool(current_device()), stream))
        else:
            pointer = int(call(driver.cuMemAlloc, nbytes))
    except BaseException:
        _count(-nbytes)
        raise
    _sizes[pointer] = nbytes
    if zeroed:
        fill(pointer, 0, nbytes, stream)
    return pointer


def _count(nbytes: int) -> None:
    global _in_use
    with _lock:
        if _limit is not None and nbytes > 0 and _in_use + nbytes > _limit:
            raise MemoryError(
                f"allocation of {nbytes} bytes: {_in_use} of the {_limit} bytes that limit_memory() allows are in use; "
                "free arrays, or raise the limit."
            )
        _in_use += nbytes


def release(pointer: int, stream: int) -> None:
    """Give memory back once the work that `stream` has so far is done."""
    if not pointer:
        return
    if is_capturing(stream):
        _late.append((pointer, stream))
        return
    _count(-_sizes.pop(pointer))
    if not properties().memory_pools:
        call(driver.cuMemFree, pointer)
        return
    if stream_is_gone(stream):
        call(driver.cuCtxSynchronize)  # what its work was is not known any more
        stream = 0
    call(driver.cuMemFreeAsync, pointer, stream)


def device_array(shape: tuple[int, ...], dtype: Any, stream: int, keep: object = None) -> Any:
    """Return a numba device array that is not initialised, in C order, usable by work on `stream` from here on.

    It is freed in the order of that stream, after the array and its views are gone; `keep` (the stream's owner) lives
    as long. Its interface names the stream, unless it is the legacy default one: so other libraries wait for it.
    """
    from numba import cuda
    from numba.cuda.cudadrv import devicearray, devices
    from numba.cuda.cudadrv import driver as numba_driver

    dtype = np.dtype(dtype)
    items = 1
    for extent in shape:
        items *= extent
    if not items:
        return devicearray.DeviceNDArray(shape, c_strides(shape, dtype.itemsize), dtype)
    nbytes = items * dtype.itemsize
    pointer = allocate(nbytes, stream)
    address = numba_driver.binding.CUdeviceptr(pointer)
    memory = numba_driver.MemoryPointer(
        devices.get_context(), address, nbytes, finalizer=functools.partial(_finalize, pointer, stream, keep)
    )
    memory._finalizer.atexit = False  # the driver frees everything when the process ends
    memory.pool_stream = stream  # for read_device_array
    named = 0 if stream in LEGACY_STREAMS else cuda.external_stream(stream)
    return devicearray.DeviceNDArray(shape, c_strides(shape, dtype.itemsize), dtype, stream=named, gpu_data=memory)


def _finalize(pointer: int, stream: int, keep: object) -> None:
    try:
        release(pointer, stream)
    except Exception:
        pass  # nobody can be told: the collector runs at any time, also while the driver goes down


def copy(target: int, source: int, nbytes: int, stream: int) -> None:
    """Copy device memory to device memory, in the order of `stream`."""
    if nbytes:
        call(driver.cuMemcpyDtoDAsync, target, source, nbytes, stream)


def fill(target: int, byte: int, nbytes: int, stream: int) -> None:
    """Set every byte of device memory, in the order of `stream`."""
    if nbytes:
        call(driver.cuMemsetD8Async, target, byte, nbytes, stream)


def copy_from_host(target: int, source: int, nbytes: int, stream: int) -> None:
    """Copy host memory to device memory; from pinned memory asynchronously, else it is read when this returns."""
    if nbytes:
        call(driver.cuMemcpyHtoDAsync, target, source, nbytes, stream)


def copy_to_host(target: int, source: int, nbytes: int, stream: int) -> None:
    """Copy device memory to host memory; into pinned memory asynchronously."""
    if nbytes:
        call(driver.cuMemcpyDtoHAsync, target, source, nbytes, stream)


def pinned(nbytes: int) -> int:
    """Return the address of page-locked host memory; taking it spoils no capture that is under way."""
    with relaxed():
        return int(call(driver.cuMemHostAlloc, max(nbytes, 1), driver.CU_MEMHOSTALLOC_PORTABLE))


def unpin(pointer: int) -> None:
    """Free page-locked host memory."""
    with relaxed():  # a collector runs at any time
        call(driver.cuMemFreeHost, pointer)


def is_pinned(pointer: int) -> bool:
    """Return whether host memory is page-locked, by whomever."""
    result = answer(driver.cuPointerGetAttribute, driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer)
    return not result[0] and int(result[1]) == int(driver.CUmemorytype.CU_MEMORYTYPE_HOST)
