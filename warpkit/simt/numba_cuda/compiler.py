"""From a Python function and specs of its arguments to an image: Numba's front end, NVVM, nvJitLink."""

import dataclasses
import re

from numba.cuda import types
from numba.cuda.api import get_current_device
from numba.cuda.compiler import kernel_fixup
from numba.cuda.cudadrv import driver, nvvm

from ..identity import identity
from ..specs import ArraySpec, Image, Options, ScalarSpec
from .building import build, compiling_for
from .functions import Scope, array_type, empty_copy, scalar_type


def compile_image(function, specs, options=None, cc=None):
    """Compile a kernel.

    Called by: host code, from any thread.
    Args: function: a plain Python function.  specs: of its arguments.  cc: compute capability (major, minor); None:
    the current device's. With it no GPU is needed.
    Returns: an `Image`; its `captured` says which of `identity(function).arrays` follow the explicit arguments.
    Errors: Refused for what warpkit does not take; Numba's own for what its compiler does not.
    """
    options = options or Options()
    capability = tuple(cc or get_current_device().compute_capability)
    with compiling_for(capability):
        known = identity(function)
        chosen = {name: getattr(options, name) for name in ("fastmath", "debug", "lineinfo")}
        scope, copy = Scope(known.specs, chosen), empty_copy(function)
        scope.fill(copy, function, known.arrays)
        result, captured = build(copy, tuple(map(argument_type, specs)), types.void, chosen, scope)
        library, entry = _kernel(result, options)
        code, log = _linked(library, capability, options)
    return Image(
        code, entry, capability, options, captured, cooperative=library.use_cooperative, name=function.__name__,
        storable=scope.portable, **_resources(log, entry),
    )  # fmt: skip


def argument_type(spec):
    """Return Numba's type for a spec."""
    if isinstance(spec, ArraySpec):
        return array_type(spec)
    if isinstance(spec, ScalarSpec):
        return scalar_type(spec.dtype)
    return types.Tuple(tuple(map(argument_type, spec.parts)))


def _kernel(result, options):
    """Make the compiled function a kernel; return its library and the name of its entry."""
    library, name = result.library, result.fndesc.llvm_func_name
    kernel = library.get_function(name)
    library._entry_name, library._max_registers = name, options.max_registers
    kernel_fixup(kernel, options.debug)
    nvvm.set_launch_bounds(kernel, options.launch_bounds)
    library.needs_cudadevrt = library.use_cooperative
    return library, kernel.name


class _Linker(driver._Linker):
    """Numba's linker, made to tell what the kernel uses."""

    def _get_linker_options(self, ptx):
        return dataclasses.replace(super()._get_linker_options(ptx), verbose=True)


def _linked(library, capability, options):
    """Return the cubin and what the linker said."""
    cc = (*capability, "a" if capability >= (9, 0) else "")
    linker = _Linker(max_registers=options.max_registers, lineinfo=options.lineinfo, cc=cc, lto=False)
    library._link_all(linker, cc)
    cubin = linker.complete()
    return bytes(cubin.code), linker.info_log


def _resources(log, entry):
    """Return what the assembler says that a kernel uses; zeros where it says nothing."""
    _, _, said = log.partition(f"Compiling entry function '{entry}'")
    stack = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", said)
    used = re.search(r"Used (\d+) registers.*", said)
    shared = re.search(r"(\d+) bytes smem", used[0]) if used else None
    return {
        "registers": int(used[1]) if used else 0,
        "shared": int(shared[1]) if shared else 0,
        "local": int(stack[1]) if stack else 0,
        "spills": int(stack[2]) + int(stack[3]) if stack else 0,
    }
