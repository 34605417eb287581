"""Letting go of what Numba compiled for a function that was passed on: its caches never do, and each entry is large.

An operator made in a loop is a new type each time, and every library function on its way is compiled for it: about
2 MB for a reduction. Code that runs is not concerned.
"""

import contextlib

from numba.cuda import types
from numba.cuda.descriptor import cuda_target

from .templates import Found

_CACHES = ("_impl_cache", "_impl_keys", "_compiled_overloads", "_inline_overloads", "_overload_cache")


def forget(dispatchers, kept) -> None:
    """Drop what was compiled for argument types that contain one of these device functions, also for those `kept`."""
    gone = {id(dispatcher) for dispatcher in dispatchers}
    for template in _templates():
        for name in _CACHES:
            for dropped in _drop(vars(template).get(name) or {}, gone):
                if isinstance(dropped, Found):
                    with contextlib.suppress(KeyError):  # one function's code may stand for another's calls
                        cuda_target.target_context.remove_user_function(dropped.key)
    for dispatcher in kept:
        for result in _drop(dispatcher.overloads, gone):
            cuda_target.target_context.remove_user_function(result.entry_point)


def _drop(entries, gone) -> list:
    return [entries.pop(key) for key in [key for key in entries if _mentions(key, gone)]]


def _templates() -> set:
    """Return every class that types calls of one function."""
    context = cuda_target.typing_context
    instances = {type(template) for templates in context._functions.values() for template in templates}
    known = [t for t in list(context._globals.values()) if isinstance(t, types.Function)]
    return instances.union(*[t.templates for t in known])


def _mentions(key, gone) -> bool:
    """Return True where a cache's key contains the type of one of the functions whose ids are `gone`."""
    if isinstance(key, tuple):
        return any(_mentions(part, gone) for part in key)
    if isinstance(key, types.BaseTuple):
        return any(_mentions(part, gone) for part in key.types)
    if not isinstance(key, types.Callable):
        return False
    try:
        return id(getattr(key, "dispatcher", None)) in gone
    except ReferenceError:  # nobody has it any more
        return True
