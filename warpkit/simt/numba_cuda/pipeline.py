"""Numba's compiler for the library's own functions, without what they have no use for.

A kernel calls some fifty of them. Numba takes 30 ms for each, most of it in passes for what no library function has
(`with`, raise, generators, arrays of constants, functions to be inlined), in bringing the IR's books up to date after
every pass, and in looking for new registrations.
"""

import contextlib
import gc
import types as python

from numba.cuda import utils
from numba.cuda.compiler import CreateLibrary, CUDABackend, CUDABytecodeInterpreter, CUDACompiler, CUDANativeLowering
from numba.cuda.core import config, ir, rewrites
from numba.cuda.core.analysis import dead_branch_prune, rewrite_semantic_constants
from numba.cuda.core.callconv import CUDACallConv, create_error_model
from numba.cuda.core.compiler import StateDict, _CompileStatus
from numba.cuda.core.interpreter import peep_hole_delete_with_exit, peep_hole_fuse_dict_add_updates
from numba.cuda.core.ir_utils import build_definitions
from numba.cuda.core.ssa import reconstruct_ssa
from numba.cuda.core.transforms import canonicalize_cfg
from numba.cuda.core.typed_passes import IRLegalization, NopythonTypeInference, PreLowerStripPhis
from numba.cuda.core.untyped_passes import FixupArgs
from numba.cuda.descriptor import cuda_target
from numba.cuda.flags import CUDAFlags

from ..._collector import count_as_old
from .inference import infer, use_own
from .lowering import lower


@contextlib.contextmanager
def without_collector():
    """Compile without looking for garbage, a tenth of the time: most of what is made stays until the end anyway.

    To be entered with Numba's lock held.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            count_as_old()
            gc.enable()


class _Flags(CUDAFlags):
    """Flags that are soon compared; Numba's overloads do so at each call."""

    def __hash__(self):
        return hash(self._values.get("compute_capability"))

    def __eq__(self, other):
        return self is other or (type(other) is _Flags and self._values == other._values)


def flags_for(capability, debug=False, lineinfo=False, fastmath=False, opt=True):
    """Return the compiler's flags."""
    flags = _Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.debuginfo, flags.dbg_directives_only = debug or lineinfo, lineinfo
    flags.error_model, flags.dbg_extend_lifetimes = "python" if debug else "numpy", debug
    flags.fastmath, flags.compute_capability = fastmath, capability
    flags.nvvm_options = {"fastmath": fastmath, "opt": 3 if opt and not debug else 0, **({"g": None} if debug else {})}
    return flags


class _Interpreter(CUDABytecodeInterpreter):
    """Makes Numba's instructions of Python's, without looking for ends of `with` and for unpacked dicts."""

    def post_process(self, peepholes, func_ir):
        """Mend what was made."""
        needless = peep_hole_delete_with_exit, peep_hole_fuse_dict_add_updates
        return super().post_process([peephole for peephole in peepholes if peephole not in needless], func_ir)


class Passes:
    """What Numba calls a pass manager: the passes that a function of the library needs.

    lift: a pass of one's own, while no type is known yet.
    """

    def __init__(self, lift=None):
        self.pipeline_name, self.exec_times, self.lift = "warpkit", {}, lift

    def run(self, state):
        """Compile one function."""
        state.func_ir = _Interpreter(state.func_id).interpret(state.bc)
        FixupArgs().run_pass(state)
        interpreted = state.func_ir
        interpreted.blocks, interpreted.generator_info = canonicalize_cfg(interpreted.blocks), None
        rewrite_semantic_constants(interpreted, state.args)
        dead_branch_prune(interpreted, state.args)
        _rewrite(state)
        if self.lift is not None:
            interpreted._definitions = build_definitions(interpreted.blocks)
            self.lift(state)
        if _needs_ssa(interpreted.blocks):
            state.func_ir = interpreted = reconstruct_ssa(interpreted)
        interpreted._definitions = build_definitions(interpreted.blocks)
        dead_branch_prune(interpreted, state.args)
        _numbas_half(state) if state.flags.debuginfo or state.targetctx.enable_nrt else _own_half(state)
        CUDABackend().run_pass(state)


def _rewrite(state):
    """Replace what Numba has simpler instructions for, such as items at constant places."""
    for rewriting in rewrites.rewrite_registry.rewrites["before-inference"]:
        rewrite, waiting = rewriting(state), list(state.func_ir.blocks.items())
        while waiting:
            place, block = waiting.pop()
            if rewrite.match(state.func_ir, block, None, None):
                state.func_ir.blocks[place] = changed = rewrite.apply()
                waiting.append((place, changed))


def _needs_ssa(blocks):
    """Return False where each variable is assigned once, and in the only block."""
    if len(blocks) > 1:
        return True
    (block,) = blocks.values()
    names = [inst.target.name for inst in block.body if isinstance(inst, ir.assign_types)]
    return len(set(names)) < len(names)


def _own_half(state):
    infer(state)
    state.func_ir = PreLowerStripPhis()._strip_phi_nodes(state.func_ir)
    CreateLibrary().run_pass(state)
    lower(state)


def _numbas_half(state):
    NopythonTypeInference().run_pass(state)
    state.func_ir = PreLowerStripPhis()._strip_phi_nodes(state.func_ir)
    IRLegalization().run_pass(state)
    CreateLibrary().run_pass(state)
    CUDANativeLowering().run_pass(state)


class LibraryCompiler(CUDACompiler):
    """The compiler of library functions.

    Its state is what Numba's is made with, which reads all of its configuration again for each function.
    """

    is_kernel = False

    def __init__(self, args, flags):
        typing, target = cuda_target.typing_context, cuda_target.target_context
        typing.refresh()
        convention = CUDACallConv(target)
        own = {"error_model": create_error_model(flags.error_model, convention)}
        if flags.debuginfo:
            own["enable_debuginfo"] = True
        self.state = StateDict(
            typingctx=typing, targetctx=target.subtarget(**own), library=None, args=args, return_type=None,
            flags=flags, locals={}, bc=None, func_id=None, func_ir=None, lifted=None, lifted_from=None, typemap=None,
            calltypes=None, type_annotation=None, metadata={}, reload_init=[], pipeline=self, call_conv=convention,
            abi_info={}, status=_CompileStatus(can_fallback=False), cr=None,
        )  # fmt: skip

    def define_pipelines(self):
        """Return the passes: Numba's own for a function in which others are defined, which it has to take out."""
        nested = has_nested(self.state.func_id.code)
        return list(map(use_own, super().define_pipelines())) if nested else [Passes()]


def has_nested(code):
    """Return True for the code of a function in which others are defined."""
    return any(isinstance(constant, python.CodeType) for constant in code.co_consts)


def compile_body(function, args, capability):
    """Compile a Python function of the library for these argument types; return Numba's result."""
    flags = flags_for(capability, debug=bool(config.CUDA_DEBUGINFO_DEFAULT), opt=config.OPT != 0)
    with without_collector(), utils.numba_target_override():
        result = LibraryCompiler(args, flags).compile_extra(function)
    result.library.finalize()
    return result
