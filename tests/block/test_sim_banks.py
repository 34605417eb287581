"""Bank conflicts of the exchanges, by arithmetic: in the simulator `mixed` is plain Python."""

import numpy as np
import pytest
from numba import cuda

from warpkit.block.mixing import mixed
from warpkit.block.transpose import blocked_slot, striped_slot


def degree(slots, item_bytes, pool):
    """Return how often the busiest bank is hit with different words, in the worst of the passes of one access."""
    lanes_a_pass = 32 if pool or item_bytes <= 4 else 128 // item_bytes
    worst = 0
    for first in range(0, 32, lanes_a_pass):
        words = {slot * (4 if pool else item_bytes) // 4 for slot in slots[first : first + lanes_a_pass]}
        worst = max(worst, max(np.bincount([word % 32 for word in words])))
    return worst


@pytest.mark.parametrize("pool", [True, False], ids=["pool", "own scratch"])
@pytest.mark.parametrize("item_bytes", [1, 2, 4, 8, 16])
def test_no_warp_meets_a_bank_twice(item_bytes, pool):
    scratch, most = None if pool else object(), 1 if pool or item_bytes >= 4 else 3
    for size in [*range(1, 34), 40, 64]:
        for first in (0, 96):  # the first lane's thread
            lanes = range(first, first + 32)
            blocked = [[mixed(t * size + i, size, scratch, item_bytes) for t in lanes] for i in range(size)]
            striped = [[mixed(t + i * 128, size, scratch, item_bytes) for t in lanes] for i in range(size)]
            assert max(degree(slots, item_bytes, pool) for slots in blocked) <= most, (size, "blocked")
            assert max(degree(slots, item_bytes, pool) for slots in striped) == 1, (size, "striped")


def test_every_slot_keeps_a_place_of_its_own():
    for scratch, item_bytes in [(None, 4), *((object(), 1 << k) for k in range(5))]:
        for size in range(1, 40):
            for count in (32 * size, 33 * size, 5 * size):
                assert sorted(mixed(s, size, scratch, item_bytes) for s in range(count)) == list(range(count))


@pytest.mark.parametrize("pool", [True, False], ids=["pool", "own scratch"])
@pytest.mark.parametrize("item_bytes", [1, 2, 4, 8, 16])
def test_a_warp_has_its_slots_where_the_exchanges_would(item_bytes, pool):
    scratch = None if pool else object()
    for size in [*range(1, 10), 12, 16, 24, 33, 64]:
        found = np.zeros((2, size, 32), np.int64)

        @cuda.jit
        def run(found, size=size):
            for i in range(size):
                found[0, i, cuda.threadIdx.x] = striped_slot(i, size, scratch, item_bytes)
                found[1, i, cuda.threadIdx.x] = blocked_slot(i, size, scratch, item_bytes)

        run[1, 32](found)
        for i in range(size):
            assert list(found[0, i]) == [mixed(32 * i + lane, size, scratch, item_bytes) for lane in range(32)]
            assert list(found[1, i]) == [mixed(lane * size + i, size, scratch, item_bytes) for lane in range(32)]
