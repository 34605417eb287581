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
from .identity import Identity, Look, look

MOST_KERNELS = 1024  # kept for later; a kernel that somebody holds lives on


class Compiled(NamedTuple):
    """A kernel, and which captured arrays follow its explicit arguments."""

    kernel: machine.Kernel
    captured: tuple[int, ...]


_compiled: OrderedDict[Hashable, Compiled] = OrderedDict()
_lock = threading.RLock()


class Program:
    """What `launch` makes of a kernel function; safe from several threads."""

    __slots__ = ("__weakref__", "_look", "_table", "function", "options")

    def __init__(self, function: Any, options: Options | None = None) -> None:
        self.function, self.options = function, options or Options()
        self._look: Look | None = None
        self._table: dict[Hashable, Compiled] = {}

    def compiled(self, specs: tuple[Spec, ...]) -> tuple[Compiled, Identity]:
        """Return the kernel for arguments of these types on the current device, and what the function is by now."""
        seen = self._look
        if seen is None or not seen.holds(self.function):
            self._look = seen = look(self.function)
            self._table = {}  # a captured value has changed: what was compiled means something else
        table = self._table
        key = specs if machine.device_count() == 1 else (specs, machine.current_device())
        found = table.get(key)
        if found is None:
            check_number(self.function, len(specs))
            found = table[key] = compiled(self.function, seen.identity, specs, self.options)
        return found, seen.identity


def check_number(function: Any, given: int) -> None:
    """Refuse another number of arguments than the kernel has parameters."""
    names = list(signature(function).parameters)
    if given != len(names):
        raise Refused(
            f"launch: {function.__name__} takes {len(names)} arguments ({', '.join(names) or 'none'}), not {given}."
        )


def compiled(function: Any, known: Identity, specs: tuple[Spec, ...], options: Options) -> Compiled:
    """Return the kernel of a function for these types, from memory, from disk or from the compiler."""
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
    image = machine.compile_image(function, specs, options)
    image = replace(image, name=getattr(function, "__name__", image.name))
    cache.put(known, specs, options, capability, image)
    return image
