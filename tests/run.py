"""Run every test that this machine can run: `python tests/run.py [pytest arguments]`.

Numba chooses between simulator and GPU when it is imported, so one process cannot do both:

- no GPU: the behaviour tests in the simulator; beside it the PTX and host tests, which compile for a GPU without one;
- a GPU: the behaviour tests on it, with the PTX and host tests; `--all` adds the simulator.

Without arguments, which may ask for one process, all cores are used: without a GPU a second process shares the tests of
another (sharing.py) where a core is free, from the start or when one of them is done; with one pytest-xdist has a
process a core, and neighbouring tests share what they compile. The first prints as it goes, the others when they are
done. The last line is the sum of all; the exit status is 0 only when every process passed and, unless the arguments
select some tests, ran something.
"""

import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.sharing import FOLDER, LAST_FIRST  # noqa: E402
from warpkit.cli.probe import Machine, probe  # noqa: E402  (the checkout's own, not an installed one)

MOST_WORKERS = 16  # each has a context on the GPU, of half a gigabyte


class Job(NamedTuple):
    """One pytest process: its title and what it needs in its environment."""

    title: str
    variables: dict[str, str]


class Counts(NamedTuple):
    """What one process reports."""

    passed: int
    failed: int
    skipped: int


class Running(NamedTuple):
    """A process that has been started; `log` holds what it prints, None where that is seen at once."""

    job: Job
    process: subprocess.Popen[bytes]
    log: Path | None


def jobs(machine: Machine, everything: bool) -> list[Job]:
    """Return the processes for this machine, the longest first."""
    simulator = Job("simulator", {"NUMBA_ENABLE_CUDASIM": "1"})
    if machine.gpu is None:  # hide a GPU that cannot be used, so that conftest.py does not find one
        return [simulator, Job("compiler and host", {"NUMBA_ENABLE_CUDASIM": "0", "CUDA_VISIBLE_DEVICES": ""})]
    gpu = Job("GPU, compiler and host", {"NUMBA_ENABLE_CUDASIM": "0"})
    return [gpu, simulator] if everything else [gpu]


def shared(job: Job, folder: Path) -> tuple[Job, Job]:
    """Return the two processes that share a job's tests."""
    taken = folder / f"{job.title} taken"
    taken.mkdir()
    variables = job.variables | {FOLDER: str(taken)}
    return Job(job.title, variables), Job(f"{job.title}, from the back", variables | {LAST_FIRST: "1"})


def start(job: Job, arguments: list[str], folder: Path, seen: bool) -> Running:
    """Start pytest for one job; its counts go to a file in `folder`."""
    command = [sys.executable, "-m", "pytest", *arguments, f"--junit-xml={report(job, folder)}"]
    environment, log = os.environ | job.variables, None if seen else folder / f"{job.title}.log"
    if log is None:
        return Running(job, subprocess.Popen(command, cwd=ROOT, env=environment), log)
    with log.open("wb") as out:
        return Running(
            job, subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT), log
        )


def report(job: Job, folder: Path) -> Path:
    """Return where a job's counts are written."""
    return folder / f"{job.title}.xml"


def read(path: Path) -> Counts:
    """Return the counts in a JUnit report; none where pytest died before it wrote one."""
    if not path.exists():
        return Counts(0, 0, 0)
    suite = next(ElementTree.parse(path).iter("testsuite"))
    tests, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    return Counts(max(tests - failed - skipped, 0), failed, skipped)


def sentence(counts: Counts) -> str:
    """Return the counts as the closing lines give them."""
    return f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"


def run(firsts: list[Job], seconds: list[Job], arguments: list[str], folder: Path) -> list[Running]:
    """Run all first processes side by side, and a second one of a job that still runs wherever a core is free."""
    started = [start(job, arguments, folder, not index) for index, job in enumerate(firsts)]
    waiting = list(zip(started, seconds))  # a second is of use while its first runs
    try:
        while any(running.process.poll() is None for running in started):
            busy = sum(running.process.poll() is None for running in started)
            waiting = [(first, second) for first, second in waiting if first.process.poll() is None]
            if waiting and busy < cores():
                started.append(start(waiting.pop()[1], arguments, folder, False))
            time.sleep(0.1)
    finally:
        for running in started:
            running.process.kill()
            running.process.wait()
    return started


def cores() -> int:
    """Return how many processes run side by side."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main(arguments: list[str]) -> int:
    """Run the processes and return the exit status."""
    everything = "--all" in arguments
    arguments = [argument for argument in arguments if argument != "--all"]
    if find_spec("pytest") is None:
        print("The tests need pytest and more: install warpkit with the extra test, '.[cu13,test]'.")
        return 1
    machine, began, selects = probe(), time.monotonic(), bool(arguments)
    todo, more = jobs(machine, everything), []
    print(f"machine: {machine.gpu or 'simulator'} — {machine.why}", *machine.missing, sep="\n", flush=True)
    print("pytest processes: " + "; ".join(job.title for job in todo), flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if machine.gpu is None and not arguments:
            pairs = [shared(job, folder) for job in todo]
            todo, more = [first for first, _ in pairs], [second for _, second in pairs]
        elif not arguments:
            arguments = ["-n", str(min(cores(), MOST_WORKERS)), "--dist", "worksteal"]
        done = run(todo, more, arguments, folder)
        for running in done:
            if running.log is not None:
                print(f"\n{running.job.title}:\n{running.log.read_text(errors='replace')}", flush=True)
        counts = [read(report(running.job, folder)) for running in done]
    statuses = [running.process.returncode for running in done]
    empty = 5 if selects else 0  # pytest's status for "no tests": a selection may leave one of the processes empty
    print()
    for running, count, status in zip(done, counts, statuses):
        selected = f"{sentence(count)}, exit status {status}"
        print(f"{running.job.title}: {'no test was selected' if status == empty == 5 else selected}")
    print(f"{time.monotonic() - began:.0f} s in all")
    total = Counts(*map(sum, zip(*counts)))
    print(sentence(total), flush=True)
    return 0 if total.passed and all(status in (0, empty) for status in statuses) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
