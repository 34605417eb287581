"""What the parallel forms share: a range and a body become a kernel and the arguments of its launch.

A kernel template is compiled once for what a body *is* (code and captured values), the shape of the range and the
types of the arguments: equal closures made anew, other arrays and other extents find it again.
"""

import contextlib
import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from inspect import Parameter, signature
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from ..errors import Refused
from ..simt import machine
from ..simt.captured import is_jitted
from ..simt.specs import Options, ScalarSpec, Spec, scalar_spec, tuple_spec
from . import program
from .arrays import as_argument
from .identity import identity
from .launch import same_spec
from .ranges import Dimensions
from .ranges_walk import Walk, walk_of

MOST_KERNELS = 1024
_kernels: "dict[Hashable, Loaded]" = {}
OPTIONS = Options()


class Walked(NamedTuple):
    """A range as kernels take it: the arguments `numbers` and `steps`; `counter`: spec of a count of items."""

    walk: Walk
    counter: ScalarSpec
    specs: tuple[Spec, Spec]
    payloads: tuple[Any, Any]

    @property
    def form(self) -> tuple[int, bool, bool]:
        """What a template depends on: dimensions, whether they have steps, whether 32 bits do not count the items."""
        return self.walk.ndim, bool(self.walk.steps), self.walk.word is np.uint64

    def counts(self, *numbers: int) -> list[Any]:
        """Return counts of items as arguments."""
        return [machine.scalar_payload(self.counter, number) for number in numbers]


@functools.lru_cache(512)
def walked(dimensions: Dimensions) -> Walked:
    """Return a range that is not empty as kernels take it."""
    walk = walk_of(dimensions)
    parts = [_numbers(walk.numbers), _numbers(walk.steps)]
    (spec, payload), (step_spec, step_payload) = parts
    return Walked(walk, scalar_spec(walk.word), (spec, step_spec), (payload, step_payload))


def _numbers(numbers: Sequence[Any]) -> tuple[Spec, Any]:
    specs = [scalar_spec(number.dtype) for number in numbers]
    payloads = [machine.scalar_payload(spec, number) for spec, number in zip(specs, numbers)]
    return tuple_spec(tuple(specs)), machine.tuple_payload(payloads)


class Loaded(NamedTuple):
    """A kernel, and where among the arrays of the functions that it calls those are that follow its arguments."""

    kernel: machine.Kernel
    captured: list[int]


class Calls(NamedTuple):
    """The functions that a template calls: what decides their code, the arrays that they capture, they themselves."""

    keys: tuple[Hashable, ...]
    arrays: tuple[Any, ...]
    functions: tuple[Any, ...] = ()

    @classmethod
    def of(cls, *functions: Any) -> "Calls":
        """Return what the functions are at present."""
        if len(functions) == 1:  # without a loop: this is a part of every call
            known = identity(functions[0])
            return cls((machine.shared_key(functions[0], known.key),), known.arrays, functions)
        several = [identity(function) for function in functions]
        arrays = tuple(array for known in several for array in known.arrays)
        shared = tuple(_first(arrays, array) for array in arrays)  # an array captured by two of them is one argument
        keys = [machine.shared_key(function, known.key) for function, known in zip(functions, several)]
        return cls((*keys, shared), arrays, functions)

    def hold(self) -> bool:
        """Return whether the functions still are what they were: other threads may change what they capture."""
        return not self.functions or Calls.of(*self.functions).keys == self.keys

    def place_of(self, array: Any) -> int:
        """Return which of the arrays this one is."""
        return _first(self.arrays, array)


def _first(arrays: Sequence[Any], array: Any) -> int:
    for place, known in enumerate(arrays):
        if known is array:
            return place
    raise RuntimeError("an array that a function captures was replaced while it was compiled: make the call again.")


def kernel_of(what: Hashable, calls: Calls, template: Callable[[], tuple[Any, tuple[Spec, ...]]]) -> Loaded:
    """Return the kernel of a template: the one compiled before, or that of (function, specs) that `template` gives.

    Args: what: which template, and what decides it besides the functions that it calls, types of arguments included.
    """
    key = what, calls.keys, machine.current_device()
    found = _kernels.get(key)
    while found is None:
        function, specs = template()
        whole = identity(function)
        with contextlib.suppress(program.Changed):
            compiled = program.compiled(function, whole, specs, OPTIONS)
            places = [calls.place_of(whole.arrays[position]) for position in compiled.captured]
            found = Loaded(compiled.kernel, places)
            if calls.hold():  # else this once, and under no name
                if len(_kernels) >= MOST_KERNELS:
                    _kernels.clear()
                _kernels[key] = found
    return found


def check_function(name: str, what: str, function: Any) -> None:
    """Refuse what a kernel cannot call, as far as its type tells."""
    if type(function) is FunctionType or is_jitted(function) or isinstance(function, BuiltinFunctionType):
        return
    shown = f"the class {function.__name__}" if isinstance(function, type) else f"a {type(function).__name__}"
    raise Refused(f"{name}: {what} must be a function, not {shown}: write a def or a lambda that calls it.")


def check_arguments(name: str, what: str, function: Any, *counts: int) -> None:
    """Refuse a function that cannot be called with so many indices and arguments; the compiler would take pages."""
    given = python_function(function)
    try:
        parameters = signature(given)
    except (TypeError, ValueError):  # a builtin that says nothing
        return
    named = [parameter.name for parameter in parameters.parameters.values() if parameter.kind is Parameter.KEYWORD_ONLY]
    if named:
        raise Refused(
            f"{name}: {what} has the keyword-only parameter {named[0]}, and no kernel passes those: drop its *."
        )
    try:
        parameters.bind(*[None] * sum(counts))
    except TypeError:
        nouns = ("indices", "arguments") if len(counts) > 1 else ("values",)
        said = " and ".join(f"{count} {noun}" for count, noun in zip(counts, nouns))
        shown = f"{getattr(given, '__name__', 'it')}{parameters}"
        raise Refused(f"{name}: {what} is called with {said}, which {shown} does not take.") from None


def python_function(function: Any) -> Any:
    """Return the Python function of a device function, or itself."""
    return getattr(function, "py_func", None) or getattr(function, "fn", None) or function


def settle(stream: int) -> None:
    """Wait for what a call has made or copied on `stream` while it was prepared: it may run on any other."""
    if not machine.is_capturing(stream):
        machine.stream_synchronize(stream)


def rebound(body: Any, ndim: int, args: tuple[Any, ...], replaced: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a prepared call's arguments with some replaced, by the names that the body gives them."""
    names = _names(body, ndim, len(args))
    unknown = sorted(set(replaced) - set(names))
    if unknown:
        raise Refused(f"bind: the body has no argument {unknown[0]!r}, only {', '.join(names) or 'indices'}.")
    given = tuple([replaced.get(name, arg) for name, arg in zip(names, args)])
    for name, was, now in zip(names, args, given):
        same_spec("bind", name, as_argument(was, name).spec, as_argument(now, name).spec)
    return given


def _names(body: Any, ndim: int, count: int) -> list[str]:
    try:
        names = list(signature(python_function(body)).parameters)[ndim : ndim + count]
    except (TypeError, ValueError):
        names = []
    return names + [f"argument {place}" for place in range(len(names), count)]
