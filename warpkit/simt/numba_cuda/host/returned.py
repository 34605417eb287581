"""What a function returns, for host code that has to make room for it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...specs import Returned, Spec
from .devices import properties


def returned_dtype(function: Any, dtypes: Sequence[np.dtype[Any]]) -> Returned:
    """Return what a device or Python function returns for one value of each dtype.

    A structured dtype stands for the tuple of its fields, as argument and as result.
    Errors: Refused for what is neither a number nor a tuple of numbers; those of the compiler.
    """
    from ..returned import returned_dtype as compiled  # the compiler is dear to import

    return compiled(function, dtypes, properties().compute_capability)


def returned_by(function: Any, specs: Sequence[Spec], payloads: Sequence[Any]) -> Returned:
    """Return what a Python function returns for arguments of these types, called once in a kernel.

    A tuple of numbers is a structured dtype. What the function captures, arrays too, may be anything that a kernel's
    may. Nothing is launched; the payloads are for the simulator.
    Errors: Refused for what is neither a number nor a tuple of numbers; those of the compiler.
    """
    from ..returned import returned_by as compiled

    return compiled(function, specs, properties().compute_capability)
