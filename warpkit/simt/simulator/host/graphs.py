"""A list of steps in the simulator: it is done step by step."""

import ctypes
from collections.abc import Sequence

import numpy as np

from ...steps import DOWNLOAD, ON_DEVICE, UPLOAD, CopyStep, KernelStep, Step
from .memory import copied, written

_NAMES = {ON_DEVICE: "a copy", UPLOAD: "an upload", DOWNLOAD: "a download"}


def fits_graph(step: Step) -> bool:
    """Return True."""
    return True


class Graph:
    """The steps of one list."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._topology = [step.topology for step in steps]

    def launch(self, steps: Sequence[Step], stream: int) -> None:
        """Do `steps`, which have the topology of those that the graph was built for."""
        assert [step.topology for step in steps] == self._topology
        for step in steps:
            run(step, stream)


def run(step: Step, stream: int) -> None:
    """Do one step."""
    if isinstance(step, KernelStep):
        step.kernel.launch(step.grid, step.block, step.shared, stream, step.payloads)
    elif isinstance(step, CopyStep):
        copied(_NAMES[step.direction], step.target, step.source, step.nbytes, stream)
    else:
        pattern = np.full(step.items, step.value, f"u{step.itemsize}")
        ctypes.memmove(step.target, pattern.ctypes.data, pattern.nbytes)
        written("a fill", step.target, pattern.nbytes, stream)
