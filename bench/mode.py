"""How this process measures: fully, in a few seconds, or in the simulator."""

import time
from dataclasses import dataclass

QUICK_SECONDS = 8.0
"""After which a quick run begins no further case."""


@dataclass
class Mode:
    """How this process measures. quick: few repeats, and of the cases only as many as there is time for.

    simulated: in the simulator, small sizes; times mean nothing there, and results are compared all the same.
    seconds: after which a suite begins no further case; None: of the mode's own.
    """

    quick: bool = False
    simulated: bool = False
    seconds: float | None = None
    begun: float = 0.0

    @property
    def hurried(self):
        """Whether there is time for some of the cases only."""
        return self.quick or self.simulated

    def begin(self):
        """Start the clock of a suite."""
        self.begun = time.perf_counter()

    def over(self):
        """Return whether a run that has little time has had it."""
        seconds = QUICK_SECONDS if self.seconds is None and self.hurried else self.seconds
        return seconds is not None and time.perf_counter() - self.begun > seconds

    def fewer(self, number, quick, simulated=1):
        """Return a number of repeats, or a size, for the way in which this process measures."""
        return simulated if self.simulated else min(number, quick) if self.quick else number


MODE = Mode()


def spread(items):
    """Return the items so that any first few of them come from everywhere: first, middle, quarters, eighths …"""
    bits = max(len(items) - 1, 1).bit_length()
    order = sorted(range(1 << bits), key=lambda n: f"{n:0{bits}b}"[::-1])
    return [items[n] for n in order if n < len(items)]
