"""The simulator: warpkit's beside the one that numba-cuda brings, in alternating fresh processes.

Goals: 4 blocks × 256 threads with one barrier at least 10 × faster; 32 lanes × 1000 shuffles under 1 s.
"""

import json
import os
import statistics
import subprocess
import sys

import warpkit

from .harness import Row
from .mode import MODE

PAIRS = 3
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(warpkit.__file__)))
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "simulated.py")


def _process(simulator):
    command = [sys.executable, "-W", "ignore", PROGRAM, simulator]
    found = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": ROOT},
    )
    if found.returncode:
        raise RuntimeError(f"the process with {simulator}'s simulator failed: {found.stderr.strip()[-2000:]}")
    return json.loads(found.stdout)


def _milliseconds(seconds):
    return 1000 * statistics.median(seconds)


def run(report):
    """Measure both simulators, medians over all processes; no GPU is used."""
    numbas, ours = [], []
    pairs = MODE.fewer(PAIRS, 1)
    for _ in range(pairs):
        numbas.append(_process("numba"))
        ours.append(_process("warpkit"))

    barriers, shuffles = [one["barrier"] for one in ours], [one["shuffles"] for one in ours]
    peer = _milliseconds(one["barrier"] for one in numbas)
    case = "4 blocks × 256 threads, shared memory, one barrier"
    report.rows.append(Row(case, _milliseconds(barriers), peer, unit="ms", goal=0.1))
    report.rows.append(Row("32 lanes × 1000 shuffles", _milliseconds(shuffles), unit="ms", limit=1000))
    report.notes.append(f"peer: numba-cuda's own simulator; {pairs} fresh processes of each, alternating")
