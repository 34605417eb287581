"""Which lines are long? A queue: each block reserves its slots by one atomic, whichever block comes first."""

from typing import Any

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.simt import machine

from .data import BLOCK, Data, blocks_for

TITLE = "Long lines"
USES = ("block_queue_push_if",)
LIMIT = 72  # bytes


@cuda.jit
def push_long_lines(lengths, numbers, count):
    """Append the number of every line that is too long."""
    i = cuda.grid(1)
    wk.block_queue_push_if(numbers, count, np.int32(i), i < lengths.size and lengths[i] > LIMIT)


def run(data: Data) -> dict[str, Any]:
    """Return `lines` (from 0), sorted: the queue has them in the order in which blocks came."""
    numbers = machine.empty(data.lengths.size, np.int32)
    count = machine.to_device(np.zeros(1, np.uint32))
    blocks = blocks_for(data.lengths.size)
    machine.launch(push_long_lines, blocks, BLOCK, machine.to_device(data.lengths), numbers, count)
    return {"lines": np.sort(machine.to_host(numbers[: int(machine.to_host(count)[0])]))}


def expected(data: Data) -> dict[str, Any]:
    """Return `lines` by NumPy."""
    return {"lines": np.flatnonzero(data.lengths > LIMIT).astype(np.int32)}


def show(answer: dict[str, Any]) -> str:
    """Say how many there are."""
    return f"{len(answer['lines']):,} over {LIMIT} bytes"
