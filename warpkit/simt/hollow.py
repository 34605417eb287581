"""Copies of functions in which captured values are replaced, those of the functions that they call included.

The compiler puts placeholders where arrays were, the simulator arrays as a kernel sees them.
"""

import builtins
import functools
import types
from typing import Any

from ..errors import Refused
from .captured import is_array, is_jitted
from .constants import is_library, library_name
from .reads import reads_of


class HollowModule(types.ModuleType):
    """A user's module as copied functions see it: what they read of it, replaced."""


def empty_copy(function: Any) -> Any:
    """Return a copy of a function that captures nothing yet."""
    space = {"__builtins__": builtins, "__name__": function.__module__}
    cells = tuple(types.CellType() for _ in function.__code__.co_freevars)
    copy = types.FunctionType(function.__code__, space, function.__name__, function.__defaults__, cells)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


class Replacing:
    """What decides what stands for a captured value: `array` and `function` say it for these, which differ."""

    def __init__(self) -> None:
        self._modules: dict[int, HollowModule] = {}
        self._attributes: dict[str, None] = {}

    def array(self, array: Any) -> Any:
        """Return what stands for an array."""
        raise NotImplementedError

    def function(self, function: Any) -> Any:
        """Return what stands for a user's function, decorated or not."""
        raise NotImplementedError

    def fill(self, copy: Any, function: Any) -> Any:
        """Let a copy capture what stands for the values that `function` captures; return the copy."""
        reads = reads_of(function.__code__)
        self._attributes |= dict.fromkeys(reads.attributes)
        for name in reads.names:
            if name in function.__globals__:
                copy.__globals__[name] = self.replaced(function.__globals__[name])
        for cell, original in zip(copy.__closure__ or (), function.__closure__ or ()):
            try:
                content = original.cell_contents
            except ValueError:  # nothing in it yet
                continue
            cell.cell_contents = self.replaced(content)
        return copy

    def replaced(self, value: Any) -> Any:
        """Return what stands for a captured value; itself where it may stay."""
        if isinstance(value, tuple):
            parts = [self.replaced(part) for part in value]
            if all(new is old for new, old in zip(parts, value)):
                return value
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if is_array(value):
            return self.array(value)
        if isinstance(value, types.ModuleType):
            return value if isinstance(value, HollowModule) or is_library(value.__name__) else self._module(value)
        if isinstance(value, functools.partial | types.MethodType):
            raise Refused(f"a kernel cannot call a {type(value).__name__}: write a def or a lambda that calls it.")
        if isinstance(value, types.FunctionType) or is_jitted(value):
            return value if library_name(value) else self.function(value)
        return value

    def _module(self, module: types.ModuleType) -> HollowModule:
        hollow = self._modules.get(id(module))
        if hollow is None:
            hollow = self._modules[id(module)] = HollowModule(module.__name__)
        space, filled = vars(module), vars(hollow)
        for name in self._attributes:
            if name in space and name not in filled:
                filled[name] = None  # a module may hold itself
                filled[name] = self.replaced(space[name])
        return hollow
