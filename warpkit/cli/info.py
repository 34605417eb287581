"""`python -m warpkit info`: versions, the machine that kernels would run on, and what is missing."""

import platform
from importlib import metadata

from rich.console import Console
from rich.table import Table

from .._versions import __version__
from ..simt.machine import SIMULATOR
from .probe import Machine, probe

PACKAGES = ("numpy", "numba", "numba-cuda", "llvmlite", "cuda-bindings", "cuda-core", "greenlet")


def info() -> int:
    """Print the table and return 0: that a GPU is missing is no error."""
    console, machine = Console(), probe()
    table = Table("What", "Here", title="warpkit info")
    for name, value in facts(machine):
        table.add_row(name, value)
    console.print(table)
    for sentence in machine.missing:
        console.print(f"Missing: {sentence}", markup=False, highlight=False, soft_wrap=True)
    if not machine.missing:
        console.print("Nothing is missing." if machine.gpu else "Nothing is missing but a GPU.", highlight=False)
    return 0


def facts(machine: Machine) -> list[tuple[str, str]]:
    """Return what the table shows, in order."""
    return [
        ("warpkit", __version__),
        *((name, version(name)) for name in PACKAGES),
        ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        ("GPU", machine.gpu or f"none that can be used: {machine.why}"),
        ("Kernels run", "in the simulator" if SIMULATOR or machine.gpu is None else "on the GPU"),
    ]


def version(package: str) -> str:
    """Return a package's version; greenlet, for one, only the simulator needs."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
