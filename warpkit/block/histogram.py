"""Counting in bins that a block shares."""

from ..simt.kinds import Kind
from ..simt.machine import device_function
from ..simt.memory import atomic_add
from ..simt.refusals import refuse
from ..simt.sync import barrier
from ..warp.participants import check_scalar_predicate

COUNTERS = ("int32", "uint32", "uint64", "float32", "float64")  # what an atomic add works on


def _check(bins: Kind, bin: Kind, pred: Kind) -> None:
    if bins.ndim != 1 or not bins.parts or bins.parts[0].name not in COUNTERS:
        refuse(
            f"block_histogram: bins must be a one-dimensional shared_array of {', '.join(COUNTERS)}, not {bins.name}."
        )
    if not bin.is_integer:
        refuse(f"block_histogram: bin must be an integer, not {bin.name}.")
    check_scalar_predicate("block_histogram", pred)


@device_function(_check)
def block_histogram(bins, bin, pred=True):
    """Add 1 to `bins[bin]` for every thread of the block with a true `pred`.

    Called by: all threads of the block, once for each of a thread's items.
    Args: bins: a one-dimensional shared_array of counters (any array works). It is not cleared: fill it with 0 and call
    `sync_block` first.  bin: the number of a bin; one outside the array is not counted.  pred: bool or an integer.
    Returns: nothing; the bins hold the counts for all threads to read.
    Storage: the caller's bins.  Order: integer counts do not depend on it.
    Cost: 1 barrier; one shared atomic a thread, which the hardware adds up for lanes that meet in one bin.
    Example: 128 threads call with bin 0 -> bins[0] is 128 more.
    """
    if pred != 0 and 0 <= bin and bin < bins.size:
        atomic_add(bins, bin, 1)
    barrier()
