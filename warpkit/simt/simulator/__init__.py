"""The lane-accurate simulator: importing it under NUMBA_ENABLE_CUDASIM=1 upgrades numba-cuda's own, in place.

One fiber per CUDA thread, one deterministic scheduler (WARPKIT_SIM_SEED), several resident blocks, lanes that meet in
program order, and faults where a GPU would hang, race or read what is not there. `simulated.py`, `lanes.py` and their
neighbours in `simt` call the functions below; a user's kernel needs none of them.
"""

from numba import config

if not config.ENABLE_CUDASIM:
    raise ImportError("the simulator needs NUMBA_ENABLE_CUDASIM=1 in the environment before numba is imported")

from . import kernels, module
from .exploring import explore, exploring
from .operations import atomic, barrier, dynamic_shared, fence, grid_barrier, local, meet, pause, read, shared, write
from .records import held_record, record_bytes
from .scalars import SCALARS, converter, promoted, scalar
from .threads import Dim3, called_by_host, fault, thread

module.upgrade()
kernels.upgrade()

__all__ = [
    "SCALARS", "Dim3", "atomic", "barrier", "called_by_host", "converter", "dynamic_shared", "explore", "exploring",
    "fault", "fence", "grid_barrier", "held_record", "local", "meet", "pause", "promoted", "read", "record_bytes",
    "scalar", "shared", "thread", "write",
]  # fmt: skip
