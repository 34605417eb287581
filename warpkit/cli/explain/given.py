"""What a call is explained for, and what is asked of a function: for the kernels of `explain`."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

FULL = 0xFFFFFFFF
# How a warp function is told who takes part: what `mask=` gets of a mask that is known at run time.
MASKS: dict[str, Callable[[Any], Any]] = {
    "no mask": lambda m: None,
    "a literal full mask": lambda m: FULL,
    "a mask of run time": lambda m: m,
}
Body = Callable[..., Any]


@dataclass(frozen=True)
class Given:
    """What a call is explained for. items: a thread's.  masked: what `mask=` gets."""

    dtype: np.dtype[Any]
    width: int
    items: int
    op: Any
    masked: Callable[[Any], Any] = MASKS["no mask"]


def required(function: Any) -> tuple[str, ...]:
    """Return the names of a function's parameters that have no default."""
    found = inspect.signature(function).parameters.values()
    return tuple(parameter.name for parameter in found if parameter.default is parameter.empty)


def takes(function: Any, name: str) -> bool:
    """Return whether a function has a parameter of this name."""
    return name in inspect.signature(function).parameters
