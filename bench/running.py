"""Running suites, each in a process of its own: a kernel that faults or hangs costs the others nothing.

A suite names its steps on its standard error, as `  3/12 what`; that is what the progress bar shows.
"""

import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from . import harness
from .mode import MODE

STEP = re.compile(r"  (?:(\d+)/(\d+) )?(?!File )(\S.*)")
QUICK_PATIENCE = 90
"""Seconds after which a quick suite is given up; its own clock stops it long before, where it asks that clock."""


def here(name, module, kernels):
    """Run a suite in this process and return its report; `kernels`: it runs some."""
    report = harness.Report(name)
    MODE.begin()
    suite = importlib.import_module(f".{module}", __package__)
    suite.run(report)
    if MODE.simulated and kernels:
        for row in report.rows:
            row.goal = row.limit = row.copy_goal = None
        report.notes.append("in the simulator: the results are right, the times mean nothing")
    report.notes.append(f"took {time.perf_counter() - MODE.begun:.0f} s")
    return report


def apart(name, patience, progress=None, task=None):
    """Run a suite in a process of its own and return its report; RuntimeError where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        origin = ["warpkit", "bench"] if __package__.startswith("warpkit") else [__package__]
        flags = [f"--{flag}" for flag in ("quick", "simulated") if getattr(MODE, flag)]
        flags += [] if MODE.seconds is None else [f"--seconds={MODE.seconds}"]
        command = [sys.executable, "-m", *origin, name, "--here", "--json", path, *flags]
        environment = os.environ | ({"NUMBA_ENABLE_CUDASIM": "1"} if MODE.simulated else {})
        patience = min(patience, QUICK_PATIENCE) if MODE.quick else patience
        status, said = _watched(command, environment, patience, progress, task)
        if status is None:
            raise RuntimeError(f"given up after {patience} s")
        if not os.path.exists(path):
            last = f": {said[-1]}" if said else ""
            raise RuntimeError(f"its process ended with status {status} and left no record{last}")
        with open(path, encoding="utf-8") as record:
            return harness.Report.from_record(name, json.load(record)["suites"][name])


def _watched(command, environment, patience, progress, task):
    """Run a command, showing its steps; return its status (None: it took too long) and what else it said."""
    said = []
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        errors="replace",
    ) as process:  # fmt: skip
        reader = threading.Thread(target=_follow, args=(process.stderr, said, progress, task))
        reader.start()
        try:
            status = process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            status = None
        except BaseException:
            process.kill()
            raise
        reader.join()
    return status, said


def _follow(lines, said, progress, task):
    """Show each step, keep every other line."""
    for line in lines:
        step = STEP.fullmatch(line.rstrip("\n"))
        if step is None:
            said.append(line.strip())
        elif progress is None:
            print(line, end="", file=sys.stderr, flush=True)
        else:
            done, total, what = step.groups()
            progress.update(task, what=what, completed=int(done or 1) - 1, total=int(total) if total else None)


@contextlib.contextmanager
def bar(number):
    """Show a progress bar for `number` suites; gives a function (name) -> (progress, task), for one after the other."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[what]}"), TimeElapsedColumn())
    if not console.is_terminal:

        def plain(name):
            print(f"{name} …", file=sys.stderr, flush=True)
            return None, None

        yield plain
        return
    with Progress(*columns, console=console, transient=True) as progress:
        whole = progress.add_task("suites", total=number, what="")
        tasks = []

        def begin(name):
            if tasks:
                progress.remove_task(tasks.pop())
                progress.advance(whole)
            tasks.append(progress.add_task(name, total=None, what=""))
            return progress, tasks[-1]

        yield begin
