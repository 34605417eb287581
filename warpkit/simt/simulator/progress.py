"""No endless launches: a proof that nothing can change, and a wall clock (watchdog.py) for the rest.

A spinning thread reads the same memory, or meets the others, again and again. Once nothing has been written for a
while, each thread's state (call path and local variables) is fingerprinted whenever it reads or meets; when every
thread that can run has come back to a state it was in before, and no memory has changed in between, the launch can
only go on like that.
"""

import os
import sys
from functools import cache
from operator import index
from types import BuiltinFunctionType, FunctionType, ModuleType

import numpy as np
from greenlet import getcurrent

from warpkit.errors import NoProgress

from .paths import describe, is_library, site_of
from .scalars import INDEXES
from .watchdog import WATCHDOG

FUEL = 64
# Quiet points before states are compared; a round is 1, a spin check or an opened barrier 30. Honest work has some 6000
PATIENCE = 8000
REPEATS = 4
MOST_READS = 20_000_000
MACHINERY = tuple(f"/simt/simulated{part}.py" for part in ("", "_kinds", "_memory"))  # hold none of the program's state
AS_THEY_ARE = frozenset({type(None), bool, int, str, bytes, range, ModuleType, type, BuiltinFunctionType, np.ufunc})


class Progress:
    """Watches one launch; `suspicious` asks threads to leave fingerprints."""

    def __init__(self, launch):
        self.launch, self.version, self.quiet, self.reads, self.suspicious = launch, 0, 0, 0, False
        self.expired = False
        self.seconds = float(os.environ.get("WARPKIT_SIM_TIMEOUT", "300"))
        WATCHDOG.enter(self)

    def close(self):
        """Stop the wall clock."""
        WATCHDOG.leave(self)

    def check(self):
        """After a round: forget suspicion when something changed, else look whether anything still can."""
        launch = self.launch
        if launch.version != self.version:
            self.version, self.quiet, self.reads, self.suspicious = launch.version, 0, 0, False
            return
        self.quiet += 1
        if self.quiet < PATIENCE:
            return
        self.suspicious = True
        running = [fiber for block in launch.resident for team in block.warps for fiber in team.ready]
        if not running:
            return
        if self.reads > MOST_READS or all(f.spin_version == self.version and f.repeats >= REPEATS for f in running):
            self._stuck(running)

    def meets(self, fiber):
        """Note that a thread comes to a barrier of its block or of the grid."""
        if self.suspicious:
            self.mark(fiber, sys._getframe(2))

    def met(self):
        """Note that a barrier has opened: threads go on, but nothing that they could read has changed."""
        self.quiet += 30
        self.reads = 0

    def mark(self, fiber, frame):
        """Remember the thread's state; count how often it has come back to one since memory last changed."""
        version = self.launch.version
        if fiber.spin_version != version:
            fiber.spin_version, fiber.prints, fiber.repeats = version, set(), 0
        state = _fingerprint(frame)
        if state in fiber.prints:
            fiber.repeats += 1
        else:
            fiber.repeats = 0
            fiber.prints.add(state)

    def _stuck(self, running):
        """Every thread that can run only repeats itself: let waiting lanes go on without them, or give up."""
        launch = self.launch
        for block in launch.resident:
            for team in block.warps:
                if team.groups and team.release_earliest():
                    launch.version += 1
                    return
        if launch.admit(1 << 30):
            launch.version += 1
            return
        running[0].fault = NoProgress(self._story(running))

    def _story(self, running):
        spots, waits = {}, {}
        for fiber in running:
            spots.setdefault(describe(site_of(fiber.gr_frame)), []).append(fiber)
        for block in self.launch.resident:
            for team in block.warps:
                for fiber in team.threads:
                    if fiber and fiber not in running and fiber.path is not None:
                        waits.setdefault(describe(fiber.path.site), []).append(fiber)
        spin = "; ".join(f"{_some(fibers)} at {spot}" for spot, fibers in spots.items())
        rest = "".join(f"; {_some(fibers)} waits at {spot}" for spot, fibers in waits.items())
        does = "reads" if any(fiber.waiting == "turn" for fiber in running) else "comes back to where it was"
        return f"no progress: every running thread {does} without end and nobody writes: {spin}{rest}"

    def explain(self, error):
        """Give the wall clock's bare exception its sentence."""
        if self.expired and type(error) is NoProgress and not error.args:
            frames, trace = [], error.__traceback__
            while trace is not None:
                frames.append((trace.tb_frame.f_code, trace.tb_lasti))
                trace = trace.tb_next
            spot = next((site for site in reversed(frames) if not is_library(site[0])), frames[-1])
            error.args = (
                f"no progress: the launch ran longer than {self.seconds:g} s (WARPKIT_SIM_TIMEOUT) and was stopped in "
                f"{self.launch.running} at {describe(spot)}",
            )


def _some(fibers):
    return str(fibers[0]) + (f" and {len(fibers) - 1} more" if len(fibers) > 1 else "")


def _fingerprint(frame):
    parts = []
    while frame is not None:
        parts.append((id(frame.f_code), frame.f_lasti))
        if not _is_machinery(frame.f_code.co_filename):
            parts += [_value(value) for value in frame.f_locals.values()]
        frame = frame.f_back
    return tuple(parts)


@cache
def _is_machinery(file):
    return file.endswith(MACHINERY) or "/simt/simulator/" in file


def _value(value):
    """Return a hashable that is equal only for the same state; an object of unknown make is never equal."""
    kind = type(value)
    if kind in AS_THEY_ARE:
        return value
    if kind in INDEXES:
        return kind, index(value)
    return _way(kind)(value)


@cache
def _way(kind):
    """Return what makes such a hashable of values of a type."""
    if issubclass(kind, (int, str, bytes, ModuleType, type, BuiltinFunctionType, np.dtype)):
        return lambda value: value
    if issubclass(kind, np.generic):
        return lambda value: (kind, value.tobytes())
    if issubclass(kind, float):
        return repr
    if issubclass(kind, (tuple, list)):
        return lambda value: tuple([_value(item) for item in value])
    if issubclass(kind, FunctionType):
        return lambda value: (id(value.__code__), _value([cell.cell_contents for cell in value.__closure__ or ()]))
    if hasattr(kind, "_state_"):
        return lambda value: (kind, value._state_)
    if kind.__module__.startswith(("warpkit.", "numba.")):
        return id
    return lambda value: object()


def give_way(fiber, reads=1, weight=1):
    """Let others run after `reads` reads; this thread stays able to run."""
    progress = fiber.launch.progress
    progress.quiet += weight
    progress.reads += reads
    if progress.suspicious:
        progress.mark(fiber, sys._getframe(1))
    fiber.waiting, fiber.path = "turn", None
    fiber.team.ready.append(fiber)
    fiber.wait()


def refuel(launch):
    """A thread has used up its reads: let others run, it may wait for them."""
    launch.fuel = FUEL
    fiber = getcurrent()
    if getattr(fiber, "launch", None) is launch:
        give_way(fiber, FUEL, 30)
