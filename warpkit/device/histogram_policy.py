"""How histograms are launched: data, measured in bench/."""

from dataclasses import dataclass

from ..errors import Refused
from .policies import check_bounds


@dataclass(frozen=True)
class HistogramPolicy:
    """The tuning of a histogram.

    threads: of a block; a power of two, 32 to 1024.  loads: reads of up to 16 bytes that a thread has in flight.
    shared: bytes that the copies of a block's counters may take, up to 32 copies.  most_shared: up to so many bytes a
    block has counters of its own, for items of one byte always; with more bins it counts in the output itself.  worth:
    items of a block for every counter of its own.  table: bins that a block holds back from the output, a power of two.
    emptied: items of a block after which it lets them go.  resident: threads of a multiprocessor that the compiler
    leaves registers for, half of them where there is more to do for an item.  full_from: bytes of items from which on a
    multiprocessor gets more than one block with counters of its own: each adds as many sums to the output.
    """

    threads: int = 1024
    loads: int = 2
    shared: int = 1 << 15
    most_shared: int = 200 << 10
    worth: int = 2
    table: int = 1 << 12
    emptied: int = 1 << 13
    resident: int = 2048
    full_from: int = 1 << 25

    def __post_init__(self) -> None:
        if self.threads not in (32, 64, 128, 256, 512, 1024):
            raise Refused(f"HistogramPolicy: threads must be a power of two from 32 to 1024, not {self.threads!r}.")
        check_bounds(
            self, threads=(32, 1024), loads=(1, 16), shared=(0, 1 << 20), most_shared=(0, 1 << 20), worth=(1, 1 << 20),
            table=(2, 1 << 12), emptied=(1, 1 << 30), resident=(32, 2048), full_from=(0, 1 << 50),
        )  # fmt: skip
        if self.table & (self.table - 1):
            raise Refused(f"HistogramPolicy: table must be a power of two from 2 to 4096, not {self.table!r}.")


DEFAULT = HistogramPolicy()
