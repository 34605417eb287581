"""The pairs of suite `claims` that are about submissions: one by one, or as a list."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

import warpkit as wk

from .mode import MODE
from .timing import host_time

ITEMS, BLOCK, NUMBER = 1 << 10, 128, 5
"""The least work, and how many of it: the guide speaks of five submissions and more."""


@dataclass(frozen=True)
class Pair:
    """What is measured by functions of its own: `times` returns those before and after."""

    name: str
    times: Callable[[], Any]
    why: str


@cuda.jit
def add_one(x):
    """The least work that can be counted."""
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


class Submissions:
    """The same launches, submitted in several ways; the host waits at the end."""

    def __init__(self):
        self.x = cuda.to_device(np.zeros(ITEMS, np.int32))
        cuda.synchronize()  # other streams do not wait for what is copied from NumPy's memory
        self.stream = wk.Stream()
        self.call = wk.prepare(add_one, ITEMS // BLOCK, BLOCK, self.x, stream=self.stream)
        commands = wk.CommandList()
        self.replay = self.recorded(commands).compile()

    def recorded(self, commands):
        """Return a list with the launches appended."""
        for _ in range(NUMBER):
            commands << self.call
        return commands

    def waiting_for_each(self):
        """Submit each and wait for it."""
        for _ in range(NUMBER):
            self.stream << self.call << wk.synchronize()

    def one_by_one(self):
        """Submit each, wait once."""
        for _ in range(NUMBER):
            self.stream << self.call
        self.stream << wk.synchronize()

    def as_a_list(self):
        """Record a list, submit it, wait once."""
        self.stream << self.recorded(wk.CommandList()).commit() << wk.synchronize()

    def as_a_compiled_list(self):
        """Submit a list recorded and compiled before, wait once."""
        self.replay(self.stream)
        self.stream << wk.synchronize()


def checked(ways):
    """Return the host's times of some ways; ValueError when one does not launch as often as it should."""
    times = []
    for name in ways:
        submissions = Submissions()
        way = getattr(submissions, name)
        way()
        if (submissions.x.copy_to_host() != NUMBER).any():
            raise ValueError(f"{name}: not {NUMBER} launches")
        times.append(host_time(way, MODE.fewer(500, 50), 5))
    return times


def pairs():
    """Return the pairs."""
    each, single, listed, ready = "waiting_for_each", "one_by_one", "as_a_list", "as_a_compiled_list"
    return (
        Pair(
            f"guide 7.5: {NUMBER} submissions, waiting for each → one CommandList, waiting once",
            lambda: checked((each, listed)),
            "A wait is a round trip to the GPU, and there is one of them instead of five.",
        ),
        Pair(
            f"guide 7.5: {NUMBER} submissions, waiting once → one CommandList, waiting once",
            lambda: checked((single, listed)),
            "A list is one graph, which the driver launches at once, but it is recorded and compared with the last one "
            "each time; single prepared calls are launched while the GPU already works on the first.",
        ),
        Pair(
            f"guide 7.5: {NUMBER} submissions, waiting once → a compiled CommandList, waiting once",
            lambda: checked((single, ready)),
            "One launch of a graph instead of five launches.",
        ),
    )
