"""warpkit: warp, block and device-wide collectives for numba.cuda, in pure Python."""

from . import _versions

_versions.check()

from . import errors, ops, warp  # noqa: E402  (after the check: an unsupported pair dies inside its own import)
from .errors import *  # noqa: E402, F403
from .ops import *  # noqa: E402, F403
from .warp import *  # noqa: E402, F403

__version__ = _versions.__version__
__all__ = [*errors.__all__, *ops.__all__, *warp.__all__]
