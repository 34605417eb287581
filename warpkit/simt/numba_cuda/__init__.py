"""The hardware half of the waist: every operation of `warpkit.simt` lowered for numba-cuda.

This package is the only place that touches Numba's internals, LLVM or PTX.
"""


def register() -> None:
    """Register every lowering with Numba; importing a file of this package does it for its operations."""
    from . import (
        arrays,
        atomics,
        bits,
        copies,
        debug,
        lanes,
        lookups,
        memory,
        modules,
        operators,
        ordered,
        shuffles,
        staging,
        states,
        sync,
        types,
        ufuncs,
        vectors,
        votes,
    )

    if debug.DEBUG:
        from . import checked_barriers
    else:
        from . import barriers
