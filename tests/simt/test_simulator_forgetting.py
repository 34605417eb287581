"""A launch that has ended leaves nothing: a process stays as small as it was through thousands of launches."""

import gc
from collections import Counter
from contextlib import nullcontext

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit.errors import BarrierFault, RaceFault
from warpkit.simt import machine, simulator
from warpkit.simt.simulator.launches import Launch
from warpkit.simt.simulator.shadow import Buffer
from warpkit.simt.simulator.threads import Thread
from warpkit.simt.simulator.traces import Traced

LAUNCHES = 50
OURS = (Launch, Thread, Buffer, Traced)
captured = np.arange(33)


def collector_comes():
    """Let Python's collector look at threads that run, and twice at what names them, as it does sooner or later."""
    if cuda.threadIdx.x == 3:
        gc.collect(0)
        gc.collect(1)


@cuda.jit
def neighbours(x):
    me, shared = cuda.threadIdx.x, wk.shared_array(32, np.int64)
    shared[me] = x[me]
    cuda.syncthreads()
    x[me] = shared[31 - me] + captured[me]
    cuda.atomic.add(x, 32, 1)
    collector_comes()


@cuda.jit
def racing(x):
    x[0] = cuda.threadIdx.x
    collector_comes()


@cuda.jit
def raising(x):
    x[cuda.threadIdx.x] = 1
    collector_comes()
    cuda.syncwarp()
    if cuda.threadIdx.x == 5:
        raise KeyError("mine")
    cuda.syncthreads()


@cuda.jit
def deserting(x):
    x[cuda.threadIdx.x] = 1
    collector_comes()
    if cuda.threadIdx.x != 5:
        cuda.syncthreads()


FAULTY = {raising: KeyError, deserting: BarrierFault}


def alive():
    """Count what the simulator makes for a launch."""
    gc.collect()
    return Counter(type(found).__name__ for found in gc.get_objects() if type(found) in OURS)


@pytest.mark.parametrize(
    ("kernel", "fault", "where"),
    [
        *((neighbours, None, where) for where in ("here", "exploring", "on a stream")),
        *((kernel, fault, where) for where in ("here", "exploring") for kernel, fault in FAULTY.items()),
        (racing, RaceFault, "exploring"),
    ],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_nothing_is_left_of_launches_that_ended(kernel, fault, where):
    stream, x = machine.stream_create() if where == "on a stream" else None, machine.to_device(np.zeros(33, np.int64))
    before = alive()
    for seed in range(LAUNCHES):
        with (
            simulator.exploring(seed) if where == "exploring" else nullcontext(),
            pytest.raises(fault) if fault else nullcontext(),
        ):
            wk.launch(kernel, 1, 32, x, stream=stream)
    if stream is not None:
        machine.stream_destroy(stream)
    assert alive() == before


def test_threads_go_with_their_launch_and_not_when_the_collector_comes():
    before = alive()["Thread"]
    gc.disable()
    try:
        neighbours[2, 32](np.zeros(33, np.int64))
        assert sum(type(found) is Thread for found in gc.get_objects()) == before
    finally:
        gc.enable()


@pytest.mark.parametrize("kernel", [neighbours, raising])
def test_the_collector_comes_as_often_as_before_after_a_launch(kernel):
    before = gc.get_threshold()
    gc.set_threshold(701, 11, 12)
    try:
        with pytest.raises(IndexError) if kernel is raising else nullcontext():
            kernel[2, 32](np.zeros(33 if kernel is neighbours else 1, np.int64))
        assert gc.get_threshold() == (701, 11, 12)
    finally:
        gc.set_threshold(*before)
