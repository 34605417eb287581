"""Which machine is below, and its host face: compile, launch, allocate, copy.

numba-cuda and its simulator offer the host the same calls, so one body serves both machines.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, cuda, typeof

from ..errors import OutsideKernel

SIMULATOR = bool(config.ENABLE_CUDASIM)


def operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare one operation of the waist.

    Its body is its meaning, run by the simulator; numba_cuda/ holds its lowering.
    """
    return function if SIMULATOR else _only_in_kernels(function)


def device_function(
    check: Callable[..., None] | None = None, constants: tuple[str, ...] = (), host: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a plain Python function callable from `numba.cuda.jit` kernels on both machines.

    The simulator calls it as it is. For a GPU its own body is registered as the overload of itself, so that it is
    compiled per argument types and inlined: no factory, no generated source.

    Args: check: receives the `Kind` of every argument, in order, and raises `Refused` (see refusals.py) for what the
    function does not take; the same check runs on both machines.  constants: names of the parameters that must be
    compile-time integers; only with these does the function compile once per constant.
    host: plain Python may call it too.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if SIMULATOR:
            from .simulated import checked

            return checked(function, check) if check else function
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


def to_device(array: np.ndarray) -> Any:
    """Return a device array with a copy of a NumPy array; done when it returns."""
    return cuda.to_device(np.asarray(array, order="C"))


def empty(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """Return a device array that is not initialised."""
    # numba-cuda takes Python's int alone for a length
    return cuda.device_array(shape if isinstance(shape, tuple) else int(shape), dtype)


def zeros(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """Return a device array of zero bytes; done when it returns."""
    array = empty(shape, dtype)
    clear(array)
    if not SIMULATOR:
        cuda.default_stream().synchronize()
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


def synchronize() -> None:
    """Wait for all work of this device; errors of earlier launches are raised here."""
    cuda.synchronize()


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
