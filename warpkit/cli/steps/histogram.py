"""How often does each byte occur? Every block counts in shared memory and adds its counts to the others' at the end."""

from typing import Any

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.simt import machine

from .data import BLOCK, Data, blocks_for

TITLE = "Histogram"
USES = ("block_histogram", "shared_array", "sync_block")
BINS = 256
BYTES_A_THREAD = 16  # at least, where the file has so many: one atomic a bin and block must pay off
MOST_BLOCKS = 1024


@cuda.jit
def count_bytes(text, counts):
    """Count in the block's own bins; all its threads take as many turns, since every turn is a collective's."""
    bins = wk.shared_array(BINS, np.int32)
    for k in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        bins[k] = 0
    wk.sync_block()
    for base in range(cuda.blockIdx.x * cuda.blockDim.x, text.size, cuda.gridsize(1)):
        i = base + cuda.threadIdx.x
        inside = i < text.size
        wk.block_histogram(bins, text[i] if inside else np.uint8(0), inside)
    for k in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, k, bins[k])


def run(data: Data) -> dict[str, Any]:
    """Return `counts`."""
    counts = machine.to_device(np.zeros(BINS, np.int32))
    blocks = min(blocks_for(-(-data.text.size // BYTES_A_THREAD)), MOST_BLOCKS)
    machine.launch(count_bytes, blocks, BLOCK, machine.to_device(data.text), counts)
    return {"counts": machine.to_host(counts)}


def expected(data: Data) -> dict[str, Any]:
    """Return `counts` by NumPy."""
    return {"counts": np.bincount(data.text, minlength=BINS).astype(np.int32)}


def show(answer: dict[str, Any]) -> str:
    """Say how many different bytes there are, and name the commonest."""
    counts = answer["counts"]
    first = int(counts.argmax())
    return f"{(counts > 0).sum()} values, {first} most often: {counts[first]:,}"
