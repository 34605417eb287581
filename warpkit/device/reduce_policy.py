"""How many blocks and threads a reduction takes, and how much each reads at once: data, measured in bench/."""

from dataclasses import dataclass

from ..errors import Refused
from .policies import check_bounds

MOST = {"loads": 16, "waves": 64, "least_loads": 16, "single_loads": 1 << 20, "single_least": 16}


@dataclass(frozen=True)
class ReducePolicy:
    """The tuning of a reduction.

    threads: of a block; a power of two, 32 to 1024.  loads: reads of up to 16 bytes that a thread has in flight; where
    the order of the items counts it is always 4.  waves: blocks of the largest grid, in grids that are resident at
    once.  least_loads: reads for which a thread is worth having, in grids of several blocks.
    single_loads: up to so many reads one block does it all.  single_threads: the most threads of that block.
    single_least: reads for which a thread is worth having in it.

    A grid depends on the policy, the device and the number of items alone, and so do the bits of a result.
    """

    threads: int = 256
    loads: int = 4
    waves: int = 2
    least_loads: int = 4
    single_loads: int = 1 << 12
    single_threads: int = 512
    single_least: int = 4

    def __post_init__(self) -> None:
        for name in ("threads", "single_threads"):
            threads = getattr(self, name)
            if threads not in (32, 64, 128, 256, 512, 1024):
                raise Refused(f"ReducePolicy: {name} must be a power of two from 32 to 1024, not {threads!r}.")
        check_bounds(
            self,
            threads=(32, 1024),
            single_threads=(32, 1024),
            loads=(1, 16),
            waves=(1, 64),
            least_loads=(1, 16),
            single_loads=(1, 1 << 20),
            single_least=(1, 16),
        )


DEFAULT = ReducePolicy()
# For (capability, bytes of an item): what was measured to be better.
BY_CAPABILITY: dict[tuple[tuple[int, int], int], ReducePolicy] = {}


def policy_for(capability: tuple[int, int], itemsize: int) -> ReducePolicy:
    """Return the policy for a device and an item size."""
    return BY_CAPABILITY.get((capability, itemsize), DEFAULT)
