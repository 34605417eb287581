"""Which machine is below, and its host face: compile, load, launch, allocate, copy, streams, events.

The two implementations have the same names: numba_cuda/host for a GPU, simulator/host. Memory, streams and events are
int handles, arrays are described by specs (specs.py), so that nothing above knows which one it talks to.
The functions at the end are the few by which tests and tour launch; one body serves both machines.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import config, cuda, typeof

from ..errors import OutsideKernel

SIMULATOR = bool(config.ENABLE_CUDASIM)

if TYPE_CHECKING or not SIMULATOR:
    from .numba_cuda import host as _host
else:
    from .simulator import host as _host

Kernel = _host.Kernel
compile_image, shared_key = _host.compile_image, _host.shared_key
returned_dtype, returned_by = _host.returned_dtype, _host.returned_by
as_device = _host.as_device
toolchain: Callable[[], str | None] = _host.toolchain
load, occupancy, template = _host.load, _host.occupancy, _host.template
Graph, fits_graph, run = _host.Graph, _host.fits_graph, _host.run
decorated, launch_by_numba = _host.decorated, _host.launch_by_numba
array_payload, scalar_payload, tuple_payload = _host.array_payload, _host.scalar_payload, _host.tuple_payload
record_payload = _host.record_payload
array_packer, read_device_array = _host.array_packer, _host.read_device_array
context_key, current_device, device_count = _host.context_key, _host.current_device, _host.device_count
device_of, ensure_context, properties = _host.device_of, _host.ensure_context, _host.properties
allocate, release, limit_memory, device_array = _host.allocate, _host.release, _host.limit_memory, _host.device_array
copy, fill, copy_from_host, copy_to_host = _host.copy, _host.fill, _host.copy_from_host, _host.copy_to_host
pinned, unpin, is_pinned = _host.pinned, _host.unpin, _host.is_pinned
stream_create, stream_destroy, stream_query = _host.stream_create, _host.stream_destroy, _host.stream_query
stream_synchronize, synchronize, stream_id = _host.stream_synchronize, _host.synchronize, _host.stream_id
is_capturing, capture_id = _host.is_capturing, _host.capture_id
event_create, event_destroy, event_record, event_wait = (
    _host.event_create,
    _host.event_destroy,
    _host.event_record,
    _host.event_wait,
)
event_query, event_synchronize, event_elapsed = _host.event_query, _host.event_synchronize, _host.event_elapsed


def operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare one operation of the waist.

    Its body is its meaning, run by the simulator; numba_cuda/ holds its lowering.
    """
    return function if SIMULATOR else _only_in_kernels(function)


def device_function(
    check: Callable[..., None] | None = None, constants: tuple[str, ...] = (), host: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a plain Python function callable from `numba.cuda.jit` kernels on both machines.

    The simulator calls it as it is. For a GPU its own body is compiled for each set of argument types, and
    inlined: no factory, no generated source.

    Args: check: receives the `Kind` of every argument, in order, and raises `Refused` (see refusals.py) for what the
    function does not take; the same check runs on both machines.  constants: names of the parameters that must be
    compile-time integers; only with these does the function compile once per constant.
    host: plain Python may call it too.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if SIMULATOR:
            from .simulated_kinds import checked

            return checked(function, check, host) if check else function
        from .numba_cuda.registration import register_overload

        public = function if host else _only_in_kernels(function)
        register_overload(public, function, check, constants)
        return public

    return register


def _only_in_kernels(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def outside(*args: Any, **kwargs: Any) -> Any:
        raise OutsideKernel(f"{function.__name__} is a device function: call it inside a numba.cuda.jit kernel.")

    return outside


Grid = int | tuple[int, ...]


class _HostMemory:
    def __init__(self, pointer: int, nbytes: int, owner: Any) -> None:
        self.__array_interface__ = {"version": 3, "shape": (nbytes,), "typestr": "|u1", "data": (pointer, False)}
        self.owner = owner


def host_bytes(pointer: int, nbytes: int, owner: Any = None) -> np.ndarray:
    """Return `nbytes` (at least one) of host memory at an address as uint8s; the array and its views keep `owner`."""
    return np.asarray(_HostMemory(pointer, nbytes, owner))


def to_device(array: np.ndarray) -> Any:
    """Return a device array with a copy of a NumPy array; done when it returns."""
    there = cuda.to_device(np.array(array, order="C"))  # a copy: Numba misreads the stride of one reversed item
    stream_synchronize(0)  # the driver returns when it has read the array, and streams that do not block go on
    return there


def empty(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """Return a device array that is not initialised."""
    # numba-cuda takes Python's int alone for a length
    return cuda.device_array(shape if isinstance(shape, tuple) else int(shape), dtype)


def zeros(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """Return a device array of zero bytes; done when it returns."""
    array = empty(shape, dtype)
    clear(array)
    stream_synchronize(0)
    return array


def clear(array: Any, stream: Any = None) -> None:
    """Fill a contiguous device array with zero bytes, on `stream` (a numba stream; None: the default stream)."""
    if SIMULATOR:
        array._ary.view(np.uint8)[...] = 0
        return
    from numba.cuda.cudadrv import driver

    driver.device_memset(array, 0, array.nbytes, cuda.default_stream() if stream is None else stream)


def to_host(array: Any) -> np.ndarray:
    """Return a NumPy array with a copy of a device array; waits for the work on the default stream."""
    return array.copy_to_host()


def compile_kernel(kernel: Any, *args: Any) -> Any:
    """Compile a `cuda.jit` kernel for the types of `args` without launching it; returns the kernel."""
    if not SIMULATOR:
        kernel.compile(tuple(typeof(arg) for arg in args))
    return kernel


def launch(kernel: Any, grid: Grid, block: Grid, *args: Any) -> None:
    """Launch a `cuda.jit` kernel on the default stream; an empty grid launches nothing."""
    if np.prod(grid, dtype=np.int64) > 0:
        kernel[grid, block](*args)


def describe() -> dict[str, Any]:
    """Return what is below: machine ("gpu" or "simulator"), and of a GPU name, compute_capability, multiprocessors."""
    if SIMULATOR:
        return {"machine": "simulator", "name": "warpkit's lane-accurate simulator"}
    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    name = name.partition("\0")[0]  # the driver hands over its whole buffer
    return {
        "machine": "gpu",
        "name": name,
        "compute_capability": tuple(device.compute_capability),
        "multiprocessors": device.MULTIPROCESSOR_COUNT,
    }
