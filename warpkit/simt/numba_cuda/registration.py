"""How a plain Python function becomes an overload of itself."""

import functools
import inspect

from numba.cuda.extending import overload

from .kinds import kind_of


def register_overload(public, function, check, constants) -> None:
    """Register `function`'s own body as the overload of `public` for the CUDA target.

    Literals are kept only for functions with compile-time parameters: each constant compiles a copy of its own.
    """
    parameters = inspect.signature(function).parameters.values()
    defaults = [parameter.default for parameter in parameters]

    @functools.wraps(function)
    def typed(*args, **kwargs):
        if check is not None:
            given = list(args) + defaults[len(args) :]
            for index, parameter in enumerate(parameters):
                given[index] = kwargs.get(parameter.name, given[index])
            check(*map(kind_of, given))
        return function

    overload(public, target="cuda", prefer_literal=bool(constants))(typed)
