"""Calls of array functions for `explain`: what each of their parameters is given, on a GPU that need not be there."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import Refused
from ...host.launch import Prepared, prepare
from .given import Given

Make = Callable[[type, Given], Any]  # (the kind of array, what is given) -> an argument


def square(count: int) -> tuple[int, int]:
    """Return the shape of a matrix of about as many items, of whole tiles."""
    edge = max(int(count**0.5) // 64 * 64, 1)
    return edge, edge


def twice(value):
    """Stand for a function of a user's."""
    return value + value


def nonzero(value):
    """Stand for a condition of a user's."""
    return value != 0


ARGUMENTS: dict[str, Make] = {
    "x": lambda array, given: array(given.items, given.dtype),
    "op": lambda array, given: given.op,
    "transform": lambda array, given: twice,
    "pred": lambda array, given: nonzero,
    "flags": lambda array, given: array(given.items, np.bool_),
    "bins": lambda array, given: array(255, given.dtype),
    "fn": lambda array, given: twice,
    "arrays": lambda array, given: (array(given.items, given.dtype),),
}
"""By the name of a parameter without a default."""
OWN: dict[str, dict[str, Make]] = {
    "transpose": {"x": lambda array, given: array(square(given.items), given.dtype)},
    "softmax": {"x": lambda array, given: array(square(given.items), given.dtype)},
    "histogram": {"bins": lambda array, given: 256, "range": lambda array, given: (0, 1)},
}
"""Of single functions, by name."""


def arguments_of(function: Any, array: type, given: Given) -> dict[str, Any]:
    """Return the arguments of a call; Refused where a parameter's name is not known here."""
    own, found = OWN.get(function.__name__, {}), {}
    for parameter in inspect.signature(function).parameters.values():
        make = own.get(parameter.name)
        if make is None and parameter.default is parameter.empty:
            make = ARGUMENTS.get(parameter.name)
            if make is None:
                raise Refused(f"explain: nothing is known for the argument {parameter.name} of {function.__name__}.")
        if make is not None:
            found[parameter.name] = make(array, given)
    return found


def prepared(function: Any, array: type, given: Given) -> Prepared:
    """Return a call of an array function with everything decided."""
    bound = inspect.signature(function).bind_partial()
    bound.arguments.update(arguments_of(function, array, given))
    return prepare(function, *bound.args, **bound.kwargs)


def describe(name: str, argument: Any) -> str:
    """Say in a few words what an argument is."""
    if isinstance(argument, tuple) and hasattr(argument[0], "__cuda_array_interface__"):
        return ", ".join(describe(name, part) for part in argument)
    if hasattr(argument, "__cuda_array_interface__"):
        told = argument.__cuda_array_interface__
        shape: Sequence[int] = told["shape"]
        return f"{name}: {' × '.join(f'{extent:,}' for extent in shape)} {np.dtype(told['typestr'])}"
    return f"{name}: {getattr(argument, '__name__', argument)}"
