"""Sets of bytes of memory: what two of them share, and whether one covers the other."""

from typing import Any

import numpy as np


class Spans:
    """Bytes of memory: sorted, disjoint [start, end)."""

    __slots__ = ("ends", "first", "last", "starts")

    def __init__(self, starts: Any, sizes: Any) -> None:
        starts, sizes = np.asarray(starts, np.int64), np.asarray(sizes, np.int64)
        order = np.argsort(starts, kind="stable")
        starts = starts[order]
        ends = np.maximum.accumulate(starts + sizes[order])
        gaps = np.flatnonzero(starts[1:] > ends[:-1])
        self.starts = starts[np.concatenate(([0], gaps + 1))]
        self.ends = ends[np.concatenate((gaps, [len(ends) - 1]))]
        self.first, self.last = int(self.starts[0]), int(self.ends[-1])

    def shared(self, other: "Spans") -> int | None:
        """Return the first byte that both have, or None."""
        if self.first >= other.last or other.first >= self.last:
            return None
        place = np.searchsorted(other.ends, self.starts, "right")
        known = np.minimum(place, len(other.ends) - 1)
        found = (place < len(other.ends)) & (other.starts[known] < self.ends)
        if not found.any():
            return None
        at = int(np.argmax(found))
        return int(max(self.starts[at], other.starts[known[at]]))

    def covers(self, other: "Spans") -> bool:
        """Return whether all of `other` is here."""
        if other.first < self.first or other.last > self.last:
            return False
        place = np.searchsorted(self.starts, other.starts, "right") - 1
        return bool((self.ends[place] >= other.ends).all())
