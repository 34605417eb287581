"""A checksum: all 32-bit words of the file, combined by exclusive or."""

from typing import Any

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.simt import machine

from .data import BLOCK, EVERY_LANE, Data, blocks_for

TITLE = "Checksum"
USES = ("warp_active_bit_xor",)
MOST_BLOCKS = 1024


@cuda.jit
def xor_words(words, checksum):
    """Each thread combines every gridsize-th word, each warp its 32 results, and one lane adds that to the checksum."""
    own = np.uint32(0)
    for i in range(cuda.grid(1), words.size, cuda.gridsize(1)):
        own = np.uint32(own ^ words[i])  # in Numba uint32 ^ uint32 is a uint64
    together = wk.warp_active_bit_xor(own, mask=EVERY_LANE)
    if wk.warp_lane_id() == 0:
        cuda.atomic.xor(checksum, 0, together)


def words_of(data: Data) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return the file as 32-bit words, filled up with zeros."""
    return np.pad(data.text, (0, -data.text.size % 4)).view(np.uint32)


def run(data: Data) -> dict[str, Any]:
    """Return `checksum`."""
    words = words_of(data)
    checksum = machine.to_device(np.zeros(1, np.uint32))
    machine.launch(xor_words, min(blocks_for(words.size), MOST_BLOCKS), BLOCK, machine.to_device(words), checksum)
    return {"checksum": machine.to_host(checksum)[0]}


def expected(data: Data) -> dict[str, Any]:
    """Return `checksum` by NumPy."""
    return {"checksum": np.bitwise_xor.reduce(words_of(data))}


def show(answer: dict[str, Any]) -> str:
    """Show the checksum as hexadecimal digits."""
    return f"{answer['checksum']:08x}"
