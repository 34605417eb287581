"""What a function returns, for host code that has to make room for it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .devices import properties


def returned_dtype(function: Any, dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """Return the dtype of what a device or Python function returns for one value of each dtype.

    A structured dtype stands for the tuple of its fields, as argument and as result.
    Errors: Refused for what is neither a number nor a tuple of numbers; those of the compiler.
    """
    from ..returned import returned_dtype as compiled  # the compiler is dear to import

    return compiled(function, dtypes, properties().compute_capability)
