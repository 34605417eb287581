"""`python -m warpkit tour [FILE]`: thirteen small steps over a real file, each compared with NumPy."""

import os
import sys
import sysconfig
import time
import warnings
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numba.cuda.core.errors import NumbaPerformanceWarning
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from ..simt.machine import SIMULATOR
from .probe import Machine, probe, rerun_in_simulator
from .steps import STEPS
from .steps.data import Data, differs

SIMULATED_BYTES = 4096  # a few seconds' work for the simulator
GPU_BYTES = 1 << 28  # positions stay 32-bit numbers, and the arrays fit into any GPU's memory


class Row(NamedTuple):
    """What came of one step; `fault` says what differs from NumPy, or is None."""

    title: str
    uses: tuple[str, ...]
    result: str
    seconds: float
    fault: str | None


def tour(file: str | None) -> int:
    """Run the tour and return the exit status: 0 all equal, 1 something differs, 2 the file cannot be read."""
    path = Path(file) if file is not None else default_file()
    try:
        size, text = read(path, SIMULATED_BYTES if SIMULATOR else GPU_BYTES)
    except OSError as error:
        print(f"Cannot read {path}: {error.strerror or error}.", file=sys.stderr)
        return 2
    if not text.size:
        print(f"{path} is empty, so there is nothing to compute: name a file that holds at least one byte.")
        return 0
    machine = probe()
    if machine.gpu is None and not SIMULATOR:
        rerun_in_simulator(["tour"] if file is None else ["tour", "--", file])
    console = Console()
    steps = track(STEPS, "Running …", console=console, transient=True, disable=not console.is_terminal)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaPerformanceWarning)  # a small file is a small grid
        rows = [measure(step, Data(text)) for step in steps]
    console.print(table(rows, console))
    report(console, rows, machine, path, size, text.size)
    return 1 if any(row.fault for row in rows) else 0


def default_file() -> Path:
    """Return a text that every Python has: what `help()` shows, or the source of `os` where that is left out."""
    topics = Path(sysconfig.get_path("stdlib"), "pydoc_data", "topics.py")
    return topics if topics.is_file() else Path(os.__file__)


def read(path: Path, most: int) -> tuple[int, NDArray[np.uint8]]:
    """Return the file's size (what was read, for a pipe or a device) and at most `most` of its bytes."""
    with path.open("rb") as file:
        content = file.read(most)
    return max(path.stat().st_size, len(content)), np.frombuffer(content, np.uint8)


def measure(step: ModuleType, data: Data) -> Row:
    """Run one step and compare it; on a GPU a first run compiles, and the second is timed."""
    if not SIMULATOR:
        step.run(data)
    began = time.perf_counter()
    answer = step.run(data)
    seconds = time.perf_counter() - began
    return Row(step.TITLE, step.USES, step.show(answer), seconds, differs(answer, step.expected(data)))


def table(rows: list[Row], console: Console) -> Table:
    """Lay the rows out; a terminal that knows no check mark gets a word."""
    good, bad = ("✓", "✗") if console.encoding.startswith("utf") else ("ok", "WRONG")
    drawn = Table(title="warpkit tour", box=box.HORIZONTALS, show_lines=True)
    drawn.add_column("Step", no_wrap=True, overflow="fold")
    drawn.add_column("Uses", no_wrap=True, overflow="fold")
    drawn.add_column("Result", overflow="fold")
    drawn.add_column("Time", justify="right", no_wrap=True)
    drawn.add_column("NumPy", justify="center", no_wrap=True)
    for row in rows:
        mark = f"[red]{bad}" if row.fault else f"[green]{good}"
        drawn.add_row(row.title, "\n".join(row.uses), escape(row.result), duration(row.seconds), mark)
    return drawn


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1e3:.{0 if seconds >= 0.01 else 2}f} ms"


def report(console: Console, rows: list[Row], machine: Machine, path: Path, size: int, used: int) -> None:
    """Say under the table what was read, where it ran and what was wrong, each on a line of its own."""
    part = f"the first {used:,} of {size:,} bytes" if used < size else f"{size:,} bytes"
    lines = [f"File: {path}, {part}.", f"Machine: {where(machine)}."]
    wrong = [f"{row.title} differs from NumPy: {row.fault}." for row in rows if row.fault]
    if not SIMULATOR:
        lines.append("Times: upload, launch and download, compiled before.")
    closing = f"{len(wrong)} of {len(rows)} steps differ" if wrong else f"all {len(rows)} steps agree"
    for line in [*lines, *wrong, f"Beside NumPy {closing}."]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def where(machine: Machine) -> str:
    """Say in half a sentence what the kernels ran on, and why."""
    if machine.gpu is not None and not SIMULATOR:
        return machine.gpu
    return "the simulator, since " + (machine.why if machine.gpu is None else "NUMBA_ENABLE_CUDASIM is set")
