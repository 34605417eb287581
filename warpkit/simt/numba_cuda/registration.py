"""How a plain Python function becomes known to Numba: as an overload of itself, or as an intrinsic."""

import functools
import inspect

from numba.cuda import types
from numba.cuda.extending import infer, overload
from numba.cuda.typing.templates import infer_global, make_intrinsic_template

from .kinds import kind_of


def register_overload(public, function, check, constants) -> None:
    """Register `function`'s own body as the overload of `public` for the CUDA target.

    Literals are kept only for functions with compile-time parameters: each constant compiles a copy of its own.
    """

    @functools.wraps(function)
    def typed(*args, **kwargs):
        if check is not None:
            given = inspect.signature(function).bind(*args, **kwargs)
            given.apply_defaults()
            check(*map(kind_of, given.arguments.values()))
        return function

    overload(public, target="cuda", prefer_literal=bool(constants))(typed)


def register_intrinsic(public, define) -> None:
    """Make `public` itself an intrinsic, generated where it is called.

    For what returns memory: an overload is compiled once per types, so that two calls would share one array, and may
    not return an array at all. `define` gets the typing context and the argument types, literals first.
    """
    template = make_intrinsic_template(public, define, public.__name__, prefer_literal=True, kwargs={"target": "cuda"})
    infer(template)
    infer_global(public, types.Function(template))
