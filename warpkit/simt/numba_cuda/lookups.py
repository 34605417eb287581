"""Repairs: Numba need not look again for what it has found, nor look long.

Its contexts go through all of their registries, which takes milliseconds, for every function that they compile and
every array whose shape it asks for; when they are first filled, through all of them once for each method found. And
what `+` means for two integers it finds out anew at every `+`, up to five times, among a dozen implementations. Of what
generates a call it asks at every call for the signature; and of every implementation that it knows of, with five
questions, whether it is for the types of the call. How large a type is it asks LLVM, which parses a module for that.
"""

import types as python

from numba.cuda import types
from numba.cuda.core import base, ir
from numba.cuda.core.compiler_lock import global_compiler_lock
from numba.cuda.descriptor import cuda_target

MOST_CALLS = 1000
_PLAIN = types.Number | types.Boolean | types.Array


class _Counter:
    """Counts what the registries of contexts hold; they only grow."""

    def __init__(self, contexts):
        self.contexts, self.lists, self.seen = contexts, [], []

    def __call__(self) -> int:
        """Return the number of registrations."""
        registries = [len(context._registries) for context in self.contexts]
        if registries != self.seen:
            every = [vars(registry).values() for context in self.contexts for registry in context._registries]
            self.lists, self.seen = [held for values in every for held in values if type(held) is list], registries
        return sum(map(len, self.lists))


def _refresh_where_needed(*contexts) -> None:
    """Let `refresh()` of each of these contexts be one of all, in this order, and do nothing where nothing is new."""
    looks, count, known, busy = [context.refresh for context in contexts], _Counter(contexts), None, False

    def refresh():
        nonlocal known, busy
        with global_compiler_lock:
            while not busy and known != (found := count()):
                busy = True
                try:
                    for look in looks:
                        look()
                finally:
                    busy = False
                known = found  # where what was found registers more, once again
                _remember_calls()

    for context in contexts:
        context.refresh = refresh


def _remember_calls() -> None:
    """Let the types of Python's operators, and of functions such as `bool`, know again what they were asked."""
    for t in list(cuda_target.typing_context._globals.values()):
        if type(t) is types.Function and isinstance(t.typing_key, python.BuiltinFunctionType | type):
            if "get_call_type" not in vars(t):  # a registration makes a new type
                _remember(t)


def _remember(function) -> None:
    look = function.get_call_type
    known: dict = {}

    def get_call_type(context, args, kws):
        if kws or not all(isinstance(t, _PLAIN) for t in args):  # what other types mean may depend on the device
            return look(context, args, kws)
        if args not in known:
            if len(known) > MOST_CALLS:  # constants are types of their own
                known.clear()
            known[args] = look(context, args, kws)
        return known[args]

    function.get_call_type = get_call_type


def _ask_code_for_parameters() -> None:
    """Let Numba see from its code whether what generates a call wants to know the line, not from its signature."""
    look = base._has_loc

    def has_loc(function):
        if type(function) is not python.FunctionType or hasattr(function, "__wrapped__"):
            return look(function)
        code = function.__code__
        return "loc" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    base._has_loc = has_loc


def _match(selector, formal, actual) -> bool:
    """Return True where an implementation for `formal`, a type or a class of types, takes `actual`."""
    if formal is actual or formal is types.Any:
        return True
    if isinstance(formal, type):  # nothing is registered as a virtual subclass
        return formal in (actual if isinstance(actual, type) else type(actual)).__mro__
    return bool(formal == actual)


def _remember_sizes(ask):
    """Let what LLVM says of the size of a type be asked once: for each answer it parses a module."""
    known: dict = {}

    def answer(context, t):
        text = str(t)  # types that are equal may differ in how they are packed
        if "%" in text:  # the name of a type, which may come to mean another
            return ask(context, t)
        if text not in known:
            known[text] = ask(context, t)
        return known[text]

    return answer


_WITHOUT_VARIABLES = {
    ir.Loc, ir.Const, ir.Global, ir.FreeVar, ir.Arg, str, int, bool, python.NoneType, python.BuiltinFunctionType,
}  # fmt: skip


def _list_variables(ask):
    """Let an instruction tell its variables by the types of its parts; Numba asks each of them six questions."""

    def variables(inst, part):
        kind = type(part)
        if kind is ir.Expr:
            return part.list_vars()
        if kind is not dict and kind is not list and kind is not tuple:
            return ask(inst, part)
        found = []
        for each in part.values() if kind is dict else part:
            if type(each) is ir.Var:
                found.append(each)
            elif type(each) not in _WITHOUT_VARIABLES:
                found += variables(inst, each)
        return found

    return variables


def _truth(model, builder, value):
    """Return a bool that was a byte; Numba goes through memory and two branches."""
    return builder.icmp_unsigned("!=", value, value.type(0))


type(cuda_target.target_context.data_model_manager.lookup(types.boolean)).from_data = _truth
ir.Inst._rec_list_vars = _list_variables(ir.Inst._rec_list_vars)
base.BaseContext.get_abi_sizeof = _remember_sizes(base.BaseContext.get_abi_sizeof)
base.BaseContext.get_abi_alignment = _remember_sizes(base.BaseContext.get_abi_alignment)
base.OverloadSelector._match = _match
_ask_code_for_parameters()
_refresh_where_needed(cuda_target.target_context, cuda_target.typing_context)
