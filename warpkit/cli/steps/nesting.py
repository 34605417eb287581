"""Which brackets open inside others? Map, scan and filter in one kernel: look-back carries depth and count on.

A bracket counts as +1 or −1 (map); the sum so far is the depth (scan); openings at a depth of 2 or more stay (filter).
"""

from typing import Any

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.simt import machine

from .data import BLOCK, Data

TITLE = "Nesting"
USES = ("lookback_next_tile", "lookback_exclusive_prefix", "block_inclusive_scan_items", "block_load_vectorized")
ITEMS = 16  # bytes a thread, one access
TILE = BLOCK * ITEMS
MOST_BLOCKS = 1024
OPENING, CLOSING = np.frombuffer(b"([{", np.uint8), np.frombuffer(b")]}", np.uint8)
SPACE = np.uint8(32)


@cuda.jit(device=True)
def rise_of(byte):
    """Return by how much a byte changes the depth."""
    if byte == 40 or byte == 91 or byte == 123:  # ([{
        return np.int32(1)
    if byte == 41 or byte == 93 or byte == 125:  # )]}
        return np.int32(-1)
    return np.int32(0)


@cuda.jit
def nested_brackets(text, depths, ranks, num_tiles, places, count):
    """Write the positions of the brackets that open inside others, in order; `count` becomes their number."""
    items = wk.local_array(ITEMS, np.uint8)
    depth = wk.local_array(ITEMS, np.int32)
    tile = wk.lookback_next_tile(depths, num_tiles, also=ranks)
    while tile >= 0:
        base = tile * TILE
        wk.block_load_vectorized(items, text, base, min(text.size - base, TILE), SPACE)
        for k in range(ITEMS):  # map
            depth[k] = rise_of(items[k])
        rise = wk.block_inclusive_scan_items(depth, wk.add)
        outside = wk.lookback_exclusive_prefix(depths, tile, rise, wk.add, 0)  # scan
        mine = np.int32(0)
        for k in range(ITEMS):
            mine = np.int32(mine + (rise_of(items[k]) > 0 and outside + depth[k] > 1))
        rank, found = wk.block_prefix_sum_total(mine)
        slot = wk.lookback_exclusive_prefix(ranks, tile, found, wk.add, 0) + rank  # filter
        for k in range(ITEMS):
            if rise_of(items[k]) > 0 and outside + depth[k] > 1:
                places[slot] = base + cuda.threadIdx.x * ITEMS + k
                slot += 1
        if tile == num_tiles - 1 and cuda.threadIdx.x == BLOCK - 1:
            count[0] = slot
        tile = wk.lookback_next_tile(depths, num_tiles, also=ranks)


def run(data: Data) -> dict[str, Any]:
    """Return `places`."""
    num_tiles = -(-data.text.size // TILE)
    depths, ranks = wk.tile_states(num_tiles, np.int32), wk.tile_states(num_tiles, np.int32)
    places, count = machine.empty(data.text.size, np.int32), machine.empty(1, np.int32)
    blocks = min(num_tiles, MOST_BLOCKS)
    text = machine.to_device(data.text)
    machine.launch(nested_brackets, blocks, BLOCK, text, depths, ranks, num_tiles, places, count)
    return {"places": machine.to_host(places[: int(machine.to_host(count)[0])])}


def expected(data: Data) -> dict[str, Any]:
    """Return `places` by NumPy."""
    opens = np.isin(data.text, OPENING)
    depth = np.cumsum(opens.astype(np.int32) - np.isin(data.text, CLOSING), dtype=np.int32)
    return {"places": np.flatnonzero(opens & (depth > 1)).astype(np.int32)}


def show(answer: dict[str, Any]) -> str:
    """Say how many there are."""
    count = len(answer["places"])
    return f"{count:,} bracket" + "s" * (count != 1) + " inside others"
