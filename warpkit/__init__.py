"""warpkit: warp, block and device-wide collectives for numba.cuda, in pure Python."""

import gc as _gc
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _versions
from ._collector import count_as_old as _count_as_old

_versions.check()

_collects = _gc.isenabled()
_gc.disable()  # importing makes no garbage, and each full collection on the way would walk all of Numba: 0.1 s
try:
    from .block import *  # noqa: F403
    from .errors import *  # noqa: F403
    from .host import *  # noqa: F403
    from .ops import *  # noqa: F403
    from .warp import *  # noqa: F403
finally:
    if _collects:
        _count_as_old()
        _gc.enable()

if _TYPE_CHECKING:
    from . import device as device


def __getattr__(name: str) -> object:
    """Import the array functions at their first use: kernels and loops do without them."""
    if name == "device":
        return _import_module(".device", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__version__ = _versions.__version__
__all__ = sorted(name for name, value in globals().items() if callable(value) and not name.startswith("_"))
