"""A softmax over every 8 bytes: `width=8` makes four groups of a warp, each on its own."""

import math
from typing import Any

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.simt import machine

from .data import BLOCK, Data, blocks_for

TITLE = "Softmax by 8"
USES = ("warp_active_max, width=8", "warp_active_sum, width=8")
SCALE = 32  # bytes 0 to 255 become 0 to 8


@cuda.jit
def softmax_of_8(text, share):
    """Give each byte its share of its group; the last group may be a part, and only its own lanes take part."""
    i = cuda.grid(1)
    if i < text.size:
        x = np.float32(text[i]) / np.float32(SCALE)
        grown = np.float32(math.exp(x - wk.warp_active_max(x, width=8)))
        share[i] = grown / wk.warp_active_sum(grown, width=8)


def run(data: Data) -> dict[str, Any]:
    """Return `share`."""
    share = machine.empty(data.text.size, np.float32)
    machine.launch(softmax_of_8, blocks_for(data.text.size), BLOCK, machine.to_device(data.text), share)
    return {"share": machine.to_host(share)}


def expected(data: Data) -> dict[str, Any]:
    """Return `share` by NumPy: lanes that are not there count as exp(-inf) = 0."""
    missing = -data.text.size % 8
    x = np.pad(data.text.astype(np.float32) / np.float32(SCALE), (0, missing), constant_values=-np.inf).reshape(-1, 8)
    grown = np.exp(x - x.max(axis=1, keepdims=True))
    return {"share": (grown / grown.sum(axis=1, keepdims=True)).ravel()[: data.text.size]}


def show(answer: dict[str, Any]) -> str:
    """Show the greatest share and where it is."""
    first = int(answer["share"].argmax())
    return f"{answer['share'][first]:.4f} at byte {first:,}"
