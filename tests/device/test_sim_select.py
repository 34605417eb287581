"""Selections under random schedules of blocks and lanes, launch after launch on the same scratch."""

import numpy as np
import pytest
from numba import cuda

from tests.block.schedules import explore, found_by
from warpkit import device
from warpkit.device import select_parts

from .selections import NOT_ALONE, encoded, parted, same

RING = device.SelectPolicy(
    threads=32, nbytes=4, stages=2, blocks=2, few_threads=32, few_nbytes=4, most_tiles=0, **NOT_ALONE
)
LOOKS = [
    device.SelectPolicy(look_threads=32, look_items=1, look_states=states, look_patience=patience,
                        whole_tiles=1 << 20, **NOT_ALONE | {"look_until": 1000})
    for states, patience in ((1, 0), (2, 1), (1, 50))
]  # fmt: skip
TILES = device.SelectPolicy(threads=32, nbytes=4, few_threads=32, few_nbytes=4, most_tiles=1 << 20, **NOT_ALONE)


def data(seed):
    """Return a few tiles of items."""
    return np.random.default_rng(seed).integers(-3, 3, 1 + 37 * seed % 110).astype(np.int32)


def selecting(policy):
    """Return run(seed): a selection; not in place, which rests on dependencies that the simulator does not see."""

    def run(seed):
        x, count = data(seed), cuda.to_device(np.zeros(1, np.int64))
        there = cuda.to_device(np.zeros(x.size, np.int32))
        device.select(cuda.to_device(x), lambda v: v > 0, out=there, count_out=count, policy=policy)
        kept = x[x > 0]
        assert count.copy_to_host() == len(kept)
        assert there.copy_to_host()[: len(kept)].tolist() == kept.tolist()

    return run


def changing(policy):
    """Return run(seed): what differs from the item before it, of as many as a count on the device says."""

    def run(seed):
        x = data(seed) // 2
        number = cuda.to_device(np.array([x.size - seed % 3]))
        same(
            device.unique(cuda.to_device(x), num_items=number, policy=policy),
            encoded(x[: max(x.size - seed % 3, 0)])[0],
        )

    return run


def parting(policy):
    """Return run(seed): a partition, whose rest is turned around in small slices."""

    def run(seed):
        x = data(seed)
        items, count = device.partition(cuda.to_device(x), lambda v: v > 0, policy=policy)
        same(items, parted(x, x > 0))
        assert count == (x > 0).sum()

    return run


def encoding(policy):
    """Return run(seed): runs and their lengths."""

    def run(seed):
        x = data(seed) // 3
        values, lengths, _ = device.run_length_encode(cuda.to_device(x), policy=policy)
        same(values, encoded(x)[0])
        same(lengths, encoded(x)[1])

    return run


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    """Turn around in small slices, so that blocks share the work."""
    monkeypatch.setattr(select_parts, "SLICE", 16)


@pytest.mark.parametrize("policy", [RING, TILES], ids=["ring", "tiles"])
@pytest.mark.parametrize("make", [selecting, parting, encoding])
def test_right_under_every_schedule(make, policy):
    explore(make(policy), 4)


@pytest.mark.parametrize("policy", LOOKS, ids=["at once", "soon", "late"])
@pytest.mark.parametrize("make", [selecting, changing, parting])
def test_blocks_that_look_back_do_the_work_of_those_that_do_not_answer(make, policy):
    explore(make(policy), 6)


def test_turning_before_all_is_written_is_found(monkeypatch):
    monkeypatch.setattr(select_parts, "load_acquire", lambda numbers, at: 1 << 30)
    assert found_by(parting(TILES), BaseException, 30) is not None
