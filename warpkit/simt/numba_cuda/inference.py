"""Numba's type inference, which asks nothing twice.

Numba asks what every statement means until a round has told nothing new, so at least twice; around each question it
puts a context for warnings and up to three for error messages. Here a statement is asked again when the type of a
variable that it looked at has changed, and contexts come when there is an error.
"""

from numba.cuda import types, utils
from numba.cuda.core import errors, ir, typeinfer
from numba.cuda.core.compiler_machinery import FunctionPass, register_pass
from numba.cuda.core.typed_passes import NopythonTypeInference

# What Numba returns under conditions, or not at all.
_CONDITIONAL = types.Array | types.Function | types.Phantom


class _Variables(typeinfer.TypeVarMap):
    """The variables of a function; `seen` gets those that are looked at."""

    def __init__(self, context):
        super().__init__()
        self.set_context(context)
        self.seen = []

    def __getitem__(self, name):
        found = self.get(name)
        if found is None:
            found = typeinfer.TypeVar(self.context, name)
            dict.__setitem__(self, name, found)
        self.seen.append(found)
        return found


class _Constraints(typeinfer.ConstraintNetwork):
    """What the statements of a function say about its variables."""

    def __init__(self):
        super().__init__()
        self.answered = {}  # constraint: the variables that it looked at, and their types when it had done so

    def propagate(self, inference):
        """Ask every statement that may have something new to say; return what went wrong."""
        wrong, variables = [], inference.typevars
        for constraint in self.constraints:
            known = self.answered.pop(constraint, None)
            if known is None or not all(variable.type is t for variable, t in known):
                variables.seen = []
                try:
                    constraint(inference)
                except errors.ForceLiteralArg as error:
                    wrong.append(error)
                    continue
                except errors.TypingError as error:
                    said = errors.TypingError(str(error), loc=constraint.loc, highlighting=False)
                    wrong.append(utils.chain_exception(said, error))
                    continue
                known = [(variable, variable.type) for variable in variables.seen]
            if not any(isinstance(t, types.RecursiveCall) for _, t in known):  # of which more is known each time
                self.answered[constraint] = known
        return wrong


class CallConstraint(typeinfer.CallConstraint):
    """A call. How it came to be asked for is only told when it has no answer. (refusals.py knows it by its name.)"""

    def __call__(self, inference):
        variables = inference.typevars
        try:
            self.resolve(inference, variables, variables[self.func].getone())
        except errors.NumbaError:
            super().__call__(inference)


class _Copy(typeinfer.Propagate):
    """An assignment."""

    def __call__(self, inference):
        try:
            inference.copy_type(self.src, self.dst, loc=self.loc)
        except errors.NumbaError:
            super().__call__(inference)
        inference.refine_map[self.dst] = self


class _Inference(typeinfer.TypeInferer):
    """The types of one function."""

    def __init__(self, context, func_ir):
        super().__init__(context, func_ir, errors.WarningsFixer(errors.NumbaWarning))
        self.typevars, self.constraints = _Variables(context), _Constraints()

    def get_state_token(self):
        """Return what is known: another list after a round that told something new."""
        return [variable.type for variable in self.typevars.values()]

    def typeof_call(self, inst, target, call):
        """Note what a call says."""
        constraint = CallConstraint(target.name, call.func.name, call.args, call.kws, call.vararg, loc=inst.loc)
        self.constraints.append(constraint)
        self.calls.append((inst.value, constraint))

    def typeof_assign(self, inst):
        """Note what an assignment says."""
        if isinstance(inst.value, ir.var_types):
            self.constraints.append(_Copy(dst=inst.target.name, src=inst.value.name, loc=inst.loc))
        else:
            super().typeof_assign(inst)


def infer(state):
    """Find the types of the function that is compiled."""
    interpreted = state.func_ir
    inference = _Inference(state.typingctx, interpreted)
    with state.typingctx.callstack.register(state.targetctx.target, inference, interpreted.func_id, state.args):
        for index, (name, t) in enumerate(zip(interpreted.arg_names, state.args)):
            inference.seed_argument(name, index, t)
        if state.return_type is not None:
            inference.seed_return(state.return_type)
        inference.build_constraint()
        inference.propagate()
        found = inference.unify()
    if isinstance(found[1], _CONDITIONAL):
        NopythonTypeInference().run_pass(state)
    else:
        state.typemap, state.return_type, state.calltypes = found


@register_pass(mutates_CFG=True, analysis_only=False)
class InferTypes(FunctionPass):
    """The pass of Numba's pipelines; what is warned of is said to be in the line in which the function begins."""

    _name = NopythonTypeInference._name  # which error messages have

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        """Find the types of a function."""
        place, warned = state.func_ir.loc, errors.WarningsFixer(errors.NumbaWarning)
        with warned, warned.catch_warnings(filename=place.filename, lineno=place.line):
            infer(state)
        return True


def use_own(manager):
    """Let a pass manager of Numba's infer types by this pass."""
    manager.passes = [
        (InferTypes, name) if step is NopythonTypeInference else (step, name) for step, name in manager.passes
    ]
    manager._finalized = False
    manager.finalize()
    return manager
