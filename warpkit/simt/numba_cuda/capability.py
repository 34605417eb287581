"""What the GPU that is compiled for can do, asked while code is generated."""

from numba.cuda.core import targetconfig


def at_least(*capability: int) -> bool:
    """Return True when the compute capability that code is generated for is `capability` or higher."""
    flags = targetconfig.ConfigStack.top_or_none()
    return flags is not None and tuple(flags.compute_capability or (0, 0))[:2] >= capability
