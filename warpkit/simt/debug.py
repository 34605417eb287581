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
| a lane that is named and does not come, a lane outside its mask | LaneFault | hang or undefined |

On a GPU a failed check is a device-side assertion: the sentence goes to stderr, with this package's file, line and
function, block and thread; the launch ends, and the next call of the driver fails. Without the switch nothing of it is
compiled: the PTX is the same. The reason for the gaps: a kernel's own loads, stores and `cuda.syncthreads` do not pass
through warpkit, and a barrier cannot be left by whoever waits at it. One collective called from two places is one
collective here: which line called it is not known in compiled code. Kernels that Numba keeps on disk (`cache=True`)
stay as they were compiled.
"""

import os

from .machine import operation

DEBUG = os.environ.get("WARPKIT_DEBUG", "") not in ("", "0")


@operation
def check_index(array, index):
    """With the switch on, report an `index` that is outside a one-dimensional `array`; negative ones do not wrap.

    The simulator's arrays do so by themselves, at the access.
    """
