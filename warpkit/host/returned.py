"""What a function of the user's returns: asked of the machine below, and known again from disk as kernels are.

To ask starts the compiler, a quarter of a second in a process that finds its kernels on disk.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..simt import machine
from ..simt.specs import Returned, Spec
from . import cache
from .identity import identity


def returned_dtype(function: Any, dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """Return the dtype of what a device or Python function returns for one value of each dtype.

    A structured dtype stands for the tuple of its fields, as argument and as result.
    Errors: Refused for what is neither a number nor a tuple of numbers; those of the compiler.
    """

    def probe(*given: Any) -> Any:
        return function(*given)

    return _known(probe, f"values {list(dtypes)!r}", lambda: machine.returned_dtype(function, dtypes))


def returned_by(function: Any, specs: Sequence[Spec], payloads: Sequence[Any]) -> np.dtype[Any]:
    """Return the dtype of what a Python function returns for arguments of these types, called once in a kernel.

    A tuple of numbers is a structured dtype. Nothing is launched; the payloads are for the simulator.
    Errors: Refused for what is neither a number nor a tuple of numbers; those of the compiler.
    """
    given = "arguments " + " ".join([spec.digest for spec in specs])
    return _known(function, given, lambda: machine.returned_by(function, specs, payloads))


def _known(function: Any, given: str, ask: Callable[[], Returned]) -> np.dtype[Any]:
    """Return what is on disk, or ask and put it there."""
    capability, known = machine.properties().compute_capability, identity(function)
    found = cache.get_dtype(known, given, capability)
    if found is not None:
        return found
    said = ask()
    if said.storable and identity(function).key is known.key:  # another thread may have changed what it captures
        cache.put_dtype(known, given, capability, said.dtype)
    return said.dtype
