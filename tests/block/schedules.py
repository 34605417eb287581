"""Running a kernel under many interleavings in the simulator's exploring mode."""

import os

from warpkit.simt import simulator

COUNT = int(os.environ.get("WARPKIT_TEST_SCHEDULES", "0"))


def explore(run, usually):
    """Call `run(seed)`, which checks itself, under `usually` random schedules or WARPKIT_TEST_SCHEDULES of them."""
    for seed in range(COUNT or usually):
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
