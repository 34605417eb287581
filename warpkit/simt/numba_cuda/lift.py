"""Captured arrays become arguments: the pass that warpkit adds to Numba's compiler.

What is compiled has placeholders where its Python function captured arrays (functions.py). A kernel gets one more
parameter for each that it uses, a device function finds them in the struct that it is called with (bound.py).
"""

from numba.cuda.compiler import CUDACompiler
from numba.cuda.core import ir, postproc
from numba.cuda.core.compiler_machinery import FunctionPass, register_pass
from numba.cuda.core.ir_utils import build_definitions, get_definition, guard
from numba.cuda.core.untyped_passes import FindLiterallyCalls, MakeFunctionToJitFunction

from ..captured import Bound, Placeholder
from ..constants import is_library
from .bound import bind
from .closures import CONSTANTS, MakeClosures
from .inference import use_own
from .pipeline import Passes, has_nested


class LiftingCompiler(CUDACompiler):
    """Numba's compiler with the pass that lifts.

    scope: says what stands for what (functions.py).  receiver: the type of a device function's struct of arrays.
    positions: those of the arrays that became a kernel's last arguments.
    """

    scope, receiver, positions, is_kernel = None, None, (), False

    def define_pipelines(self):
        """Insert the pass where everything is inlined and nothing is typed yet; and one that helps Numba's closures.

        The library's own functions have the passes that all of its functions have.
        """
        function = self.state.func_id
        if function.modname.startswith("warpkit.") and is_library(function.modname) and not has_nested(function.code):
            return [Passes(lift)]
        (manager,) = super().define_pipelines()
        for step, before in ((MakeClosures, MakeFunctionToJitFunction), (LiftCaptured, FindLiterallyCalls)):
            at = [known for known, _ in manager.passes].index(before)
            manager.passes.insert(at, (step, step._name))
        return [use_own(manager)]


@register_pass(mutates_CFG=False, analysis_only=False)
class LiftCaptured(FunctionPass):
    """Replaces placeholders by arguments and functions by what carries their arrays."""

    _name = "warpkit_lift_captured"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        """Rewrite one function."""
        lift(state)
        postproc.PostProcessor(state.func_ir).run()
        return True


def lift(state):
    """Rewrite one function."""
    lifting = _Lifting(state)
    for block in state.func_ir.blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.assign_types):
                lifting.rewrite(statement)
    lifting.finish()


class _Lifting:
    """The rewriting of one function."""

    def __init__(self, state):
        self.state, self.ir, self.scope = state, state.func_ir, state.pipeline.scope
        self.entry = self.ir.blocks[min(self.ir.blocks)]
        self.statements = []
        self.arrays = {}  # position: variable

    def rewrite(self, statement):
        """Replace what a statement takes from outside, where it is not what may be compiled as it is."""
        value = statement.value
        if isinstance(value, CONSTANTS):
            found = value.value
        elif isinstance(value, ir.expr_types) and value.op == "getattr":
            found = guard(self.attribute, value)
        else:
            return
        new = self.scope.replaced(found)
        if _holds_placeholder(new):
            statement.value = self.variable(new, value.loc)
        elif new is not found:
            statement.value = ir.Global(getattr(new, "__name__", "captured"), new, value.loc)

    def attribute(self, expression):
        """Return what the attribute of a user's module holds, where it holds a placeholder."""
        owner = get_definition(self.ir, expression.value)
        if isinstance(owner, ir.expr_types) and owner.op == "getattr":
            module = self.attribute(owner)
        else:
            module = owner.value if isinstance(owner, CONSTANTS) else None
        return getattr(module, expression.attr, None) if type(module) is self.scope.module_type else None

    def variable(self, value, loc):
        """Return a variable that holds a replaced value from the start of the function on."""
        if isinstance(value, Placeholder):
            if value.position not in self.arrays:
                self.arrays[value.position] = self.define(f"captured.{value.position}", loc)
            return self.arrays[value.position]
        if isinstance(value, Bound):
            arrays = self.variable(value.arrays, loc)
            return self.call(bind, (self.constant(value.function, loc), arrays), loc)
        if not isinstance(value, tuple):
            return self.constant(value, loc)
        parts = [self.variable(part, loc) for part in value]
        if hasattr(value, "_fields"):
            return self.call(type(value), parts, loc)
        return self.let(ir.Expr.build_tuple(parts, loc), loc)

    def constant(self, value, loc):
        """Return a variable that holds a constant."""
        return self.let(ir.Global(getattr(value, "__name__", "constant"), value, loc), loc)

    def call(self, function, arguments, loc):
        """Return a variable that holds the result of a call."""
        return self.let(ir.Expr.call(self.constant(function, loc), tuple(arguments), (), loc), loc)

    def define(self, name, loc):
        """Return a new variable."""
        return self.entry.scope.redefine(f"${name}", loc)

    def let(self, value, loc):
        """Return a new variable with a value."""
        variable = self.define("lifted", loc)
        self.statements.append(ir.Assign(value, variable, loc))
        return variable

    def finish(self):
        """Take the arrays from where they come, and put all that was added before everything else."""
        state, loc = self.state, self.ir.loc
        arrays = [(position, self.arrays[position]) for position in sorted(self.arrays)]
        receiver = state.pipeline.receiver
        if receiver is not None:
            taken = self.receive(receiver, arrays, loc)
        else:
            names = [f"captured.{position}" for position, _ in arrays]
            first = len(state.args)
            taken = [
                ir.Assign(ir.Arg(name, first + i, loc), variable, loc)
                for i, (name, (_, variable)) in enumerate(zip(names, arrays))
            ]
            types = [self.scope.array_type(position) for position, _ in arrays]
            self.set_arguments([*self.ir.arg_names, *names], [*state.args, *types])
            state.pipeline.positions = tuple(position for position, _ in arrays)
        self.entry.body[:0] = [*taken, *self.statements]
        self.ir._definitions = build_definitions(self.ir.blocks)

    def receive(self, receiver, arrays, loc):
        """Make the struct of a function's arrays its first argument; return what takes the arrays out of it."""
        for block in self.ir.blocks.values():
            for statement in block.body:
                if isinstance(statement, ir.assign_types) and isinstance(statement.value, ir.arg_types):
                    old = statement.value
                    statement.value = ir.Arg(old.name, old.index + 1, old.loc)
        own = self.define("captured", loc)
        self.set_arguments(["captured.all", *self.ir.arg_names], [receiver, *self.state.args])
        taken = [ir.Assign(ir.Arg("captured.all", 0, loc), own, loc)]
        for position, variable in arrays:
            taken.append(ir.Assign(ir.Expr.getattr(own, f"array{position}", loc), variable, loc))
        return taken

    def set_arguments(self, names, types):
        """Replace the arguments of the function."""
        self.ir.arg_names, self.ir.arg_count = names, len(names)
        self.state.args, self.state.nargs = tuple(types), len(types)


def _holds_placeholder(value) -> bool:
    if isinstance(value, tuple):
        return any(map(_holds_placeholder, value))
    return isinstance(value, Placeholder | Bound)
