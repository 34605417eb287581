"""What the steps work on: the bytes of a file, and the lengths of its lines as NumPy finds them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NEWLINE = 10
BLOCK = 128  # threads: four warps
# Who takes part, said aloud. Lanes that went different ways before a call (an `and`, a loop of unequal turns)
# need not be together again when they make it; a mask makes them wait for each other.
EVERY_LANE = 0xFFFFFFFF


@dataclass(frozen=True)
class Data:
    """The bytes of a file, at least one; a step reads what it needs."""

    text: NDArray[np.uint8]

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each line starts; text after the last newline is a line, nothing after it is none."""
        after = np.flatnonzero(self.text == NEWLINE) + 1
        return np.concatenate(([0], after[after < self.text.size]))

    @property
    def lengths(self) -> NDArray[np.int32]:
        """The length of each line in bytes, without its newline."""
        starts = self.starts
        ends = np.append(starts[1:], self.text.size)
        return (ends - starts - (self.text[ends - 1] == NEWLINE)).astype(np.int32)


def blocks_for(threads: int) -> int:
    """Return how many blocks of BLOCK threads give each item a thread."""
    return -(-threads // BLOCK)


def differs(answer: dict[str, Any], expected: dict[str, Any]) -> str | None:
    """Return what differs, or None: integers must be equal, floats within 2e-6 (another summation order)."""
    for name, right in expected.items():
        got, right = np.asarray(answer[name]), np.asarray(right)
        if got.shape != right.shape or got.dtype != right.dtype:
            return f"{name}: {got.dtype}{list(got.shape)} instead of {right.dtype}{list(right.shape)}"
        same = np.isclose(got, right, rtol=2e-6, atol=0) if right.dtype.kind == "f" else got == right
        if not same.all():
            first = int(np.flatnonzero(~same.ravel())[0])
            return f"{name}[{first}]: {got.ravel()[first]} instead of {right.ravel()[first]}"
    return None
