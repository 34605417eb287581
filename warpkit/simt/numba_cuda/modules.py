"""A repair: hand each module to NVVM once.

numba-cuda 0.30.4 walks the libraries of a kernel without remembering where it was, so a function reached by two call
paths arrives twice (doubling at every further level), and one with a shared array in it ends in ERROR_INVALID_IR.
"""

from numba.cuda import codegen


def _distinct_modules(library) -> list:
    """Return the modules, each after one that calls it: NVVM drops what nothing has asked for yet."""
    seen, waiting, modules = set(), [library], []
    while waiting:
        current = waiting.pop()
        if id(current) not in seen:
            seen.add(id(current))
            modules += [current._module] if getattr(current, "_module", None) else []  # external code has none
            waiting.extend(sorted(getattr(current, "_linking_libraries", ()), key=_number))  # from a set: any order
    return modules


def _number(library) -> int:
    """Return the number that Numba gave to the function in a library; where there is none, 0."""
    number = getattr(getattr(library, "_module", None), "name", "").rpartition("$")[2]
    return int(number) if number.isdigit() else 0


codegen.CUDACodeLibrary.modules = property(_distinct_modules)
