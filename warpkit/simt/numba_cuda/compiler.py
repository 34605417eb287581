"""From a Python function and specs of its arguments to an image: Numba's front end, NVVM, nvJitLink."""

import dataclasses
import inspect
import re
from pathlib import Path

from numba.core.errors import TypingError as NumbaTypingError
from numba.cuda import dispatcher, types
from numba.cuda.api import get_current_device
from numba.cuda.compiler import kernel_fixup
from numba.cuda.core.errors import TypingError
from numba.cuda.cudadrv import driver, nvvm

from ...errors import Refused
from ..hollow import empty_copy
from ..identity import identity
from ..specs import ArraySpec, Image, Options, ScalarSpec
from .building import build, compiling_for
from .functions import Scope, array_type, scalar_type, trim
from .ufuncs import said_simply

TypingErrors = (TypingError, NumbaTypingError)  # unrelated classes
RESERVED_SHARED = 1024  # bytes that a block with static shared memory has of the system's own, from 8.0 on


def compile_image(function, specs, options=None, cc=None, texts=None):
    """Compile a kernel.

    Called by: host code, from any thread.
    Args: function: a plain or decorated Python function.  specs: of its arguments.  cc: compute capability, (major,
    minor), with which no GPU is needed; None: the current device's.  texts: a list that gets the kernel's PTX.
    Returns: an `Image`; its `captured` says which of `identity(function).arrays` follow the explicit arguments.
    Errors: Refused for what warpkit does not take; Numba's own for what its compiler does not.
    """
    options, function = options or Options(), getattr(function, "py_func", function)
    capability = tuple(cc or get_current_device().compute_capability)
    with compiling_for(capability):
        trim()
        _check_arguments(function, specs)
        known = identity(function)
        chosen = {name: getattr(options, name) for name in ("fastmath", "debug", "lineinfo")}
        scope, copy = Scope(known.specs, chosen), empty_copy(function)
        scope.look_at(copy, function, known.arrays)
        try:
            with said_simply(function.__name__):
                result, captured = build(copy, tuple(map(argument_type, specs)), types.void, chosen, scope)
        except TypingErrors as error:
            raise _said_simply(function.__name__, str(error)) or error from None
        library, entry = _kernel(result, options)
        if texts is not None:
            texts.extend(library.get_asm_strs(cc=_architecture(capability)))
        code, log = _linked(library, capability, options)
    return Image(
        code, entry, capability, options, captured, cooperative=library.use_cooperative, name=function.__name__,
        storable=scope.is_portable(), **_resources(log, entry, capability),
    )  # fmt: skip


def _said_simply(name, error):
    """Return what Numba says in pages as one sentence, for two mistakes that are easily made."""
    if "Cannot modify readonly array" in error:
        return Refused(
            f"{name} writes to a read-only array: pass one that may be written, or capture a device array; of a "
            "captured NumPy array a kernel gets a copy."
        )
    if " to none for '$" in error and "return_value" in error:
        return Refused(f"{name} returns a value, which no kernel can: write it into an array.")
    return None


def _check_arguments(function, specs):
    """Refuse another number of arguments than the kernel has."""
    code = function.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount:
        raise Refused(f"{function.__name__} has a * or ** among its arguments, which no kernel can: pass a tuple.")
    if code.co_argcount != len(specs):
        raise Refused(f"{function.__name__} takes {code.co_argcount} arguments, not {len(specs)}.")


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
    threads, blocks = options.launch_bounds or (0, 0)
    if threads:
        nvvm.set_launch_bounds(kernel, (threads, blocks) if blocks else threads)
    library.needs_cudadevrt = library.use_cooperative
    return library, kernel.name


class _Linker(driver._Linker):
    """Numba's linker, made to tell what the kernel uses."""

    def _get_linker_options(self, ptx):
        return dataclasses.replace(super()._get_linker_options(ptx), verbose=True)


def _architecture(capability):
    """Return what Numba asks the compiler for: from 9.0 on with what that architecture alone has."""
    return (*capability, "a" if capability >= (9, 0) else "")


def _linked(library, capability, options):
    """Return the cubin and what the linker said."""
    cc = _architecture(capability)
    if any(name in ptx for ptx in library.get_asm_strs(cc=cc) for name in dispatcher.reshape_funcs):
        library.add_linking_file(str(Path(dispatcher.__file__).with_name("reshape_funcs.cu")))
    linker = _Linker(max_registers=options.max_registers, lineinfo=options.lineinfo, cc=cc, lto=False)
    library._link_all(linker, cc)
    cubin = linker.complete()
    return bytes(cubin.code), linker.info_log


def _resources(log, entry, capability):
    """Return what assembler and linker say that a kernel uses; zeros where they say nothing."""
    _, _, assembled = log.partition(f"Compiling entry function '{entry}'")
    _, _, linked = log.partition(f"Function properties for '{entry}'")
    stack = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", assembled)
    registers = re.search(r"Used (\d+) registers", assembled)
    shared = re.search(r"(\d+) bytes smem", linked)
    reserved = RESERVED_SHARED if capability >= (8, 0) else 0
    return {
        "registers": int(registers[1]) if registers else 0,
        "shared": max(0, int(shared[1]) - reserved) if shared else 0,
        "local": int(stack[1]) if stack else 0,
        "spills": int(stack[2]) + int(stack[3]) if stack else 0,
    }
