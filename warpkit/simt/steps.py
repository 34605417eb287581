"""What a recorded list of work is made of: kernels, copies and fills, as the machine takes them."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

Triple = tuple[int, int, int]

ON_DEVICE, UPLOAD, DOWNLOAD = "copy", "upload", "download"


class KernelStep(NamedTuple):
    """A launch with everything decided; `payloads` as the machine packs them."""

    kernel: Any
    grid: Triple
    block: Triple
    shared: int
    payloads: Sequence[Any]

    @property
    def topology(self) -> Hashable:
        """What must agree for one step to take the place of another in a graph."""
        return self.kernel


class CopyStep(NamedTuple):
    """A copy of `nbytes` bytes between addresses; direction: ON_DEVICE, UPLOAD or DOWNLOAD (host side pinned)."""

    target: int
    source: int
    nbytes: int
    direction: str

    @property
    def topology(self) -> Hashable:
        """What must agree for one step to take the place of another in a graph."""
        return self.direction


class FillStep(NamedTuple):
    """`items` times the same element of 1, 2 or 4 bytes, given as an unsigned `value`."""

    target: int
    value: int
    itemsize: int
    items: int

    @property
    def topology(self) -> Hashable:
        """What must agree for one step to take the place of another in a graph."""
        return "fill"


Step = KernelStep | CopyStep | FillStep
