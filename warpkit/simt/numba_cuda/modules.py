"""Two repairs: hand each module to NVVM once, and look through it only for what is there to be replaced.

numba-cuda 0.30.4 walks the libraries of a kernel without remembering where it was, so a function reached by two call
paths arrives twice (doubling at every further level), and one with a shared array in it ends in ERROR_INVALID_IR. In
the text of each it replaces a dozen atomics, and copies it line by line, whether there are any or not.
"""

from numba.cuda import codegen
from numba.cuda.cudadrv import nvvm

_REPLACED = ("___numba_atomic_", "immarg", "attributes #")


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


def _replace_where_needed(replace):
    def replaced(text):
        return replace(text) if any(mark in text for mark in _REPLACED) else text

    return replaced


nvvm.llvm_replace = _replace_where_needed(nvvm.llvm_replace)
