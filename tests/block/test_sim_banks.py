"""Bank conflicts of the exchanges, by arithmetic: in the simulator `mixed` is plain Python."""

import numpy as np
import pytest

from warpkit.block.exchange import mixed


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
