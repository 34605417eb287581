"""warpkit: warp, block and device-wide collectives for numba.cuda, in pure Python."""

from . import _versions

_versions.check()

from . import block, errors, ops, warp
from .block import *  # noqa: F403
from .errors import *  # noqa: F403
from .ops import *  # noqa: F403
from .warp import *  # noqa: F403

__version__ = _versions.__version__
__all__ = [*errors.__all__, *ops.__all__, *warp.__all__, *block.__all__]
