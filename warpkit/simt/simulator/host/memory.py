"""Simulated device memory: byte arrays of the host, found again by their addresses."""

import bisect
import ctypes
import threading
from typing import Any

import numpy as np
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

from ...specs import Properties
from .. import stream_order

ALIGNMENT = 256  # of every allocation, as on a GPU
UNWRITTEN = 0xCD
DEVICE = Properties(
    name="warpkit's lane-accurate simulator",
    compute_capability=(9, 0),
    multiprocessors=2,
    max_threads_per_block=1024,
    threads_per_multiprocessor=2048,
    shared_per_block=227 * 1024,
    shared_per_multiprocessor=228 * 1024,
    l2_bytes=1 << 16,
    max_grid=(2**31 - 1, 65535, 65535),
    max_block=(1024, 1024, 64),
    memory_pools=True,
)

_lock = threading.RLock()
_starts: list[int] = []
_blocks: dict[int, np.ndarray] = {}
_limit: int | None = None


def properties(device: int | None = None) -> Properties:
    """Return what the simulated device offers: a small H200."""
    return DEVICE


def current_device() -> int:
    """Return 0: there is one device."""
    return 0


def device_count() -> int:
    """Return 1."""
    return 1


def context_key() -> Any:
    """Return 0: there is one context."""
    return 0


def device_of(pointer: int) -> int:
    """Return 0."""
    return 0


def ensure_context() -> None:
    """There is one."""


def limit_memory(nbytes: int | None) -> None:
    """Refuse allocations that would make more than `nbytes` in use at once; None: no limit."""
    global _limit
    _limit = nbytes


def allocate(nbytes: int, stream: int, zeroed: bool = False) -> int:
    """Return the address of `nbytes` of memory that hold 0xCD, or 0 if `zeroed`; 0 for none. MemoryError beyond the
    limit."""
    if not nbytes:
        return 0
    with _lock:
        in_use = sum(block.size for block in _blocks.values()) if _limit is not None else 0
        if _limit is not None and in_use + nbytes > _limit:
            raise MemoryError(
                f"allocation of {nbytes} bytes: {in_use} of the {_limit} bytes that limit_memory() allows are in use; "
                "free arrays, or raise the limit."
            )
        store = np.full(nbytes + ALIGNMENT, 0 if zeroed else UNWRITTEN, np.uint8)
        pointer = -(-store.ctypes.data // ALIGNMENT) * ALIGNMENT
        _blocks[pointer] = store[pointer - store.ctypes.data :][:nbytes]
        bisect.insort(_starts, pointer)
    stream_order.forgotten(pointer, nbytes)
    written("an allocation", pointer, nbytes, stream)
    return pointer


def release(pointer: int, stream: int) -> None:
    """Free memory."""
    if pointer:
        with _lock:
            nbytes = _blocks.pop(pointer).size
            del _starts[bisect.bisect_left(_starts, pointer)]
        stream_order.forgotten(pointer, nbytes)  # not under the lock: it has one of its own


def memory_at(pointer: int) -> tuple[np.ndarray, int] | None:
    """Return (bytes of the allocation that holds the address, its place in it), None for memory of someone else."""
    with _lock:
        at = bisect.bisect_right(_starts, pointer) - 1
        if at >= 0 and pointer < _starts[at] + _blocks[_starts[at]].size:
            return _blocks[_starts[at]], pointer - _starts[at]
    return None


def device_array(shape: tuple[int, ...], dtype: Any, stream: int, keep: object = None) -> Any:
    """Return a simulated device array in C order; every byte is 0xCD."""
    array = np.empty(shape, dtype)
    if array.size:
        ctypes.memset(array.ctypes.data, UNWRITTEN, array.nbytes)
        stream_order.met(array)
        written("an allocation", array.ctypes.data, array.nbytes, stream)
    return FakeCUDAArray(array)


def written(name: str, pointer: int, nbytes: int, stream: int) -> None:
    """Note that work on a stream has written memory."""
    if nbytes and stream_order.watching():
        stream_order.done(stream, name, [stream_order.at(stream_order.WRITE, pointer, nbytes)])


def copied(name: str, target: int, source: int, nbytes: int, stream: int, host: bool = False) -> None:
    """Copy memory, and note it; `host`: the source is read when this returns, and is nobody's business."""
    if nbytes:
        ctypes.memmove(target, source, nbytes)
        if stream_order.watching():
            reads = [] if host else [stream_order.at(stream_order.READ, source, nbytes)]
            stream_order.done(stream, name, [*reads, stream_order.at(stream_order.WRITE, target, nbytes)])


def copy(target: int, source: int, nbytes: int, stream: int) -> None:
    """Copy memory."""
    copied("a copy", target, source, nbytes, stream)


def fill(target: int, byte: int, nbytes: int, stream: int) -> None:
    """Set every byte."""
    if nbytes:
        ctypes.memset(target, byte, nbytes)
        written("a fill", target, nbytes, stream)


def copy_from_host(target: int, source: int, nbytes: int, stream: int) -> None:
    """Copy memory."""
    copied("an upload", target, source, nbytes, stream, host=not is_pinned(source))


def copy_to_host(target: int, source: int, nbytes: int, stream: int) -> None:
    """Copy memory."""
    copied("a download", target, source, nbytes, stream)


_pinned: dict[int, np.ndarray] = {}


def pinned(nbytes: int) -> int:
    """Return the address of host memory."""
    store = np.full(max(nbytes, 1), UNWRITTEN, np.uint8)
    _pinned[store.ctypes.data] = store
    stream_order.forgotten(store.ctypes.data, store.nbytes)
    return store.ctypes.data


def unpin(pointer: int) -> None:
    """Free host memory that `pinned` gave."""
    stream_order.forgotten(pointer, _pinned[pointer].nbytes)
    del _pinned[pointer]


def is_pinned(pointer: int) -> bool:
    """Return whether host memory is of `pinned`."""
    return any(first <= pointer < first + store.size for first, store in _pinned.items())
