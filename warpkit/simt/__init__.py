"""The waist: the operations that a plain-Python device function cannot express portably, each one function.

Every operation has a Python body, its meaning, which the simulator runs lane by lane, and a lowering for numba-cuda in
`numba_cuda/`. Above this package nothing knows which machine is below.
"""

from . import bits, debug, kinds, lanes, machine, memory, ops, refusals, rules, staging, states, sync, types

if not machine.SIMULATOR:
    from . import numba_cuda

    numba_cuda.register()

__all__ = [
    "bits",
    "debug",
    "kinds",
    "lanes",
    "machine",
    "memory",
    "ops",
    "refusals",
    "rules",
    "staging",
    "states",
    "sync",
    "types",
]
