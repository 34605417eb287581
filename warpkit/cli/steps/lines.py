"""Where does each line start? Three launches, as in any scan over more than a warp: count, scan the counts, place."""

from typing import Any

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.simt import machine

from .data import BLOCK, EVERY_LANE, NEWLINE, Data, blocks_for

TITLE = "Line index"
USES = ("warp_active_bit_mask", "warp_prefix_sum", "warp_prefix_count_bits")


@cuda.jit
def count_newlines(text, counts):
    """Count the newlines among the 32 bytes of each warp: one vote gives all lanes one bit a lane."""
    i = cuda.grid(1)
    newlines = wk.warp_active_bit_mask(i < text.size and text[i] == NEWLINE, mask=EVERY_LANE)
    if wk.warp_lane_id() == 0:
        counts[i // 32] = cuda.popc(newlines)


@cuda.jit
def scan_counts(counts, before):
    """Turn counts into the number of newlines before each warp's bytes; one warp walks over all of them."""
    lane = wk.warp_lane_id()
    carry = np.int64(0)
    for base in range(0, counts.size, 32):
        i = base + lane
        count = np.int64(counts[i]) if i < counts.size else np.int64(0)
        prefix = carry + wk.warp_prefix_sum(count, mask=EVERY_LANE)
        if i < counts.size:
            before[i] = prefix
        carry = wk.warp_read_lane(prefix + count, 31, mask=EVERY_LANE)


@cuda.jit
def place_starts(text, before, starts):
    """Write the position after each newline to the slot of its line; the file's first line starts at 0."""
    i = cuda.grid(1)
    newline = i < text.size and text[i] == NEWLINE
    rank = wk.warp_prefix_count_bits(newline, mask=EVERY_LANE)
    if i == 0:
        starts[0] = 0
    if newline and i + 1 < text.size:
        starts[1 + before[i // 32] + rank] = i + 1


def run(data: Data) -> dict[str, Any]:
    """Return `starts`."""
    blocks = blocks_for(data.text.size)
    text = machine.to_device(data.text)
    counts = machine.empty(blocks * BLOCK // 32, np.int32)
    before = machine.empty(counts.size, np.int64)
    machine.launch(count_newlines, blocks, BLOCK, text, counts)
    machine.launch(scan_counts, 1, 32, counts, before)
    newlines = int(machine.to_host(before)[-1] + machine.to_host(counts)[-1])
    starts = machine.empty(newlines + (data.text[-1] != NEWLINE), np.int64)
    machine.launch(place_starts, blocks, BLOCK, text, before, starts)
    return {"starts": machine.to_host(starts)}


def expected(data: Data) -> dict[str, Any]:
    """Return `starts` by NumPy."""
    return {"starts": data.starts}


def show(answer: dict[str, Any]) -> str:
    """Say how many lines there are."""
    count = len(answer["starts"])
    return f"{count:,} line" + "s" * (count != 1)
