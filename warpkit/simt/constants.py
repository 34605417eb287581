"""What a compile-time constant is: a term that compares by type and value, and text that outlives the process.

True, 1, 1.0 and np.int64(1) are four constants, 0.0 and -0.0 are two, NaN is one.
"""

import enum
import functools
import hashlib
import sys
import threading
import types
import weakref
from typing import Any

import numpy as np

# What these define is known by its name: their versions are in the key of whatever is kept on disk.
_LIBRARIES = {"numpy", "numba", "numba_cuda", "llvmlite", "cuda", "ml_dtypes", "warpkit"}


class Same:
    """The term of what has no value to compare: the object itself."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


@functools.lru_cache(1024)
def is_library(module: str | None) -> bool:
    """Return True for a module of Python, NumPy, Numba or warpkit; the steps of its tour are like a user's own."""
    root = (module or "").partition(".")[0]
    if root == "warpkit" and str(module).startswith("warpkit.cli."):
        return False
    return root in _LIBRARIES or root in sys.stdlib_module_names


def library_name(value: Any) -> tuple[str, str] | None:
    """Return (module, qualified name) of what a library offers under that name, else None."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        module, name = type(value).__module__, getattr(value, "__name__", None)  # NumPy's ufuncs
    if not isinstance(name, str) or not is_library(module):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is value else None


def constant_term(value: Any) -> Any:
    """Return the term of a constant that holds no function, array or module."""
    term = TERMS.get(type(value))
    if term is not None:
        return term(value)
    if isinstance(value, np.generic):
        return type(value), value.dtype, value.tobytes()
    if isinstance(value, np.dtype):
        return "dtype", value
    if isinstance(value, enum.Enum):
        return "member", value.name, constant_term(type(value))
    name = library_name(value)
    if name is not None:
        return "library", *name
    if isinstance(value, enum.EnumType):
        members: Any = value.__members__
        return "enum", value.__qualname__, tuple([(name, constant_term(m.value)) for name, m in members.items()])
    return ("type", value) if is_numba_type(value) else Same(value)


def is_numba_type(value: Any) -> bool:
    """Return True for a type of Numba's."""
    return any(base.__name__ == "Type" and base.__module__.startswith("numba.") for base in type(value).__mro__)


TERMS: dict[type, Any] = {
    bool: lambda value: (bool, value),
    int: lambda value: (int, value),
    float: lambda value: (float, value.hex()),
    complex: lambda value: (complex, value.real.hex(), value.imag.hex()),
    str: lambda value: (str, value),
    bytes: lambda value: (bytes, value),
    type(None): lambda value: None,
    type(Ellipsis): lambda value: "...",
}


def pinned(term: Any) -> str | None:
    """Return text that stands for a term in every process; None where there is none.

    A term is None, text, a number, bytes, a class, a dtype, a type of Numba's, a code object, `Same`, something with a
    `digest`, or a tuple of these.
    """
    if isinstance(term, tuple):
        parts = [pinned(part) for part in term]
        return None if None in parts else f"({','.join(map(str, parts))})"
    if term is None or type(term) in (bool, int, str, bytes):
        return repr(term)
    if isinstance(term, types.CodeType):
        return _pinned_code(term)
    if isinstance(term, type):
        return f"{term.__module__}.{term.__qualname__}" if is_library(term.__module__) else None
    if isinstance(term, np.dtype):
        return repr(term)
    if is_numba_type(term):
        return None if " at 0x" in str(term) else f"{type(term).__qualname__} {term}"
    return getattr(term, "digest", None)


def places(term: Any) -> str:
    """Return where the code in a term stands, line by line: what a debugger or profiler shows."""
    if isinstance(term, tuple):
        return "".join(map(places, term))
    if isinstance(term, Key):
        return places(term.term)
    if isinstance(term, types.CodeType):
        nested = places(tuple(part for part in term.co_consts if isinstance(part, types.CodeType)))
        return repr((term.co_filename, term.co_firstlineno, term.co_linetable)) + nested
    return ""


def _pinned_code(code: types.CodeType) -> str | None:
    """Return what a code object does, not where it stands."""
    constants = pinned(tuple(map(_literal_term, code.co_consts)))
    if constants is None:
        return None
    return repr((
        code.co_name, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_code,
        constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_exceptiontable,
    ))  # fmt: skip


def _literal_term(value: Any) -> Any:
    """Return the term of what stands among a code object's constants."""
    if isinstance(value, types.CodeType):
        return value
    if isinstance(value, tuple):
        return tuple(map(_literal_term, value))
    if isinstance(value, frozenset):
        return "set", *sorted(map(_literal_term, value), key=repr)
    if isinstance(value, slice):
        return "slice", *map(_literal_term, (value.start, value.stop, value.step))
    return constant_term(value)


class Key:
    """A term that is one object for all equal terms: it hashes and compares as fast as an identity."""

    __slots__ = ("__weakref__", "_digest", "term")

    def __init__(self, term: Any) -> None:
        self.term = term
        self._digest: str | None = ""

    @property
    def digest(self) -> str | None:
        """The same in every process; None where something in the term is known only as an object of this process."""
        if self._digest == "":
            text = pinned(self.term)
            self._digest = None if text is None else hashlib.sha256(text.encode()).hexdigest()
        return self._digest


_keys: dict[Any, "weakref.ref[Key]"] = {}
_keys_lock = threading.RLock()  # of the same thread again: the collector may free a key in the middle


def key_of(term: Any) -> Key:
    """Return the one key with this term."""
    found = _keys.get(term)
    key = None if found is None else found()
    if key is None:
        with _keys_lock:
            found = _keys.get(term)
            key = None if found is None else found()
            if key is None:
                key = Key(term)
                _keys[term] = weakref.ref(key, functools.partial(_forget, term))
    return key


def _forget(term: Any, reference: "weakref.ref[Key]", keys: Any = _keys, lock: Any = _keys_lock) -> None:
    with lock:  # defaults, since globals are gone before the last keys
        if keys.get(term) is reference:
            del keys[term]
