"""warpkit: warp, block and device-wide collectives for numba.cuda, in pure Python."""

import gc as _gc
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _versions

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
        if not _gc.get_freeze_count():
            _gc.freeze()  # all of it counts as old at once, or the first young collection would walk it
            _gc.unfreeze()
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
