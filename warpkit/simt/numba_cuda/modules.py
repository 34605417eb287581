"""A repair: hand each module to NVVM once.

numba-cuda 0.30.4 walks the libraries of a kernel without remembering where it was, so a function reached by two call
paths arrives twice (doubling at every further level), and one with a shared array in it ends in ERROR_INVALID_IR.
"""

from numba.cuda import codegen


def _distinct_modules(library) -> list:
    seen, waiting, modules = set(), [library], []
    while waiting:
        current = waiting.pop()
        if id(current) not in seen:
            seen.add(id(current))
            modules += [current._module] if getattr(current, "_module", None) else []  # external code has none
            waiting.extend(getattr(current, "_linking_libraries", ()))
    return modules


codegen.CUDACodeLibrary.modules = property(_distinct_modules)
