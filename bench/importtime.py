"""Import: `import warpkit` beside `from numba import cuda`, each in fresh processes, alternating.

Goal: at most 1.2 × as long. What is timed is the import alone, not the interpreter's start. Ours is what
a kernel needs, warpkit with a function touched and numba.cuda, so that importing lazily would gain nothing.
"""

import os
import statistics
import subprocess
import sys

import warpkit

from .harness import Row
from .mode import MODE

PAIRS = 11
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(warpkit.__file__)))
PEER = "from numba import cuda"
OURS = f"import warpkit; warpkit.warp_active_sum; {PEER}"
PROGRAM = "import time; begin = time.perf_counter(); {}; print(time.perf_counter() - begin)"


def _milliseconds(statement, simulator):
    # Byte code is kept, as in any installed package: where this variable is set, only ours would be compiled anew.
    setting = {"NUMBA_ENABLE_CUDASIM": "1" if simulator else "0", "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM.format(statement)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=os.environ | setting)
    if found.returncode:
        raise RuntimeError(f"`{statement}` failed: {found.stderr.strip()[-2000:]}")
    return 1000 * float(found.stdout)


def pairs():
    """Return how many processes of each there are, without the first, which may write byte code."""
    return MODE.fewer(PAIRS, 3, 3)


def _pair(simulator):
    """Return the medians of both statements; the first pair, which may write byte code, is not counted."""
    times = [(_milliseconds(OURS, simulator), _milliseconds(PEER, simulator)) for _ in range(pairs() + 1)][1:]
    return [statistics.median(column) for column in zip(*times)]


def run(report):
    """Measure with the GPU half (no driver is needed to import it) and with the simulator."""
    for simulator, goal in ((False, 1.2), (True, None)):
        ours, peer = _pair(simulator)
        where = "in the simulator" if simulator else "for a GPU"
        report.rows.append(Row(f"import warpkit, {where}", ours, peer, unit="ms", goal=goal))
    report.notes.append(f"peer: `{PEER}` in the same mode; medians of {pairs()} fresh processes of each, alternating")
