"""How a plain Python function becomes known to Numba, or what a call of it generates."""

from numba.cuda import types

from .kinds import kind_of
from .templates import register


def register_overload(public, function, check, constants) -> None:
    """Register `function`'s own body as what calls of `public` run.

    Literals are kept only for functions with compile-time parameters: each constant compiles a copy of its own.
    """

    def define(typing_context, *args):
        if check is not None:
            check(*map(kind_of, args))
        return function

    register(public, define, literal=bool(constants))


def register_intrinsic(public, define) -> None:
    """Let a call of `public` generate code where it stands.

    For what returns memory this is a must: a function is compiled once per types, so that two calls would share one
    array, and may not return an array at all. `define` gets the typing context and the argument types, literals first.
    """
    register(public, define, literal=True)


def register_numbas(public, owner, name) -> None:
    """Let a call of `public` be a call of what Numba itself knows as attribute `name` of `owner`, a module of CUDA."""
    register(public, lambda typing_context, *args: numbas(typing_context, owner, name, *args))


def numbas(typing_context, owner, name, *args):
    """Return the signature of a call of what Numba knows as attribute `name` of `owner`, and what generates it."""
    function = typing_context.resolve_getattr(types.Module(owner), name)
    sig = function.get_call_type(typing_context, args, {})
    return sig, lambda context, builder, sig, args: context.get_function(function, sig)(builder, args)
