"""How a transposition cuts a matrix into tiles: data, measured in bench/."""

from dataclasses import dataclass

from ..errors import Refused

LONGEST = 16  # bytes of an access, and of an item


@dataclass(frozen=True)
class TransposePolicy:
    """The tuning of a transposition. threads: of a block; 128, 256, 512.  edge: of a tile; 0: by the items' size."""

    threads: int = 256
    edge: int = 0

    def __post_init__(self) -> None:
        if self.threads not in (128, 256, 512):
            raise Refused(f"TransposePolicy: threads must be 128, 256 or 512, not {self.threads!r}.")
        if self.edge not in (0, 32, 64, 128):
            raise Refused(f"TransposePolicy: edge must be 0, 32, 64 or 128, not {self.edge!r}.")

    def edge_for(self, itemsize: int) -> int:
        """Return the edge of a tile: at most 48 KB in all, and 16 bytes for every thread."""
        edge = self.edge or (128 if itemsize == 1 else 64 if itemsize <= 4 else 32)
        if edge * (edge + 4) * itemsize > 48 << 10:
            return 32
        while edge * edge * itemsize < self.threads * LONGEST:
            edge *= 2
        return edge
