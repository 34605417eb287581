"""Run every test that this machine can run: `python tests/run.py [pytest arguments]`.

Numba chooses between simulator and GPU when it is imported, so one process cannot do both:

- no GPU: the behaviour tests in the simulator; beside it the PTX and host tests, which compile for a GPU without one;
- a GPU: the behaviour tests on it, with the PTX and host tests; `--all` adds the simulator.

One process prints as it goes, the other when it is done. The last line is the sum of both; the exit status is 0 only
when every process passed and, unless the arguments select some tests, ran something.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from warpkit.cli.probe import Machine, probe  # noqa: E402  (the checkout's own, not an installed one)


class Job(NamedTuple):
    """One pytest process: its title and what it needs in its environment."""

    title: str
    variables: dict[str, str]


class Counts(NamedTuple):
    """What one process reports."""

    passed: int
    failed: int
    skipped: int


def jobs(machine: Machine, everything: bool) -> list[Job]:
    """Return the processes for this machine, the longest first."""
    simulator = Job("simulator", {"NUMBA_ENABLE_CUDASIM": "1"})
    if machine.gpu is None:  # hide a GPU that cannot be used, so that conftest.py does not find one
        return [simulator, Job("compiler and host", {"NUMBA_ENABLE_CUDASIM": "0", "CUDA_VISIBLE_DEVICES": ""})]
    gpu = Job("GPU, compiler and host", {"NUMBA_ENABLE_CUDASIM": "0"})
    return [gpu, simulator] if everything else [gpu]


def start(job: Job, arguments: list[str], folder: Path, out: int | None) -> subprocess.Popen[bytes]:
    """Start pytest for one job; its counts go to a file in `folder`."""
    command = [sys.executable, "-m", "pytest", *arguments, f"--junit-xml={report(job, folder)}"]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | job.variables, stdout=out, stderr=subprocess.STDOUT)


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


def main(arguments: list[str]) -> int:
    """Run the processes side by side and return the exit status."""
    everything = "--all" in arguments
    arguments = [argument for argument in arguments if argument != "--all"]
    machine, began = probe(), time.monotonic()
    todo = jobs(machine, everything)
    print(f"machine: {machine.gpu or 'simulator'} — {machine.why}", *machine.missing, sep="\n", flush=True)
    print("pytest processes: " + "; ".join(job.title for job in todo), flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs = [(folder / f"{index}.log").open("w+b") for index in range(len(todo))]
        outputs = [None, *(log.fileno() for log in logs[1:])]  # the longest prints at once
        running = [start(job, arguments, folder, out) for job, out in zip(todo, outputs)]
        try:
            statuses = []
            for job, log, process in zip(todo, logs, running):
                statuses.append(process.wait())
                log.seek(0)
                text = log.read().decode(errors="replace")
                if text:
                    print(f"\n{job.title}:\n{text}", flush=True)
        finally:
            for process, log in zip(running, logs):
                process.kill()
                process.wait()
                log.close()
        counts = [read(report(job, folder)) for job in todo]
    print()
    for job, count, status in zip(todo, counts, statuses):
        print(f"{job.title}: {sentence(count)}, exit status {status}")
    print(f"{time.monotonic() - began:.0f} s in all")
    total = Counts(*map(sum, zip(*counts)))
    print(sentence(total), flush=True)
    empty = 5 if arguments else 0  # pytest's status for "no tests": a selection may leave one of the processes empty
    return 0 if total.passed and all(status in (0, empty) for status in statuses) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
