"""Repairs: NVVM gets each module once, looked through for what is there to be replaced, and no library without need.

numba-cuda 0.30.4 walks the libraries of a kernel without remembering where it was, so a function reached by two call
paths arrives twice (doubling at every further level), and one with a shared array in it ends in ERROR_INVALID_IR. In
the text of each it replaces a dozen atomics, and copies it line by line, whether there are any or not. Mathematical
functions it looks for on the disk for every kernel. It loads NVRTC, another compiler, to ask which architecture is next
to that of the device; of one with an `a` at its end there is none but itself, and NVVM says whether it knows it.
"""

from numba.cuda import codegen
from numba.cuda.core import config
from numba.cuda.cudadrv import nvrtc, nvvm

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


def _itself_where_it_has_no_neighbour(ask):
    def option(major, minor, arch=""):
        return f"compute_{major}{minor}{arch}" if arch and not config.FORCE_CUDA_CC else ask(major, minor, arch)

    return option


nvrtc.get_arch_option = _itself_where_it_has_no_neighbour(nvrtc.get_arch_option)


def _without_library(compile_with):
    def compile_ir(llvmir, **options):
        texts = [llvmir] if isinstance(llvmir, str) else llvmir
        if options.get("fastmath") or any("__nv_" in text for text in texts):
            return compile_with(llvmir, **options)
        options.pop("fastmath", None)
        unit = nvvm.CompilationUnit(options)
        for text in texts:
            unit.add_module(nvvm.llvm_replace(text).encode())
        unit.verify()
        return unit.compile()

    return compile_ir


nvvm.compile_ir = _without_library(nvvm.compile_ir)
