"""What a run runs on: GPU, clocks as found, processor, versions."""

import datetime
import importlib.metadata
import os
import platform
import shutil
import subprocess

from .mode import MODE
from .peers import find_nvcc

PACKAGES = ("numba-warpkit", "numba-cuda", "numba", "numpy", "llvmlite", "cuda-bindings", "cuda-core", "nvidia-nvvm")
PEERS = ("cuda-cccl", "cupy-cuda13x", "cupy-cuda12x", "torch")


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _warpkit_version():
    """Return the version of the warpkit next to us, which need not be installed."""
    try:
        import warpkit
    except ImportError:
        return None
    return getattr(warpkit, "__version__", None)


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def gpu_state():
    """Return name, driver and clocks of the first GPU as found, {} where there is none."""
    wanted = ("name", "driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "temperature.gpu", "power.draw")
    if shutil.which("nvidia-smi") is None:
        return {}
    command = ["nvidia-smi", f"--query-gpu={','.join(wanted)}", "--format=csv,noheader,nounits", "--id=0"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        return {}
    return dict(zip(wanted, (value.strip() for value in found.stdout.split(","))))


def environment():
    """Return what this run runs on; clocks are recorded, never set."""
    known = {"date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")}
    known |= {"python": platform.python_version(), "platform": platform.platform(), "processor": _processor()}
    known |= {"cores": os.cpu_count(), "gpu": gpu_state(), "nvcc": nvcc_version()}
    known |= {name: True for name in ("quick", "simulated") if getattr(MODE, name)}
    versions = {package: _version(package) for package in (*PACKAGES, *PEERS)}
    versions["numba-warpkit"] = versions["numba-warpkit"] or _warpkit_version()
    return known | {"versions": {package: version for package, version in versions.items() if version}}


def headline(known):
    """Return the environment in a few lines: what a table must be read with."""
    gpu = known["gpu"]
    card = (
        f"{gpu['name']}, driver {gpu['driver_version']}, SM clock {gpu['clocks.sm']} MHz as found" if gpu else "no GPU"
    )
    versions = ", ".join(f"{package} {version}" for package, version in known["versions"].items())
    if known.get("simulated"):
        card = "the simulator, small sizes: times mean nothing there, results are compared all the same"
    host = f"{known['processor']}, {known['cores']} cores, Python {known['python']}"
    return f"{known['date']}; {card}\n{host}\n{versions}\n{known['nvcc'] or 'no nvcc'}\n"


def nvcc_version():
    """Return the line of `nvcc --version` that names the release, None where there is no nvcc."""
    nvcc = find_nvcc()
    if nvcc is None:
        return None
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    return next((line.strip() for line in text.splitlines() if "release" in line), None)
