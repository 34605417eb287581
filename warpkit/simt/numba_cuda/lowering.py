"""Numba's lowering to LLVM for the library's own functions, without what only debuggers and error messages need.

Numba writes every instruction down for a debug print that is off, puts a context for error messages around it, looks
for `try` in every block, ends the life of every variable although nothing counts references, and names functions after
all their types, which may take pages.
"""

import itertools
from collections import Counter

from numba.cuda import types
from numba.cuda.cgutils import alloca_once
from numba.cuda.compiler import _LowerResult
from numba.cuda.core import errors, funcdesc, ir
from numba.cuda.core.callconv import RETCODE_NONE, RETCODE_OK, CUDACallConv, Status
from numba.cuda.lowering import CUDALower

_numbers = itertools.count()


class _Convention(CUDACallConv):
    """Numba's convention for one function, with a short name, and without what nothing asks of a status.

    What a call writes is not filled with zeros before.
    certain: True once the function is known to end with a value: then nobody asks how it ended.
    """

    needs_env = False

    def __init__(self, context):
        super().__init__(context)
        self._packers, self.certain, self._failing = {}, False, False

    def is_complete(self):
        """Take note that the whole code of the function is there."""
        self.certain = not self._failing

    def _return_errcode_raw(self, builder, code):
        """Return from the function."""
        self._failing = self._failing or code is not RETCODE_OK
        super()._return_errcode_raw(builder, code)

    def _get_arg_packer(self, argtypes):
        """Return what takes arguments of these types to pieces."""
        argtypes = tuple(argtypes)
        found = self._packers.get(argtypes)
        if found is None:
            found = self._packers[argtypes] = super()._get_arg_packer(argtypes)
        return found

    def mangler(self, name, argtypes, *, abi_tags=(), uid=None):
        """Return a name that no other function has."""
        kept = "".join(letter if letter.isalnum() else "_" for letter in name.rpartition(".")[2])
        return f"warpkit_{kept}_{next(_numbers)}"

    def call_function(self, builder, callee, resty, argtys, args):
        """Call a function."""
        with builder.goto_entry_block():
            memory = builder.alloca(callee.args[0].type.pointee)
        code = builder.call(callee, [memory, *self._get_arg_packer(argtys).as_arguments(builder, args)])
        if resty is types.none:
            value = self.context.get_dummy_value()
        else:
            value = self.context.get_returned_value(builder, resty, builder.load(memory))
        if self.certain:
            return None, value
        none = builder.icmp_signed("==", code, RETCODE_NONE)
        well = builder.or_(builder.icmp_signed("==", code, RETCODE_OK), none)
        status = Status(code, well, none, builder.not_(well), None, None, None, None)
        return status, value


