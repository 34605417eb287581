"""Which compiler this is: part of the name under which compiled kernels are kept."""

import contextlib
import platform
from importlib import metadata
from pathlib import Path

import llvmlite
import numba
import numba_cuda
import numpy as np
from cuda import pathfinder
from numba.cuda.core import config

_WHEELS = ("nvidia-nvvm", "nvidia-nvjitlink", "nvidia-cuda-nvcc-cu12", "nvidia-nvjitlink-cu12")


def toolchain() -> str | None:
    """Return text that names the versions of all that compiles: the same text, the same code; never None here."""
    from ..debug import DEBUG  # which imports the machine, and so this file

    packages = (numba, numba_cuda, llvmlite, np)
    versions = [f"{package.__name__} {package.__version__}" for package in packages]
    return " ".join([*versions, *_libraries(), f"opt {config.OPT}", f"checks {DEBUG}", platform.machine()])


def _libraries() -> list[str]:
    """Return the versions of NVVM and nvJitLink: of their wheels, which are found first, else what the files are."""
    found = []
    for name in _WHEELS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    if len(found) < 2:
        for name in ("nvvm", "nvJitLink"):
            path = Path(str(pathfinder.load_nvidia_dynamic_lib(name).abs_path)).resolve()
            found.append(f"{path} {path.stat().st_size}")
    return found
