"""What a function *is* for a cache of compiled code: its code and everything it captures, by type and value.

Two functions with one key compile to one kernel: equal closures made anew, or a global that went and came back. What a
library defines (Python, NumPy, Numba, warpkit) counts by its name. Captured arrays count by dtype, dimensions and
layout only: the compiler makes arguments of them.
"""

import functools
import itertools
import sys
import types
import weakref
from typing import Any

from .captured import Bound, is_array, is_jitted, jitted, spec_of
from .constants import TERMS, Key, Same, constant_term, is_library, key_of, library_name
from .reads import reads_of
from .specs import ArraySpec

MOST_REMEMBERED = 4096
_ABSENT = object()  # stands for a name or a cell without a value


class Identity:
    """What a function is.

    key: hashable, one object for all functions that compile alike.  digest: the same in every process, or None.
    arrays: the captured arrays in a fixed order; specs: as what the compiler takes each. NumPy arrays are taken
    contiguous and read-only: a kernel gets a copy.
    """

    __slots__ = ("arrays", "key", "specs")

    def __init__(self, key: Key, arrays: tuple[Any, ...], specs: tuple[ArraySpec, ...]) -> None:
        self.key, self.arrays, self.specs = key, arrays, specs

    @property
    def digest(self) -> str | None:
        """Text for a cache on disk; None where something captured is known only as an object of this process."""
        return self.key.digest


def identity(function: Any) -> Identity:
    """Return what a function is: the same object as before, as long as nothing that it captures has changed.

    Called by: host code, from any thread.
    Args: function: a plain function, a `cuda.jit` kernel or device function, a partial, a method.
    Cost: 1–2 µs for a function seen before, 5–10 µs for a new closure of known code.
    """
    return look(function).identity


def look(function: Any) -> "Look":
    """Return a look at a function: what its `identity` is, as long as it `holds`."""
    found = _memo.get(_reference(function))
    return found if found is not None and found.holds(function) else _look_at(function, {})


