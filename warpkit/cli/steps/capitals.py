"""The file in capital letters: a loop from the host, a function for every index."""

from typing import Any

import numpy as np

import warpkit as wk
from warpkit.simt import machine

from .data import Data

TITLE = "Capitals"
USES = ("parallel_for",)
A, Z, DOWN = ord("a"), ord("z"), ord("a") - ord("A")


def capitalise(i, text, out):
    """Write byte `i`, a small letter as a capital one."""
    small = A <= text[i] <= Z
    out[i] = text[i] - DOWN if small else text[i]


def run(data: Data) -> dict[str, Any]:
    """Return `capitals`."""
    out = machine.empty(data.text.size, np.uint8)
    wk.parallel_for(data.text.size, capitalise, machine.to_device(data.text), out)
    return {"capitals": machine.to_host(out)}


def expected(data: Data) -> dict[str, Any]:
    """Return `capitals` by NumPy."""
    text = data.text
    return {"capitals": np.where((text >= A) & (text <= Z), text - DOWN, text).astype(np.uint8)}


def show(answer: dict[str, Any]) -> str:
    """Show the beginning of the first line that has letters, without what a terminal might obey."""
    text = bytes(answer["capitals"][:400]).decode("ascii", "replace")
    lines = [line.strip() for line in text.splitlines()]
    first = next((line for line in lines if any(map(str.isalpha, line))), "no letters at the beginning")
    shown = "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in first)
    return shown if len(shown) <= 24 else shown[:23] + "…"
