"""Exploring mode: the same launch under many interleavings.

Every global or shared access, atomic and fence may be followed by another thread's; blocks stall at random; and a
plain access that another thread's plain store is not ordered with is a RaceFault, in global memory too.
"""

import contextvars
from contextlib import contextmanager

_mode = contextvars.ContextVar("warpkit_exploring", default=None)


def current():
    """Return the exploring seed, None outside exploring mode."""
    return _mode.get()


@contextmanager
def exploring(seed=0):
    """Launch kernels of this `with` block in exploring mode, with the interleaving of `seed`.

    For protocols between blocks, and whatever else must be right in every order: every access to memory may be
    overtaken by another thread, and two accesses to one place in global memory that nothing orders are a RaceFault,
    as they are in shared memory in any mode.
    Args: seed: an integer; the same one gives the same interleaving. Run many: a fault shows itself in some.
    Cost: a launch takes a few times as long.
    """
    token = _mode.set(int(seed))
    try:
        yield
    finally:
        _mode.reset(token)


def explore(function, *args, seeds=range(20), **keywords):
    """Call `function(*args, **keywords)` once per seed in exploring mode; return the results.

    The first exception ends it, with a note that names the seed.
    """
    results = []
    for seed in seeds:
        with exploring(seed):
            try:
                results.append(function(*args, **keywords))
            except Exception as error:
                error.add_note(f"found by exploring seed {seed}; repeat it: with simulator.exploring({seed}): …")
                raise
    return results
