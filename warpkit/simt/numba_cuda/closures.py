"""Functions nested in a kernel that close over what the kernel itself captured.

Numba makes a function of its own of a nested one that is passed on, but only finds constants that the kernel assigns:
"Cannot capture a constant value for variable 'k' as there are multiple definitions present".
"""

import types as python

from numba.cuda.core import ir
from numba.cuda.core.compiler_machinery import FunctionPass, register_pass
from numba.cuda.core.ir_utils import build_definitions, get_definition, guard

CONSTANTS = (*ir.global_types, *ir.freevar_types, *ir.const_types)


@register_pass(mutates_CFG=False, analysis_only=False)
class MakeClosures(FunctionPass):
    """Makes Python functions of nested ones, where all that they close over is known while compiling."""

    _name = "warpkit_make_closures"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        """Replace what makes a function by the function."""
        changed = False
        for block in state.func_ir.blocks.values():
            for statement in block.body:
                value = statement.value if isinstance(statement, ir.assign_types) else None
                if isinstance(value, ir.expr_types) and value.op == "make_function":
                    function = guard(_function, state.func_ir, value)
                    if function is not None:
                        statement.value = ir.Global(function.__name__, function, value.loc)
                        changed = True
        if changed:
            state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return changed


def _function(func_ir, made):
    """Return the Python function, None where it closes over nothing, has defaults or closes over a variable."""
    code = getattr(made.code, "value", made.code)
    if made.defaults is not None or made.closure is None or not code.co_freevars:
        return None
    closed_over = get_definition(func_ir, made.closure)
    found = [get_definition(func_ir, item) for item in closed_over.items]
    if not all(isinstance(value, CONSTANTS) for value in found):
        return None
    cells = tuple(python.CellType(value.value) for value in found)
    return python.FunctionType(code, func_ir.func_id.func.__globals__, code.co_name, None, cells)
