"""Launching the kernels of scan and select by hand: the smallest tiles, states that are kept between launches."""

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.device import scan_kernel, select_kernel
from warpkit.device.tiles import TileShape

SMALL = TileShape(32, 3, 3)


def launch(function, grid, shape, shared, *args):
    """Launch a kernel function."""
    cuda.jit(function)[grid, shape.threads, 0, shared](*args)


def scan(
    x, op=wk.add, init=None, exclusive=False, reverse=False, total=None, shape=SMALL, grid=3, ring=True, states=None
):
    """Return the scan of a one-dimensional array, done by one of the two kernels."""
    total = total or x.dtype.type
    what = scan_kernel.Scan(
        op,
        exclusive,
        init is not None,
        reverse,
        x.dtype,
        np.dtype(total),
        total,
        copied=True,
        vectors=True,
        on_device=False,
    )
    num_tiles = max(-(-len(x) // shape.tile_items), 1)
    states = wk.tile_states(num_tiles, total) if states is None else states
    make, grid = (scan_kernel.ring_kernel, grid) if ring else (scan_kernel.tile_kernel, num_tiles)
    out = np.zeros(len(x), total)
    args = x, out, total(0 if init is None else init), states, np.int64(len(x))
    launch(make(what, shape), grid, shape, scan_kernel.shared_bytes(what, shape), *args)
    return out


def compact(x, what, flags=None, out=None, shape=SMALL, grid=3, ring=True, states=None):
    """Return (what is kept, the second array that is written, the count), done by one of the two kernels."""
    num_tiles = max(-(-len(x) // shape.tile_items), 1)
    if states is None:
        states = wk.tile_states(num_tiles, (np.uint32,) * 3 if isinstance(what.zero, tuple) else np.int64)
    make, grid = (select_kernel.ring_kernel, grid) if ring else (select_kernel.tile_kernel, num_tiles)
    out, count = np.zeros(len(x), out or x.dtype), np.full(1, -1)
    more = np.full(len(x), -1)
    args = x, x if flags is None else flags, out, more, count, states, np.int64(len(x))
    launch(make(what, shape), grid, shape, select_kernel.shared_bytes(what, shape), *args)
    return out[: count[0]], more[: count[0]], int(count[0])
