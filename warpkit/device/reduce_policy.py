"""How many blocks and threads a reduction takes, and how much each reads at once: data, measured in bench/."""

from dataclasses import dataclass

from ..errors import Refused
from .policies import check_bounds
from .reduce_few import FewShape

MOST_FEW_LOADS = 8  # in one block
MOST_SHARES = 128  # blocks whose totals one warp combines at once


@dataclass(frozen=True)
class ReducePolicy:
    """The tuning of a reduction.

    threads: of a block; a power of two, 32 to 1024.  loads: reads of up to 16 bytes that a thread has in flight; where
    the order of the items counts it is always 4.  waves: blocks of the largest grid, in grids that are resident at
    once.  least_loads: reads for which a thread is worth having, in grids of several blocks.
    single_loads: up to so many reads one block does it all.  single_threads: the most threads of that block.
    single_least: reads for which a thread is worth having in it.
    few_until: up to so many reads, where the host knows how many, kernels of their own do it, whose threads read once:
    one warp, up to few_loads times a thread, where that is enough; else one block of few_threads threads, few_loads
    times; else one of single_threads threads and up to 8 reads, up to single_loads; else blocks of `threads` threads
    and `loads` reads, at most 128 of them.

    A grid depends on the policy, the device and the number of items alone, and so do the bits of a result.
    """

    threads: int = 256
    loads: int = 4
    waves: int = 2
    least_loads: int = 4
    single_loads: int = 1 << 12
    single_threads: int = 512
    single_least: int = 4
    few_threads: int = 256
    few_loads: int = 4
    few_until: int = 1 << 16

    def __post_init__(self) -> None:
        for name in ("threads", "single_threads", "few_threads"):
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
            few_threads=(32, 1024),
            few_loads=(1, MOST_FEW_LOADS),
            few_until=(0, 1 << 24),
        )
        if self.few_loads & (self.few_loads - 1):
            raise Refused(f"ReducePolicy: few_loads must be 1, 2, 4 or 8, not {self.few_loads}.")

    def few_shape(self, reads: int) -> FewShape | None:
        """Return how the kernels of few items do so many reads; None where they do not."""
        if reads > self.few_until:
            return None
        if reads > self.single_loads:
            loads = power_of_two(self.loads)
            shape = FewShape(self.threads, loads, several=reads > self.threads * loads)
            return shape if reads <= MOST_SHARES * shape.reads else None
        if reads <= 32 * self.few_loads:
            return FewShape(32, power_of_two(max(-(-reads // 32), 1)))
        if reads <= self.few_threads * self.few_loads:
            return FewShape(self.few_threads, self.few_loads)
        loads = power_of_two(-(-self.single_loads // self.single_threads))
        shape = FewShape(self.single_threads, min(loads, MOST_FEW_LOADS))
        return shape if reads <= shape.reads else None


def power_of_two(number: int) -> int:
    """Return the smallest power of two that is not below `number`."""
    return 1 << (number - 1).bit_length()


DEFAULT = ReducePolicy()
# For (capability, bytes of an item): what was measured to be better.
BY_CAPABILITY: dict[tuple[tuple[int, int], int], ReducePolicy] = {
    ((9, 0), 1): ReducePolicy(single_loads=1 << 11),  # 16 items a read keep one block's threads busy
}


def policy_for(capability: tuple[int, int], itemsize: int) -> ReducePolicy:
    """Return the policy for a device and an item size."""
    return BY_CAPABILITY.get((capability, itemsize), DEFAULT)
