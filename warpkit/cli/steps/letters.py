"""How often does each letter occur? Lanes that hold the same letter find each other and send one to the counter."""

from typing import Any

import numpy as np
from numba import cuda

import warpkit as wk
from warpkit.simt import machine

from .data import BLOCK, EVERY_LANE, Data, blocks_for

TITLE = "Letters"
USES = ("warp_match_any", "warp_multi_reduce", "warp_is_first_active_lane")
OTHER = 26  # what is no letter


@cuda.jit(device=True)
def letter_of(byte):
    """Return 0 to 25 for a letter of either case, else OTHER."""
    if 65 <= byte <= 90:
        return np.int32(byte - 65)
    if 97 <= byte <= 122:
        return np.int32(byte - 97)
    return np.int32(OTHER)


@cuda.jit
def count_letters(text, counts):
    """Add each warp's letters to the counts: one atomic a distinct letter, not one a byte."""
    i = cuda.grid(1)
    letter = letter_of(text[i]) if i < text.size else np.int32(OTHER)
    occurs = np.int32(1) if i < text.size else np.int32(0)
    peers = wk.warp_match_any(letter, mask=EVERY_LANE)
    together = wk.warp_multi_reduce(occurs, letter, wk.add, mask=EVERY_LANE)
    if wk.warp_is_first_active_lane(peers):
        cuda.atomic.add(counts, letter, together)


def run(data: Data) -> dict[str, Any]:
    """Return `counts`: a to z, then all the rest."""
    counts = machine.to_device(np.zeros(27, np.int32))
    machine.launch(count_letters, blocks_for(data.text.size), BLOCK, machine.to_device(data.text), counts)
    return {"counts": machine.to_host(counts)}


def expected(data: Data) -> dict[str, Any]:
    """Return `counts` by NumPy."""
    lower = data.text | 32
    letter = np.where((lower >= 97) & (lower <= 122), lower - 97, OTHER)
    return {"counts": np.bincount(letter, minlength=27).astype(np.int32)}


def show(answer: dict[str, Any]) -> str:
    """Name the three commonest letters."""
    counts = answer["counts"][:26]
    first = np.argsort(-counts, kind="stable")[:3]
    return ", ".join(f"{chr(97 + i)} {counts[i]:,}" for i in first if counts[i]) or "no letters"
