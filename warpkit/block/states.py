"""Tile states on the host: making them, and making them as new."""

from typing import Any

import numpy as np

from ..simt import machine
from ..simt.refusals import refuse
from ..simt.states import state_dtype

HEAD = 16  # states before that of tile 0: counter and turn stay out of the cache lines that are polled
MOST_TILES = 1 << 28


def tile_states(num_tiles: int, dtype: Any) -> Any:
    """Return states for look-back over at most `num_tiles` tiles: a plain device array, ready for its first launch.

    Args: num_tiles: a capacity; a launch may use fewer.  dtype: of the aggregates: any NumPy scalar dtype, complex, a
    structured dtype or a tuple of dtypes, nested too; for a CUDA vector the tuple of its components.
    Returns: a one-dimensional device array; its elements mean nothing to the host. One launch at a time may use it.
    Size: 8 bytes a tile for values of at most 4 bytes, 16 for at most 12, else 16 + twice the value, and 16 tiles more.
    Errors: Refused for a dtype that holds no numbers, ValueError for a number of tiles that is negative or over 2**28.
    """
    if not 0 <= num_tiles <= MOST_TILES:
        raise ValueError(f"tile_states: num_tiles must be 0 to {MOST_TILES}, not {num_tiles}.")
    carried = state_dtype(packed_dtype("tile_states", dtype))
    if (num_tiles + HEAD) * carried.itemsize >= 1 << 33:
        raise ValueError(f"tile_states: {num_tiles} states of {carried.itemsize} bytes exceed 8 GB; use larger tiles.")
    return machine.zeros(int(num_tiles) + HEAD, carried)


def reset_tile_states(states: Any, stream: Any = None) -> None:
    """Make states as new: needed only after a launch that was aborted or in which a block did not draw until −1.

    Args: stream: the stream of the launches before and after (a numba stream; None: the default stream).

    Returns: nothing. Host code.
    """
    machine.clear(states, stream)


def packed_dtype(name: str, dtype: Any) -> np.dtype:
    """Return a scalar dtype, a structured one or a tuple of dtypes as one without holes. Host code."""
    if isinstance(dtype, tuple):
        parts = [(f"f{k}", packed_dtype(name, part)) for k, part in enumerate(dtype)]
    else:
        dtype = np.dtype(dtype)
        parts = [(field, packed_dtype(name, dtype[field])) for field in dtype.names or ()]
    if parts:
        return np.dtype(parts)
    if isinstance(dtype, tuple) or dtype.kind not in "biufc" or dtype.itemsize > 16:
        refuse(f"{name}: dtype must be a NumPy number, a structured dtype or a tuple of these, not {dtype}.")
    return dtype
