"""A kernel function, compiled once for each set of argument types and found again quickly.

Three caches, each for what the next would cost: this program's own table (types, device), the table of all programs by
what the function *is* (code and captured values, so that equal closures share a kernel), and files on disk.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, NamedTuple

from ..errors import Refused
from ..simt import machine
from ..simt.specs import Image, Options, Spec
from . import cache
from .identity import Identity, Look, identity, look

MOST_KERNELS = 1024  # kept for later; a kernel that somebody holds lives on


class Compiled(NamedTuple):
    """A kernel, and which captured arrays follow its explicit arguments."""

    kernel: machine.Kernel
    captured: tuple[int, ...]


class Changed(Exception):
    """Another thread changed what a function captures, before it was compiled or meanwhile: look again."""


class State:
    """A function at one moment, and what was made of it since. Whoever has one is not disturbed by a later moment.

    kernels: by types of arguments.  templates: of launches, by what the arguments have in common; None: met once.
    """

    __slots__ = ("kernels", "look", "templates")

    def __init__(self, seen: Look) -> None:
        self.look = seen
        self.kernels: dict[Hashable, Compiled] = {}
        self.templates: dict[Hashable, Any] = {}


_compiled: OrderedDict[Hashable, Compiled] = OrderedDict()
_lock = threading.RLock()


class Program:
    """What `launch` makes of a kernel function; safe from several threads."""

    __slots__ = ("__weakref__", "_state", "function", "options")

    def __init__(self, function: Any, options: Options | None = None) -> None:
        self.function, self.options = function, options or Options()
        self._state: State | None = None

    def state(self) -> State:
        """Return the function as it is by now; a new one, with nothing compiled yet, when a captured value changed."""
        state = self._state
        if state is None or not state.look.holds(self.function):
            state = self._state = State(look(self.function))
        return state

    def compiled(self, specs: tuple[Spec, ...]) -> tuple[Compiled, Identity]:
        """Return the kernel for arguments of these types on the current device, and what the function is by now."""
        key = specs if machine.device_count() == 1 else (specs, machine.current_device())
        while True:
            state = self.state()
            known = state.look.identity
            found = state.kernels.get(key)
            if found is None:
                check_number(self.function, len(specs))
                try:
                    found = state.kernels[key] = compiled(self.function, known, specs, self.options)
                except Changed:
                    continue
            return found, known


def check_number(function: Any, given: int) -> None:
    """Refuse another number of arguments than the kernel has parameters."""
    names = list(signature(function).parameters)
    if given != len(names):
        raise Refused(
            f"launch: {function.__name__} takes {len(names)} arguments ({', '.join(names) or 'none'}), not {given}."
        )


def compiled(function: Any, known: Identity, specs: tuple[Spec, ...], options: Options) -> Compiled:
    """Return the kernel of a function for these types, from memory, from disk or from the compiler.

    Errors: Changed, when the function is not `known` any more: nothing is kept under a name that may be wrong.
    """
    capability = machine.properties().compute_capability
    key = (machine.shared_key(function, known.key), specs, options, capability)
    with _lock:
        found = _compiled.get(key)
        if found is not None:
            _compiled.move_to_end(key)
            return found
        image = cache.get(known, specs, options, capability) or _compile(function, known, specs, options, capability)
        found = _compiled[key] = Compiled(machine.load(image), image.captured)
        while len(_compiled) > MOST_KERNELS:
            _compiled.popitem(last=False)
        return found


def _compile(
    function: Any, known: Identity, specs: Sequence[Spec], options: Options, capability: tuple[int, int]
) -> Image:
    check_unchanged(function, known)  # whoever came here may have waited for others
    image = machine.compile_image(function, specs, options)
    check_unchanged(function, known)
    image = replace(image, name=getattr(function, "__name__", image.name))
    cache.put(known, specs, options, capability, image)
    return image


def check_unchanged(function: Any, known: Identity) -> None:
    """Raise `Changed` when a function is not what it was."""
    if identity(function).key is not known.key:
        raise Changed
