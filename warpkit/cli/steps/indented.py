"""Which lines are indented? A compaction by scans, which keeps the order: count, scan the counts, place."""

from typing import Any

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.simt import machine

from .data import BLOCK, NEWLINE, Data

TITLE = "Indented lines"
USES = ("block_sum", "block_prefix_sum_total")
ITEMS = 16  # bytes that a thread looks at in one turn
TILE = BLOCK * ITEMS
MOST_BLOCKS = BLOCK  # one block scans the counts of all
SPACE, TAB = 32, 9


@cuda.jit(device=True)
def starts_indented(text, i):
    """Return whether an indented line starts at byte `i`, which may lie behind the file."""
    if i >= text.size or (text[i] != SPACE and text[i] != TAB):
        return False
    return i == 0 or text[i - 1] == NEWLINE


@cuda.jit(device=True)
def starts_among(text, first):
    """Return how many indented lines start in the ITEMS bytes from `first` on."""
    found = np.int32(0)
    for i in range(first, first + ITEMS):
        if starts_indented(text, i):
            found = np.int32(found + 1)
    return found


@cuda.jit
def count_starts(text, part, counts):
    """Count what each block will place in its part of the file, `part` bytes."""
    begin, found = cuda.blockIdx.x * part, np.int32(0)
    for base in range(begin, begin + part, TILE):
        found = np.int32(found + starts_among(text, base + cuda.threadIdx.x * ITEMS))
    total = wk.block_sum(found)
    if cuda.threadIdx.x == 0:
        counts[cuda.blockIdx.x] = total


@cuda.jit
def scan_counts(counts, before, total):
    """Turn the counts of up to MOST_BLOCKS blocks into what lies before each, and their sum."""
    i = cuda.threadIdx.x
    prefix, everything = wk.block_prefix_sum_total(counts[i] if i < counts.size else np.int32(0))
    if i < counts.size:
        before[i] = prefix
    if i == 0:
        total[0] = everything


@cuda.jit
def place_starts(text, part, before, starts):
    """Write the starts behind those of earlier blocks, of earlier turns and of earlier threads."""
    begin, slot = cuda.blockIdx.x * part, before[cuda.blockIdx.x]
    for base in range(begin, begin + part, TILE):
        first = base + cuda.threadIdx.x * ITEMS
        rank, found = wk.block_prefix_sum_total(starts_among(text, first))
        own = slot + rank
        for i in range(first, first + ITEMS):
            if starts_indented(text, i):
                starts[own] = i
                own += 1
        slot += found


def run(data: Data) -> dict[str, Any]:
    """Return `starts`."""
    tiles = -(-data.text.size // TILE)
    turns = -(-tiles // MOST_BLOCKS)  # of each block
    blocks, part = -(-tiles // turns), turns * TILE
    text = machine.to_device(data.text)
    counts, before, total = (machine.empty(size, np.int32) for size in (blocks, blocks, 1))
    machine.launch(count_starts, blocks, BLOCK, text, part, counts)
    machine.launch(scan_counts, 1, BLOCK, counts, before, total)
    starts = machine.empty(machine.to_host(total)[0], np.int32)
    machine.launch(place_starts, blocks, BLOCK, text, part, before, starts)
    return {"starts": machine.to_host(starts)}


def expected(data: Data) -> dict[str, Any]:
    """Return `starts` by NumPy."""
    first = data.text[data.starts]
    return {"starts": data.starts[(first == SPACE) | (first == TAB)].astype(np.int32)}


def show(answer: dict[str, Any]) -> str:
    """Say how many there are."""
    count = len(answer["starts"])
    return f"{count:,} line" + "s" * (count != 1)
