"""Which machine can run kernels here, found out through the driver alone: no context is created, no memory taken."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from cuda import pathfinder
from cuda.bindings import driver

# What numba-cuda compiles and links with, beside the driver; the cu12 and cu13 extras bring all three.
COMPILER_LIBRARIES = ("nvvm", "nvrtc", "nvJitLink")


@dataclass(frozen=True)
class Machine:
    """What runs kernels here: `gpu` describes the device, or is None where only the simulator can; `why` says why."""

    gpu: str | None
    why: str
    missing: tuple[str, ...] = ()  # sentences: what is missing, and how to get it


def probe(
    devices: Callable[[], list[str]] | None = None,
    versions: Callable[[], tuple[int, int]] | None = None,
    compiler: Callable[[], list[str]] | None = None,
) -> Machine:
    """Look for a GPU, a driver that is new enough and the compiler; the arguments stand in for these looks in tests."""
    absent = (compiler or absent_compiler_libraries)()
    missing = tuple(
        f"{name} (of the CUDA compiler): install warpkit with the extra cu13, or cu12 for a driver older than 580."
        for name in absent
    )
    try:
        names = (devices or _device_names)()
    except NoDriver as reason:
        return Machine(None, str(reason), missing)
    if not names:
        return Machine(None, "the driver shows no GPU (is CUDA_VISIBLE_DEVICES set?)", missing)
    if missing:
        return Machine(None, f"there is a GPU ({names[0]}), but no compiler for it", missing)
    offered, needed = (number // 1000 for number in (versions or _cuda_versions)())
    if offered < needed:
        old = f"the driver knows CUDA {offered}, the installed libraries are CUDA {needed}"
        return Machine(None, old, (f"{old}: update the driver, or install warpkit with the extra cu{offered}.",))
    return Machine(names[0], "the driver shows " + (f"{len(names)} GPUs" if len(names) > 1 else "a GPU"))


def rerun_in_simulator(arguments: list[str]) -> NoReturn:
    """Start `python -m warpkit` again with the simulator enabled, in place of this process.

    Numba reads the variable when it is imported, and warpkit has imported Numba by the time anybody can ask.
    """
    command = [sys.executable, "-m", "warpkit", *arguments]
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    sys.stdout.flush()
    if os.name == "nt":  # there exec returns to the shell at once, while the new process still prints
        sys.exit(subprocess.run(command, env=environment, check=False).returncode)
    os.execve(command[0], command, environment)


def absent_compiler_libraries() -> list[str]:
    """Return the names of the compiler's libraries that cannot be loaded."""
    absent = []
    for name in COMPILER_LIBRARIES:
        try:
            pathfinder.load_nvidia_dynamic_lib(name)
        except pathfinder.DynamicLibNotFoundError:
            absent.append(name)
    return absent


class NoDriver(Exception):
    """No usable driver; the message says in which way."""


def _device_names() -> list[str]:
    try:
        status = driver.cuInit(0)[0]
    except (RuntimeError, OSError) as error:  # libcuda is absent: cuda.bindings finds no symbol to call
        raise NoDriver("no NVIDIA driver was found") from error
    if status == driver.CUresult.CUDA_ERROR_NO_DEVICE:
        return []
    if status != driver.CUresult.CUDA_SUCCESS:
        raise NoDriver(f"the NVIDIA driver does not start ({status.name})")
    return [_describe(index) for index in range(_ask(driver.cuDeviceGetCount))]


def _describe(index: int) -> str:
    device = _ask(driver.cuDeviceGet, index)
    name = _ask(driver.cuDeviceGetName, 128, device).decode(errors="replace").partition("\0")[0]
    major = _ask(
        driver.cuDeviceGetAttribute, driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device
    )
    minor = _ask(
        driver.cuDeviceGetAttribute, driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device
    )
    return f"{name}, compute capability {major}.{minor}, {_ask(driver.cuDeviceTotalMem, device) / 2**30:.0f} GiB"


def _cuda_versions() -> tuple[int, int]:
    """Return the CUDA version that the driver offers and the one that the installed libraries need, as 1000 a major."""
    return int(_ask(driver.cuDriverGetVersion)), int(driver.CUDA_VERSION)


def _ask(function: Callable[..., Any], *arguments: Any) -> Any:
    status, value = function(*arguments)
    if status != driver.CUresult.CUDA_SUCCESS:
        raise NoDriver(f"the NVIDIA driver does not answer {function.__name__} ({status.name})")
    return value