def _look_at(function: Any, above: dict[int, int]) -> "Look":
    """Return what there is to know about a function; `above`: those that are being looked at, and their depths."""
    known = _memo.get(_reference(function)) if above else None
    if known is not None and not known.cyclic and known.holds(function):
        return known  # but in a cycle of calls what it is depends on where one enters
    look = Look(function, above)
    if look.lowest >= len(above):
        look.lowest = sys.maxsize
        if len(_memo) >= MOST_REMEMBERED:
            for oldest in list(itertools.islice(_memo, MOST_REMEMBERED // 4)):
                _memo.pop(oldest, None)
        _memo[_reference(function, _forget)] = look
    return look


_reference = weakref.ref
_memo: "dict[weakref.ref[Any], Look]" = {}


def _forget(reference: "weakref.ref[Any]", memo: "dict[weakref.ref[Any], Look]" = _memo) -> None:
    memo.pop(reference, None)  # not the global, which is gone before the last functions


class Look:
    """One look at a function: what it is, and what that rests on.

    names: (namespace, name, value) of each global and module attribute that it reads; cells: (closure cell, value);
    called: (function, look) of all functions below.  lowest: the depth of the outermost function above that it calls;
    cyclic: True where it or what it calls does such a thing.
    """

    __slots__ = (
        "above", "arrays", "attributes", "called", "cells", "code", "cyclic", "defaults", "flat", "identity", "lowest",
        "modules", "names", "specs",
    )  # fmt: skip

    def __init__(self, function: Any, above: dict[int, int]) -> None:
        self.above, self.lowest, self.cyclic = above, len(above), False
        plain = type(function) is types.FunctionType
        self.code: types.CodeType | None = function.__code__ if plain else None
        self.defaults: tuple[Any, ...] | None = function.__defaults__ if plain else None
        self.names: list[tuple[dict[str, Any], str, Any]] = []
        self.cells: list[tuple[Any, Any]] = []
        self.called: dict[int, tuple[Any, Look]] = {}
        self.arrays: list[Any] = []
        self.specs: list[ArraySpec] = []
        self.attributes: tuple[str, ...] = ()
        self.modules: set[int] = set()
        self.flat: Any = None
        above[id(function)] = self.lowest
        term = self._function(function)
        del above[id(function)]
        self.identity = Identity(key_of(term), tuple(self.arrays), tuple(self.specs))

    def holds(self, function: Any) -> bool:
        """Return True when every name, cell and function is what it was."""
        if self.flat is None:
            looks = [self, *[look for _, look in self.called.values()]]
            codes = [(f, look.code, look.defaults) for f, look in self.called.values() if look.code is not None]
            self.flat = [n for look in looks for n in look.names], [c for look in looks for c in look.cells], codes
        names, cells, codes = self.flat
        for space, name, value in names:
            if space.get(name, _ABSENT) is not value:
                return False
        try:
            for cell, value in cells:
                if cell.cell_contents is not value:
                    return False
        except ValueError:  # nothing in it: what is captured later may still change
            return False
        for called, code, defaults in codes:
            if called.__code__ is not code or called.__defaults__ is not defaults:
                return False
        return self.code is None or (function.__code__ is self.code and function.__defaults__ is self.defaults)

    def _function(self, function: Any) -> Any:
        """Return the term of a function of any kind."""
        if isinstance(function, types.FunctionType):
            if "<locals>" not in function.__qualname__ and (name := library_name(function)) is not None:
                return "library", *name
            return self._plain(function)
        if is_jitted(function):
            name, inner = library_name(function), jitted(function)
            return ("jit", inner.options, self._call(inner.function)) if name is None else ("library", *name)
        if isinstance(function, functools.partial):
            items = itertools.chain(function.args, *sorted(function.keywords.items()))
            return "partial", self._term(function.func), *map(self._term, items)
        if isinstance(function, types.MethodType):
            return "method", self._term(function.__func__), self._term(function.__self__)
        return constant_term(function)

    def _plain(self, function: types.FunctionType) -> Any:
        """Return the term of a Python function: code, defaults, cells, globals."""
        reads, space, quick, captured = reads_of(function.__code__), function.__globals__, TERMS.get, []
        self.attributes = reads.attributes
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # not yet
                value = _ABSENT
            self.cells.append((cell, value))
            term = quick(type(value))
            captured.append(self._term(value) if term is None else term(value))
        for name in reads.names:
            value = space.get(name, _ABSENT)
            self.names.append((space, name, value))
            captured.append(self._term(value))
        if function.__defaults__ is None and function.__kwdefaults__ is None:
            return reads.key, *captured
        return reads.key, *captured, self._frozen((function.__defaults__, function.__kwdefaults__))

    def _call(self, function: Any) -> Any:
        """Return the term of a function that this one may call, and where its arrays are among all."""
        depth = self.above.get(id(function))
        if depth is not None:  # it calls itself, perhaps by way of others
            self.lowest, self.cyclic = min(self.lowest, depth), True
            return "above", len(self.above) - depth
        look = _look_at(function, self.above)
        self.called[id(function)] = function, look
        self.called.update(look.called)
        self.lowest, self.cyclic = min(self.lowest, look.lowest), self.cyclic or look.cyclic
        known = look.identity
        if not known.arrays:
            return known.key
        return known.key, *[self._place(array, spec) for array, spec in zip(known.arrays, known.specs)]

    def _term(self, value: Any) -> Any:
        """Return the term of a captured value of any kind."""
        quick = TERMS.get(type(value))
        if quick is not None:
            return quick(value)
        if isinstance(value, _FUNCTIONS) or is_jitted(value):
            return self._call(value)
        if isinstance(value, types.ModuleType):
            name = value.__name__
            return "module", name if is_library(name) else self._module(value)
        if isinstance(value, tuple):
            fields = getattr(value, "_fields", ())
            named = (type(value).__qualname__, *fields) if fields else Same(type(value))
            return "tuple", None if type(value) is tuple else named, *map(self._term, value)
        if is_array(value):
            spec = spec_of(value)
            return "array", self._place(value, spec), spec
        if isinstance(value, Bound):
            return "bound", Same(value.function), *map(self._term, value.arrays)
        return "absent" if value is _ABSENT else constant_term(value)

    def _module(self, module: types.ModuleType) -> Any:
        """Return what the code may read of a user's module; of modules in modules too, each looked at once."""
        if id(module) in self.modules:
            return "seen"
        self.modules.add(id(module))
        space = vars(module)
        read = [(space, name, space[name]) for name in self.attributes if name in space]
        self.names += read
        return tuple([(name, self._term(value)) for _, name, value in read])

    def _place(self, array: Any, spec: ArraySpec) -> int:
        """Return the position of an array among those captured."""
        for position, known in enumerate(self.arrays):
            if known is array:
                return position
        self.arrays.append(array)
        self.specs.append(spec)
        return len(self.arrays) - 1

    def _frozen(self, value: Any) -> Any:
        """Return the term of a default: arrays in it do not become arguments, so they count as the objects they are."""
        if isinstance(value, tuple | dict):
            return type(value), *map(self._frozen, value.items() if isinstance(value, dict) else value)
        before = len(self.arrays)
        term = self._term(value)
        if len(self.arrays) == before:
            return term
        del self.arrays[before:], self.specs[before:]
        return Same(value)


_FUNCTIONS = (types.FunctionType, functools.partial, types.MethodType)