class LibraryLower(CUDALower):
    """Generates the code of one function."""

    def _find_singly_assigned_variable(self):
        """Find the variables that need no memory: assigned once, and used in no other block."""
        assigned, escaping = Counter(), set()
        for block in self.blocks.values():
            here = set()
            for inst in block.body:
                if isinstance(inst, ir.assign_types):
                    value, name = inst.value, inst.target.name
                    if isinstance(value, ir.var_types):
                        escaping.update({value.name} - here)
                    elif isinstance(value, ir.inst_types):
                        escaping.update(variable.name for variable in value.list_vars() if variable.name not in here)
                    assigned[name] += 1
                    here.add(name)
                else:
                    escaping.update(variable.name for variable in inst.list_vars() if variable.name not in here)
        self._singly_assigned_vars = {name for name, times in assigned.items() if times == 1} - escaping
        self._blk_local_varmap = {}

    def pre_block(self, block):
        """Begin a block."""
        self._cur_ir_block, self.dbg_val_names = block, set()

    def post_block(self, block):
        """End a block."""

    def lower_block(self, block):
        """Generate the code of a block."""
        self.pre_block(block)
        try:
            for inst in block.body:
                self.loc = inst.loc
                self.lower_inst(inst)
        except errors.NumbaError as error:
            raise error.add_context(f'lowering "{inst}" at {self.loc}') from None

    def lower_inst(self, inst):
        """Generate the code of an instruction."""
        if isinstance(inst, ir.assign_types):
            name = inst.target.name
            self.storevar(self.lower_assign(self.typeof(name), inst), name)
        elif isinstance(inst, ir.jump_types):
            self.builder.branch(self.blkmap[inst.target])
        elif isinstance(inst, ir.branch_types):
            condition = self.context.cast(
                self.builder, self.loadvar(inst.cond.name), self.typeof(inst.cond.name), types.boolean
            )
            self.builder.cbranch(condition, self.blkmap[inst.truebr], self.blkmap[inst.falsebr])
        elif isinstance(inst, ir.setitem_types):
            self.lower_setitem(inst.target, inst.index, inst.value, self.fndesc.calltypes[inst])
        else:
            super().lower_inst(inst)

    def alloca_lltype(self, name, lltype, datamodel=None):
        """Return memory for a variable."""
        return alloca_once(self.builder, lltype, name=name)

    def loadvar(self, name):
        """Return the value of a variable."""
        value = self._blk_local_varmap.get(name)
        return self.builder.load(self.getvar(name)) if value is None else value

    def storevar(self, value, name, argidx=None):
        """Give a variable a value."""
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def lower_binop(self, resty, expr, op):
        """Generate the code of an operator; Numba first tries four ways of constants, which only `**` has."""
        if not (expr.static_lhs is expr.static_rhs is ir.UNDEFINED):
            return super().lower_binop(resty, expr, op)
        context, builder, sig = self.context, self.builder, self.fndesc.calltypes[expr]
        operator = context.typing_context.resolve_value_type(op)
        values = [self._cast_var(var, t) for var, t in zip((expr.lhs, expr.rhs), sig.args)]
        implementation = context.get_function(operator, operator.get_call_type(context.typing_context, sig.args, {}))
        return context.cast(builder, implementation(builder, values), sig.return_type, resty)

    def lower_call(self, resty, expr):
        """Generate the code of a call."""
        sig, function = self.fndesc.calltypes[expr], self.typeof(expr.func.name)
        if type(function) is not types.Function or sig.recvr or expr.target is not None:
            return super().lower_call(resty, expr)
        if isinstance(sig.return_type, types.Phantom):
            return self.context.get_dummy_value()
        given = expr.args
        if expr.vararg or expr.kws or len(given) != len(sig.args):
            values = self.fold_call_args(function, sig, given, expr.vararg, expr.kws)
        else:
            values = [self._cast_var(var, t) for var, t in zip(given, sig.args)]
        value = self.context.get_function(function, sig)(self.builder, values, self.loc)
        if value is None:
            value = self.context.get_dummy_value()
        return self.context.cast(self.builder, value, sig.return_type, resty)


def lower(state):
    """Generate the code of the function that is compiled."""
    context, flags, library = state.targetctx, state.flags, state.library
    convention = _Convention(context)
    mangler, tags = convention.mangler, ()
    if state.pipeline.is_kernel:  # which a profiler shows
        mangler, tags = state.call_conv.mangler, [flags.get_mangle_string()]
    described = funcdesc.PythonFunctionDescriptor.from_specialized_function(
        state.func_ir, state.typemap, state.return_type, state.calltypes, mangler=mangler,
        inline=flags.forceinline, noalias=flags.noalias, abi_tags=tags, call_conv=convention, abi_info=state.abi_info,
    )  # fmt: skip
    with context.push_code_library(library):
        lowering = LibraryLower(context, library, described, state.func_ir, metadata=state.metadata)
        lowering.lower()
    convention.is_complete()
    state["cr"] = _LowerResult(described, lowering.call_helper, cfunc=None, env=lowering.env)
