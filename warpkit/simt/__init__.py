"""The waist: the operations that a plain-Python device function cannot express portably, each one function.

Every operation has a Python body, its meaning, which the simulator runs lane by lane, and a lowering for numba-cuda in
`numba_cuda/`. Above this package nothing knows which machine is below.
"""

from . import bits, kinds, lanes, machine, ops, refusals, rules, types

if not machine.SIMULATOR:
    from .numba_cuda import bits as _bits, lanes as _lanes, modules as _modules, operators as _operators, types as _types

__all__ = ["bits", "kinds", "lanes", "machine", "ops", "refusals", "rules", "types"]
