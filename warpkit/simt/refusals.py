"""Refusing what an operation does not take: one sentence, with the user's own file and line."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import numba
from numba import cuda

from ..errors import Refused

_LIBRARY = str(Path(__file__).resolve().parent.parent)
_NO_USERS = (_LIBRARY, *(str(Path(package.__file__).parent) for package in (numba, cuda)), "<")
_COMPILING = ("CallConstraint", "CUDALower")  # what of Numba's is at a line of the source


def refuse(sentence: str) -> NoReturn:
    """Raise `Refused` with `sentence` and the place in the user's code that asked for it."""
    place = _users_place()
    raise Refused(f"{sentence} ({place})" if place else sentence)


def _users_place() -> str | None:
    """Return file:line of the innermost call that is not the library's own; None where no frame of the user's is left.

    While Numba types a kernel, the source lines are in its call constraints (a frame of the compiler each), while it
    generates code in what lowers a function; in the simulator they are in the Python frames themselves.
    """
    frame: FrameType | None = sys._getframe(2)
    running = None
    while frame is not None:
        owner: Any = frame.f_locals.get("self")
        if type(owner).__name__ in _COMPILING and not str(owner.loc.filename).startswith(_LIBRARY):
            return f"{owner.loc.filename}:{owner.loc.line}"
        if running is None and not frame.f_code.co_filename.startswith(_NO_USERS):
            running = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return running
