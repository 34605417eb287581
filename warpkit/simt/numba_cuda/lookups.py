"""Three repairs: Numba need not look again for what it has found.

Its contexts go through all of their registries, which takes milliseconds, for every function that they compile and
every array whose shape it asks for; when they are first filled, through all of them once for each method found. And
what `+` means for two integers it finds out anew at every `+`, up to five times, among a dozen implementations. Of what
generates a call it asks at every call for the signature.
"""

import types as python
import weakref

from numba.cuda import types
from numba.cuda.core import base
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


def _remember_parameters() -> None:
    """Let Numba look once whether what generates the code of a call wants to know the line, not at each call."""
    look = base._has_loc
    known: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()

    def has_loc(function):
        try:
            return known[function]
        except KeyError:
            answer = known[function] = look(function)
        except TypeError:  # it cannot be referred to
            answer = look(function)
        return answer

    base._has_loc = has_loc


_remember_parameters()
_refresh_where_needed(cuda_target.target_context, cuda_target.typing_context)
