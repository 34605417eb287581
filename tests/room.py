"""Tests that need gigabytes of a GPU's memory, one at a time, however many processes share the GPU; and none."""

import contextlib
import functools
import gc
import os
import tempfile
import time
from pathlib import Path

import pytest

GIGABYTE = 1 << 30
MOST_SECONDS = 120  # of waiting for memory; then the test itself says that there is none


def large(gigabytes):
    """Mark a test for GPUs that needs so much memory at once; it leaves none of it behind."""

    def decorate(test):
        @functools.wraps(test)
        def within(*args, **kwargs):
            with _alone():
                _await(gigabytes * GIGABYTE)
                try:
                    test(*args, **kwargs)
                finally:
                    give_back()

        return pytest.mark.gpu(within)

    return decorate


@contextlib.contextmanager
def _alone():
    """Hold the lock of this user's processes: the system releases it even if they die."""
    import fcntl

    name = f"warpkit-large-tests-{os.getuid()}.lock"
    with (Path(tempfile.gettempdir()) / name).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _await(nbytes):
    """Wait until the GPU has so much memory free."""
    from numba import cuda

    give_back()
    end = time.monotonic() + MOST_SECONDS
    while cuda.current_context().get_memory_info().free < nbytes and time.monotonic() < end:
        time.sleep(0.5)


def give_back():
    """Give the system what this process holds and does not use: Numba's late releases, the library's pool."""
    from cuda.bindings import driver
    from numba import cuda

    from warpkit.simt.numba_cuda.host import memory
    from warpkit.simt.numba_cuda.host.calls import call

    gc.collect()
    cuda.current_context().memory_manager.deallocations.clear()
    cuda.synchronize()
    if memory.properties().memory_pools:
        call(driver.cuMemPoolTrimTo, memory._pool(memory.current_device()), 0)


@contextlib.contextmanager
def no_room():
    """Let nobody get more of the library's device memory."""
    from warpkit.simt import machine

    machine.limit_memory(0)
    try:
        yield
    finally:
        machine.limit_memory(None)
