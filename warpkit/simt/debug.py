"""The debug switch: with WARPKIT_DEBUG=1 in the environment, read when warpkit is imported, kernels check themselves.

What is found, and by whom:

| misuse | simulator | GPU with the switch |
| --- | --- | --- |
| threads that skip a block collective and return | BarrierFault | assertion |
| threads of a block in different block collectives | BarrierFault | assertion |
| threads of a block in a block collective, others at `cuda.syncthreads` | BarrierFault | not promised |
| threads that neither come nor return: they loop, or wait for a lane | NoProgress, LaneFault | hang |
| a block load, store, copy or tile outside its array | BoundsFault | assertion |
| an index outside an array in your own code | BoundsFault | compute-sanitizer --tool memcheck |
| shared memory used again without a barrier | RaceFault | compute-sanitizer --tool racecheck |
| look-back on states from which the block has drawn no tile | Fault | not found |
| a pass with other threads, shared memory, states or items than it needs | Fault | assertion |
| a lane that is named and does not come, a lane outside its mask | LaneFault | hang or undefined |

On a GPU a failed check is a device-side assertion: the sentence goes to stderr, with this package's file, line and
function, block and thread; the launch ends, and the next call of the driver fails. Without the switch nothing of it is
compiled: the PTX is the same. The reason for the gaps: a kernel's own loads, stores and `cuda.syncthreads` do not pass
through warpkit, and a barrier cannot be left by whoever waits at it. One collective called from two places is one
collective here: which line called it is not known in compiled code. Kernels that Numba keeps on disk (`cache=True`)
stay as they were compiled.
"""

import os

from .machine import SIMULATOR, operation
from .refusals import refuse

if SIMULATOR:
    from . import simulator
    from .simulated_memory import address

DEBUG = os.environ.get("WARPKIT_DEBUG", "") not in ("", "0")


@operation
def check_index(array, index):
    """With the switch on, report an `index` that is outside a one-dimensional `array`; negative ones do not wrap.

    The simulator's arrays do so by themselves, at the access.
    """


@operation
def note_draw(states):
    """Note that this block draws tiles from `states`, for `check_drawn`; on a GPU nothing."""
    simulator.thread().block.drawn.add(address(states, 0))


@operation
def check_drawn(states):
    """Report `states` that this block has drawn no tile from in this launch; on a GPU nothing."""
    if address(states, 0) not in simulator.thread().block.drawn:
        raise simulator.fault(
            "look-back: this block has drawn no tile from these states in this launch, so that nobody knows what in "
            "them is of an earlier one: call lookback_next_tile with them, or give them to it as also="
        )


@operation
def check_pass(threads, shared_bytes, tile_items, room, num_items, source):
    """Report what a launch gives a pass otherwise than it needs it: on a GPU with the switch on. Refuse its source.

    Args: threads, shared_bytes: that it needs.  room: how many tiles the states are for.  num_items: int64.
    """
    if not source._data.flags.c_contiguous:
        refuse_strided()
    fiber = simulator.thread()
    block, given = fiber.block.size, fiber.launch.dynamic_bytes
    length, num_items = int(source.size), int(num_items)
    num_tiles = -(-num_items // tile_items)
    if block != threads:
        raise simulator.fault(f"lookback_pass: the block has {block} threads, and the pass is made for {threads}")
    if given < shared_bytes:
        raise simulator.fault(
            f"lookback_pass: the launch gives a block {given} bytes of dynamic shared memory, and the pass needs "
            f"{shared_bytes}: launch with shared=p.shared_bytes, where p is what lookback_pass returned"
        )
    if num_items > length:
        raise simulator.fault(f"lookback_pass: num_items is {num_items}, but source has {length} items")
    if num_tiles > room:
        raise simulator.fault(
            f"lookback_pass: {num_items} items are {num_tiles} tiles of {tile_items}, but the states are for {room}: "
            f"make them with tile_states({num_tiles}, aggregate)"
        )


def refuse_strided():
    """Refuse a source whose items do not lie side by side."""
    refuse("lookback_pass: source must be contiguous, which an array with a step is not; copy it first.")
