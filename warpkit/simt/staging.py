"""Staging: copies from global to shared memory that go on while the block works; bodies are the meaning.

A pipeline counts stages: what the threads issue up to `close_stage` is one. A copy may land at any time; it is there
for the block after `await_stages` and a block barrier. The simulator keeps the target poisoned until then.
"""

from .machine import SIMULATOR, operation
from .refusals import refuse

if SIMULATOR:
    import numpy as np

    from ..errors import Fault
    from . import simulator
    from .simulated_kinds import kind_of_value
    from .simulator.elements import POISON

MOST_STAGES = 8


@operation
def block_copy_pipeline(stages):
    """Return a pipeline for asynchronous copies into shared memory, with up to `stages` of them in flight.

    Called by: all threads of the block, once per pipeline, outside loops.
    Args: stages: a compile-time integer, 1 to 8: how many `block_copy_async` may wait for their `block_copy_wait`.
    Returns: what those two take; it cannot be stored or returned.
    Storage: 8 bytes of shared memory per stage.  Cost: 2 barriers on sm_90, nothing on older GPUs.
    Example: pipe = block_copy_pipeline(2): one tile is worked on while the next one is copied.
    """
    if not isinstance(stages, int) or not 1 <= stages <= MOST_STAGES:
        refuse_stages(kind_of_value(stages).name if not isinstance(stages, int) else str(stages))
    simulator.barrier("sync")
    return Pipeline(stages)


@operation
def has_bulk_copy():
    """Return whether one instruction copies a whole run, known at compile time: from compute capability 9.0."""
    return True


@operation
def copy_chunk(pipe, target, source, base, offset, nbytes):
    """Begin to copy `nbytes` at byte `offset` of `source[base:]` to the same offset of `target`.

    Args: nbytes: compile-time 1, 2, 4, 8 or 16; both addresses are multiples of it. 1 and 2, and GPUs before compute
    capability 8.0, copy at once.
    """
    pipe.begin(target, source, base, int(offset), nbytes)


@operation
def copy_bulk(pipe, target, source, base, nbytes):
    """Begin to copy the first `nbytes` of `source[base:]` to `target`; one thread calls, all are multiples of 16."""
    pipe.begin(target, source, base, 0, int(nbytes))


@operation
def close_stage(pipe, bulk):
    """End a stage, whether or not it had a bulk copy; all threads of the block call."""
    pipe.close()


@operation
def await_stages(pipe, left):
    """Wait until this thread's copies, and all bulk copies, have landed, except those of the newest `left` stages."""
    pipe.land(int(left))


def refuse_stages(given: str):
    """Refuse a number of stages."""
    refuse(f"block_copy_pipeline: stages must be a compile-time integer from 1 to {MOST_STAGES}, not {given}.")


def refuse_arrays(target: str, source: str):
    """Refuse arrays that bytes cannot be copied between."""
    refuse(
        f"block_copy_async: needs two contiguous one-dimensional arrays of one dtype, not {target} and {source}; "
        "copy the strided one first."
    )


class Pipeline:
    """What one simulated thread has in flight: stages of copies that have been read but not landed."""

    def __init__(self, stages):
        self.stages, self.open, self.closed = stages, [], []

    def begin(self, target, source, base, offset, nbytes):
        """Read the items, or the bytes where a piece is no whole items; poison their place."""
        _check_alike(target, source)
        size, first = target.itemsize, int(base)
        if offset % size or nbytes % size:
            target, source, size, first = target.view(np.uint8), source.view(np.uint8), 1, first * size
        begin, end = offset // size, (offset + nbytes) // size
        if end > target.size or first + end > source.size:
            target[max(target.size, end)]  # faults with the user's line
        place = target[begin:end]
        self.open.append((place, np.array(source[first + begin : first + end])))
        place[:] = np.frombuffer(bytes([POISON]) * nbytes, place.dtype)

    def close(self):
        """End the stage."""
        self.closed.append(self.open)
        self.open = []
        if len(self.closed) > self.stages:
            raise Fault(f"block_copy_async: {len(self.closed)} stages in flight in a pipeline of {self.stages}")

    def land(self, left):
        """Write what has been read, the oldest stage first."""
        while len(self.closed) > max(left, 0):
            for place, data in self.closed.pop(0):
                place[:] = data


def _check_alike(target, source):
    """Refuse arrays of which one cannot be copied to the other byte by byte."""
    lines = all(array.ndim == 1 and array._data.flags.c_contiguous for array in (target, source))
    if not lines or target.dtype != source.dtype:
        refuse_arrays(kind_of_value(target).name, kind_of_value(source).name)
