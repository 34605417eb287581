"""Running a kernel under many interleavings in the simulator's exploring mode."""

import faulthandler
import os

from warpkit.simt import simulator

# How many schedules, or which: "10000", "2500:5000" (so that processes can share the work); a few by default.
WANTED = os.environ.get("WARPKIT_TEST_SCHEDULES", "")


def seeds(usually):
    """Return the seeds to run under."""
    first, _, end = WANTED.rpartition(":")
    return range(int(first or 0), int(end or usually))


def explore(run, usually):
    """Call `run(seed)`, which checks itself, under `usually` random schedules or WARPKIT_TEST_SCHEDULES of them."""
    if WANTED:
        faulthandler.cancel_dump_traceback_later()  # thousands take longer than pytest lets a test take
    for seed in seeds(usually):
        with simulator.exploring(seed):
            try:
                run(seed)
            except BaseException as error:
                error.add_note(f"schedule {seed}")
                raise


def found_by(run, fault, most=200):
    """Return the first `fault` that `run(seed)` raises, under at most that many schedules; None when it never does."""
    for seed in range(most):
        with simulator.exploring(seed):
            try:
                run(seed)
            except fault as error:
                return error
    return None
