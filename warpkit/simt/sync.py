"""Block talks: barriers, fences, waiting; bodies are the meaning, as in lanes.py."""

from .machine import SIMULATOR, operation

if SIMULATOR:
    from . import simulator
    from .simulated import int32


@operation
def barrier():
    """Wait for every thread of the block; their earlier memory accesses are seen by one another afterwards."""
    simulator.barrier("sync")


@operation
def barrier_count(predicate):
    """Wait for every thread of the block and return how many had a true `predicate`, int32."""
    return int32(simulator.barrier("count", bool(predicate)))


@operation
def barrier_all(predicate):
    """Wait for every thread of the block and return whether all had a true `predicate`, bool."""
    return bool(simulator.barrier("and", bool(predicate)))


@operation
def barrier_any(predicate):
    """Wait for every thread of the block and return whether some had a true `predicate`, bool."""
    return bool(simulator.barrier("or", bool(predicate)))


@operation
def fence_block():
    """Order this thread's memory accesses before it and after it, as seen by its block."""
    simulator.fence("block")


@operation
def fence_device():
    """Order this thread's memory accesses before it and after it, as seen by the device.

    Acquire and release: who sees what it writes afterwards sees what it wrote before. A read may still pass a write to
    another place before it.
    """
    simulator.fence("device")


@operation
def fence_system():
    """Order this thread's memory accesses before it and after it, as seen by the host and other devices too."""
    simulator.fence("system")


@operation
def sleep(nanoseconds):
    """Let this thread rest for about `nanoseconds`, at most a millisecond, so that its polling starves nobody."""
    simulator.pause(nanoseconds)
