"""`python -m warpkit examples [NAME]`: the small programs of the gallery, listed and run.

Every example is a program of its own, so each runs in a process of its own: one that fails costs the others nothing.
"""

import ast
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from .probe import Machine, probe
from .tour import where

PACKAGE = Path(__file__).parents[1]


def folder() -> Path:
    """Return where the examples are: beside the modules of an installed package, beside the package in a checkout."""
    installed = PACKAGE / "examples"
    return installed if installed.is_dir() else PACKAGE.parent / "examples"


def examples() -> dict[str, Path]:
    """Return the examples by name; a file whose name starts with _ is a part of some of them."""
    return {path.stem: path for path in sorted(folder().glob("*.py")) if not path.name.startswith("_")}


def headline(path: Path) -> str:
    """Return the line that says what an example shows."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def draws(path: Path) -> bool:
    """Return whether an example takes the name of a file for a picture."""
    return "sys.argv" in path.read_text(encoding="utf-8")


def show_list() -> int:
    """Print a line for every example."""
    found = examples()
    for name, path in found.items():
        print(f"{name:{max(map(len, found))}}  {headline(path)}")
    return 0


def run_all() -> int:
    """Run every example, a line for each; return 1 when one fails."""
    found, machine, failed = examples(), probe(), []
    print(f"Machine: {where(machine)}.", flush=True)
    for name, path in found.items():
        print(f"{name:{max(map(len, found))}}  ", end="", flush=True)
        began = time.perf_counter()
        done = start(path, machine, capture=True)
        result = "FAILED" if done.returncode else f"{time.perf_counter() - began:4.1f} s"
        print(f"{result}  {headline(path)}", flush=True)
        if done.returncode:
            failed.append(name)
            print(done.stdout, done.stderr, sep="\n", file=sys.stderr, flush=True)
    print(f"Failed: {', '.join(failed)}." if failed else f"All {len(found)} agree with NumPy.")
    return 1 if failed else 0


def run_one(name: str, picture: str | None = None) -> int:
    """Run one example, with its output; return 1 when it fails, 2 when it cannot be run as asked."""
    found, name = examples(), name.removesuffix(".py")
    if name not in found:
        print(f"There is no example {name!r}; there are {', '.join(found)}.", file=sys.stderr)
        return 2
    if picture is not None and not draws(found[name]):
        painters = ", ".join(other for other, path in found.items() if draws(path))
        print(f"The example {name} draws no picture; these do: {painters}.", file=sys.stderr)
        return 2
    if picture is not None and find_spec("matplotlib") is None:
        print("A picture needs matplotlib: python -m pip install matplotlib", file=sys.stderr)
        return 2
    machine = probe()
    print(f"{headline(found[name])}\nSource: {found[name]}\nMachine: {where(machine)}.\n", flush=True)
    status = start(found[name], machine, *filter(None, [picture])).returncode
    return 1 if status else 0


def start(path: Path, machine: Machine, *arguments: str, capture: bool = False) -> subprocess.CompletedProcess[str]:
    """Run an example to its end: in the simulator where no GPU can be used, with the warpkit that runs here."""
    search = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {"NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0"} | os.environ | {"PYTHONPATH": search}
    if capture:
        environment["PYTHONIOENCODING"] = "utf-8"
    if machine.gpu is None:
        environment["NUMBA_ENABLE_CUDASIM"] = "1"
    command = [sys.executable, str(path), *arguments]
    return subprocess.run(command, env=environment, capture_output=capture, encoding="utf-8", check=False)
