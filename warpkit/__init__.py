"""warpkit: warp, block and device-wide collectives for numba.cuda, in pure Python."""

from . import _versions

_versions.check()

from .block import *  # noqa: F403
from .errors import *  # noqa: F403
from .host import *  # noqa: F403
from .ops import *  # noqa: F403
from .warp import *  # noqa: F403

__version__ = _versions.__version__
__all__ = sorted(name for name, value in globals().items() if callable(value) and not name.startswith("_"))
