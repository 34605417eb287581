"""The file in cipher, piece by piece: while a piece is on the GPU, the host takes in those before it.

Each piece is one command list (up, a loop, down) with a callback, submitted without waiting; the callbacks come one
after the other, in the order of the pieces, so they may carry a checksum on.
"""

import zlib
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import warpkit as wk
from warpkit.simt import machine

from .data import Data

TITLE = "Piped cipher"
USES = ("CommandList", "parallel_for", "upload, download", "add_callback")
PIECES = 8
LEAST = 512  # bytes of a piece


def turn(i, text, out):
    """Write byte `i`, a letter as the one 13 places on: doing it twice gives the text again."""
    letter, first = text[i] | 32, 97  # as a small one
    if first <= letter < first + 13:
        out[i] = text[i] + 13
    elif first + 13 <= letter < first + 26:
        out[i] = text[i] - 13
    else:
        out[i] = text[i]


class Summary:
    """What the callbacks gather: how many pieces there were, and the CRC-32 of all so far."""

    def __init__(self) -> None:
        self.pieces, self.crc = 0, 0

    def take(self, piece: NDArray[np.uint8]) -> None:
        """Take in the next piece."""
        self.pieces, self.crc = self.pieces + 1, zlib.crc32(piece.tobytes(), self.crc)


def pieces_of(text: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """Cut the text."""
    return np.array_split(text, max(1, min(PIECES, text.size // LEAST)))


def run(data: Data) -> dict[str, Any]:
    """Return `pieces` and `crc`."""
    pieces, summary, stream = pieces_of(data.text), Summary(), wk.Stream()
    text, out = (machine.empty(pieces[0].size, np.uint8) for _ in range(2))  # the first piece is the longest
    for piece in pieces:
        arrived, size = np.empty_like(piece), piece.size
        commands = wk.CommandList()
        commands.upload(text[:size], piece)
        commands.parallel_for(size, turn, text[:size], out[:size])
        commands.download(arrived, out[:size])
        commands.add_callback(partial(summary.take, arrived))
        stream << commands.commit()
    stream.synchronize()
    return {"pieces": summary.pieces, "crc": summary.crc}


def expected(data: Data) -> dict[str, Any]:
    """Return `pieces` and `crc` by NumPy."""
    code = np.arange(256, dtype=np.uint8)
    for first in (b"A"[0], b"a"[0]):
        code[first : first + 26] = np.roll(code[first : first + 26], -13)
    return {"pieces": len(pieces_of(data.text)), "crc": zlib.crc32(code[data.text].tobytes())}


def show(answer: dict[str, Any]) -> str:
    """Show the checksum."""
    return f"{answer['pieces']} piece" + "s" * (answer["pieces"] != 1) + f", CRC-32 {answer['crc']:08x}"
