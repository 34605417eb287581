"""Which line is the longest? A reduction with an operator of our own, on a pair: (length, line)."""

from typing import Any

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.simt import machine

from .data import EVERY_LANE, Data

TITLE = "Longest line"
USES = ("warp_reduce, own operator",)
WARPS = 64


@cuda.jit(device=True)
def longer(a, b):
    """Return the pair with the greater length; of equals the one with the smaller line number."""
    if b[0] > a[0] or (b[0] == a[0] and b[1] < a[1]):
        return b
    return a


@cuda.jit
def longest_line(lengths, numbers, best_length, best_number):
    """Each warp finds the best pair of its share and writes it; launched again on what the warps wrote, one is left."""
    thread = cuda.grid(1)
    best = (np.int32(-1), np.int32(0))
    for i in range(thread, lengths.size, cuda.gridsize(1)):
        best = longer(best, (lengths[i], numbers[i]))
    best = wk.warp_reduce(best, longer, mask=EVERY_LANE)
    if wk.warp_lane_id() == 0:
        best_length[thread // 32] = best[0]
        best_number[thread // 32] = best[1]


def run(data: Data) -> dict[str, Any]:
    """Return `length` and `line` (from 0) of the first longest line."""
    lengths = machine.to_device(data.lengths)
    numbers = machine.to_device(np.arange(data.lengths.size, dtype=np.int32))
    warps = min(WARPS, -(-data.lengths.size // 32))
    best_lengths, best_numbers = machine.empty(warps, np.int32), machine.empty(warps, np.int32)
    length, number = machine.empty(1, np.int32), machine.empty(1, np.int32)
    machine.launch(longest_line, warps, 32, lengths, numbers, best_lengths, best_numbers)
    machine.launch(longest_line, 1, 32, best_lengths, best_numbers, length, number)
    return {"length": machine.to_host(length)[0], "line": machine.to_host(number)[0]}


def expected(data: Data) -> dict[str, Any]:
    """Return `length` and `line` by NumPy."""
    line = np.int32(data.lengths.argmax())
    return {"length": data.lengths[line], "line": line}


def show(answer: dict[str, Any]) -> str:
    """Name the line as an editor would."""
    return f"line {answer['line'] + 1:,}: {answer['length']:,} bytes"
