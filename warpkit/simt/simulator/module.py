"""What `numba.cuda` means: its attributes answer for the running thread, in whatever module they are used."""

import sys
import types

from numba import cuda
from numba.cuda.simulator import kernelapi

from warpkit.errors import OutsideKernel

from .numba_api import allocations, barriers, bits, halves, indices, memory, streams, vectors, warp

NAMES = {
    indices: "threadIdx blockIdx blockDim gridDim grid gridsize warpsize",
    warp: "shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync all_sync any_sync eq_sync ballot_sync match_any_sync "
    "match_all_sync syncwarp activemask lanemask_lt",
    bits: "popc clz ffs brev fma cbrt selp",
    halves: "fp16",
    memory: "shared local const atomic threadfence threadfence_block threadfence_system nanosleep "
    "ldca ldcg ldcs ldlu ldcv stcg stcs stwb stwt",
    streams: "synchronize",
    barriers: "syncthreads syncthreads_count syncthreads_and syncthreads_or cg",
}


class CudaModule(types.ModuleType):
    """`numba.cuda` under the simulator: a plain module whose `laneid` is the running thread's."""

    laneid = property(lambda self: indices.laneid())


class OutsideAttribute(OutsideKernel, AttributeError):
    """`cuda.laneid` read by the host: also an AttributeError, so that hasattr and inspection go on working."""


def _missing(name):
    """Answer for attributes that the module does not have now; Python asks this when a property gives up."""
    if name == "laneid":
        raise OutsideAttribute("cuda.laneid exists inside a kernel only")
    raise AttributeError(f"module 'numba.cuda' has no attribute {name!r}")


def upgrade():
    """Give the module its device API, in place: whoever holds the module has it, under any name."""
    for source, names in NAMES.items():
        for name in names.split():
            setattr(cuda, name, getattr(source, name))
    cuda.__class__, cuda.__getattr__ = CudaModule, _missing
    sys.modules.setdefault("numba.cuda.cg", barriers.cg)
    kernelapi.GridGroup = barriers.GridGroup
    cuda.GridGroup = barriers.GridGroup
    vectors.teach()
    streams.teach()
    allocations.teach()
