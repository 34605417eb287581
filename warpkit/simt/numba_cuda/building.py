"""Running Numba's compiler with warpkit's pass, for a given compute capability, with or without a GPU."""

import contextlib
import types as python

from numba.cuda import dispatcher, types, utils
from numba.cuda.core.callconv import CUDACallConv
from numba.cuda.core.compiler_lock import global_compiler_lock
from numba.cuda.descriptor import cuda_target

from .lift import LiftingCompiler
from .pipeline import flags_for, without_collector

_capabilities: list[tuple[int, int]] = []


def capability():
    """Return the compute capability that is compiled for."""
    return _capabilities[-1]


@contextlib.contextmanager
def compiling_for(chosen):
    """Hold Numba's lock and compile for a compute capability, also what Numba itself compiles on the way.

    Its dispatchers ask for the current device, which need not be there and need not be the one compiled for.
    """
    with global_compiler_lock, without_collector():
        asked = dispatcher.get_current_device
        dispatcher.get_current_device = lambda: python.SimpleNamespace(compute_capability=chosen)
        _capabilities.append(chosen)
        try:
            cuda_target.typing_context.refresh()
            yield
        finally:
            _capabilities.pop()
            dispatcher.get_current_device = asked


def build(function, args, return_type, options, scope, receiver=None):
    """Compile a hollow function; return Numba's result and the positions of the arrays that became arguments.

    options: fastmath, debug, lineinfo, as a dict.  receiver: the type of the struct that holds the arrays of a device
    function, which is the first of `args` then.
    """
    flags = flags_for(capability(), **{name: bool(options.get(name)) for name in ("debug", "lineinfo", "fastmath")})
    compiler = LiftingCompiler(
        cuda_target.typing_context, cuda_target.target_context, None, args if receiver is None else args[1:],
        return_type, flags, {}, CUDACallConv(cuda_target.target_context), {},
    )  # fmt: skip
    compiler.scope, compiler.receiver, compiler.is_kernel = scope, receiver, return_type is types.void
    with utils.numba_target_override():
        result = compiler.compile_extra(function)
    result.library.finalize()
    return result, compiler.positions


def is_known(function) -> bool:
    """Return True for a Python function whose meaning is registered with Numba: an overload."""
    return cuda_target.typing_context._lookup_global(function) is not None
