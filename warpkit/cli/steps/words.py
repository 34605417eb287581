"""How many words? A sum from the host: what a function returns for every index."""

from typing import Any

import numpy as np

import warpkit as wk
from warpkit.simt import machine

from .data import Data

TITLE = "Words"
USES = ("parallel_reduce_sum",)
SPACE = 32  # it and all below it separate words


def begins_word(i, text):
    """Return 1 where a word begins, else 0."""
    if text[i] <= SPACE:
        return 0
    if i > 0 and text[i - 1] > SPACE:
        return 0
    return 1


def run(data: Data) -> dict[str, Any]:
    """Return `words`."""
    return {"words": wk.parallel_reduce_sum(data.text.size, begins_word, machine.to_device(data.text))}


def expected(data: Data) -> dict[str, Any]:
    """Return `words` by NumPy."""
    inside = data.text > SPACE
    return {"words": np.count_nonzero(inside & ~np.concatenate(([False], inside[:-1])))}


def show(answer: dict[str, Any]) -> str:
    """Say how many there are."""
    count = int(answer["words"])
    return f"{count:,} word" + "s" * (count != 1)
