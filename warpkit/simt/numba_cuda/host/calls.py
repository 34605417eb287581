"""Calling the driver: what a failure means, in one sentence, and a context where a thread has none."""

import os
import sys
from collections.abc import Callable
from typing import Any

from cuda.bindings import driver

NOT_INITIALIZED, OUT_OF_MEMORY, INVALID_CONTEXT, INVALID_HANDLE = 3, 2, 201, 400
STREAM_CAPTURE = range(900, 909)
_in_use = _forked = False  # CUDA before a fork; this process comes from a fork after that


class DeviceError(RuntimeError):
    """The driver refused a call, or an earlier kernel failed; `code` is the driver's own number."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def _before_fork() -> None:
    global _in_use
    numba_driver = sys.modules.get("numba.cuda.cudadrv.driver")
    _in_use = _forked or (numba_driver is not None and bool(numba_driver.driver.is_initialized))


def _after_fork() -> None:
    global _forked
    _forked = _in_use


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)


def call(function: Callable[..., Any], *args: Any) -> Any:
    """Call a driver function and return its result: None, the value, or the tuple of values."""
    result = function(*args)
    if result[0]:
        result = again(result, function, *args)
        if result[0]:
            raise failure(int(result[0]), function.__name__)
    if len(result) == 2:
        return result[1]
    return result[1:] or None


def answer(function: Callable[..., Any], *args: Any) -> Any:
    """Call a driver function and return all that it gives, the status first, for those that fail in the way of work."""
    result = function(*args)
    return again(result, function, *args) if result[0] else result


def again(result: Any, function: Callable[..., Any], *args: Any) -> Any:
    """Give a thread whose call failed for want of a context that of the current device, and make the call again."""
    if int(result[0]) not in (INVALID_CONTEXT, NOT_INITIALIZED) or _forked:
        return result
    ensure_context()
    return function(*args)


def ensure_context() -> None:
    """Make a context current in this thread: the thread's own, else the primary one of the current device."""
    if _forked:
        raise failure(NOT_INITIALIZED, "cuInit")
    from numba.cuda.cudadrv import devices

    devices.get_context()


def failure(code: int, name: str) -> Exception:
    """Return the exception for a failed call of the driver function `name`."""
    if _forked and code in (NOT_INITIALIZED, INVALID_CONTEXT, INVALID_HANDLE):
        return DeviceError(
            "CUDA was in use before this process was forked, and does not work after it: "
            'start processes by "spawn" (multiprocessing.set_start_method("spawn")), or fork before the first use.',
            code,
        )
    error, text = driver.cuGetErrorName(driver.CUresult(code))[1], driver.cuGetErrorString(driver.CUresult(code))[1]
    said = f"{name}: {_text(text)} ({_text(error)}, {code})"
    if code == OUT_OF_MEMORY:
        return MemoryError(f"{said}: the GPU has no room left; free arrays, or work in parts.")
    if code in STREAM_CAPTURE:
        return DeviceError(
            f"{said}: not allowed while a stream is captured; prepare() before the capture, and give out=.",
            code,
        )
    return DeviceError(f"{said}.", code)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
