"""Look-back, queue and grid reduction under random schedules: every access a switch point, blocks stalled at random.

And the reverse: with a fence, a release or a barrier taken out of them, the simulator reports it.
WARPKIT_TEST_SCHEDULES sets how many schedules each runs under (a few by default; 10,000 are run before a release).
"""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.reference import exclusive
from tests.warp import operators
from tests.warp.kinds import build_pair, store_pair
from warpkit.block import grid, lookback, queue, queue_items
from warpkit.errors import Fault, RaceFault
from warpkit.simt import memory, simulator, states, sync

from . import tiles
from .schedules import explore, found_by
from .test_lookback import filtered

FEW = 6


def look_back(dtype, op=operators.last_nonzero, meaning=operators.py_last_nonzero):
    """Return run(seed): look-back of a non-commutative operator, again and again on the same states."""
    kept = wk.tile_states(9, dtype)

    def run(seed):
        count = 1 + seed % 9
        x = np.where(np.arange(count) % 3 == seed % 3, np.arange(count) + 1, 0).astype(dtype)
        kernel = (tiles.prefixes if seed % 2 else tiles.published_ahead)(op)
        found = tiles.run(kernel, kept, x, 2 + seed % 3, 1 + seed % 4)
        assert found.tolist() == exclusive(meaning, x.tolist(), 0)

    return run


def look_back_of_pairs():
    """Return run(seed): look-back of affine maps as pairs of int64, 16 bytes: the form with acquire and release."""
    kept = wk.tile_states(6, (np.int64, np.int64))
    kernels = [tiles.of_parts(operators.affine, build_pair, store_pair, early) for early in (False, True)]
    meaning = operators.py_affine(np.int64)

    def run(seed):
        rng = np.random.default_rng(seed)
        columns = [rng.integers(-3, 4, 7) for _ in range(2)]
        outs, idle = [np.zeros(6, np.int64) for _ in range(2)], [np.zeros(1, np.int64)] * 2
        kernels[seed % 2][3, 1 + seed % 3](kept, 6, 6, *columns, *idle, *outs, *idle)
        rows = [(int(a), int(b)) for a, b in zip(*columns)]
        assert [(int(a), int(b)) for a, b in zip(*outs)] == exclusive(meaning, rows[:6], rows[6])

    return run


def two_look_backs():
    """Return run(seed): a second look-back with the tile numbers of the first, whose aggregates depend on it."""
    first, second = wk.tile_states(7, np.int32), wk.tile_states(7, np.int64)

    def run(seed):
        count = 1 + seed % 7
        x = np.random.default_rng(seed).integers(0, 9, count).astype(np.int32)
        sums, places = np.zeros_like(x), np.zeros(count, np.int32)
        filtered[2 + seed % 2, 1 + seed % 3](first, second, count, x, sums, places)
        assert (sums == tiles.sums(x)).all()
        assert (places == tiles.sums((sums % 2).astype(np.int32))).all()

    return run


@cuda.jit
def push(buffer, counter, x, slots):
    """Push the odd items, twice: the second time in order."""
    i = cuda.grid(1)
    slots[i] = wk.block_queue_push_if(buffer, counter, x[i], x[i] % 2)
    slots[i + x.size] = wk.block_queue_push_if_ordered(buffer, counter, x[i], x[i] % 2)


@cuda.jit
def push_items(buffer, counter, x, places):
    """Push the odd ones of three items a thread, twice: the second time in order."""
    i = cuda.grid(1) * 3
    items, flags, slots = wk.local_array(3, np.int64), wk.local_array(3, np.int8), wk.local_array(3, np.int32)
    for k in range(3):
        items[k] = x[i + k]
        flags[k] = x[i + k] % 2
    wk.block_queue_push_items(buffer, counter, items, flags, slots)
    for k in range(3):
        places[i + k] = slots[k]
    wk.block_queue_push_items_ordered(buffer, counter, items, flags, slots)
    for k in range(3):
        places[x.size + i + k] = slots[k]


def queues(seed):
    """Two pushes by several blocks; the second one may not fit."""
    push_twice(push, 1, seed)


def queues_of_items(seed):
    """The same with three items a thread."""
    push_twice(push_items, 3, seed)


def push_twice(kernel, size, seed):
    """Push the odd ones of `size` items a thread twice: each is there once, as far as there is room."""
    blocks, threads = 2 + seed % 3, (3, 5, 33)[seed % 3]
    count = blocks * threads * size
    x = np.random.default_rng(seed).integers(0, 1000, count)
    odd = x % 2 == 1
    buffer, counter = np.full(max(1, int(1.5 * odd.sum())), -7), np.zeros(1, np.int32)
    slots = np.zeros(2 * count, np.int64)
    kernel[blocks, threads](buffer, counter, x, slots)
    used = slots[slots >= 0]
    assert counter[0] == 2 * odd.sum()
    assert sorted(used) == list(range(min(len(buffer), counter[0])))
    assert (buffer[used] == np.concatenate([x, x])[slots >= 0]).all()
    assert (slots[~np.concatenate([odd, odd])] == -1).all()


@cuda.jit
def reduce_grid(x, out, scratch):
    """Keep the last non-zero item of the grid."""
    i = cuda.grid(1)
    is_last, total = wk.grid_reduce(x[i], operators.last_nonzero, scratch)
    if is_last:
        out[cuda.threadIdx.x] = total


def grids():
    """Return run(seed): grid reductions of a non-commutative operator, again and again with the same scratch."""
    scratch = wk.grid_scratch(5, np.int32)

    def run(seed):
        blocks, threads = 1 + seed % 5, (1, 2, 5, 33)[seed % 4]
        x = np.where(np.arange(blocks * threads) % 4 == seed % 4, np.arange(blocks * threads) + 1, 0).astype(np.int32)
        out = np.full(threads, -1, np.int32)
        reduce_grid[blocks, threads](x, out, scratch)
        assert (out == (x[x != 0][-1] if x.any() else 0)).all()

    return run


PROTOCOLS = {
    "look_back_4_bytes": lambda: look_back(np.int32),
    "look_back_8_bytes": lambda: look_back(np.int64),
    "look_back_16_bytes": look_back_of_pairs,
    "two_look_backs": two_look_backs,
    "queue": lambda: queues,
    "queue_of_items": lambda: queues_of_items,
    "grid_reduce": grids,
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_right_under_random_schedules(name):
    explore(PROTOCOLS[name](), FEW)


def plain_store(array, index, value):
    """Store without any order."""
    simulator.write(array, index, value)


def nothing(*_):
    """Do nothing where something ought to be done."""


def plain_add(array, index, value):
    """Add in two steps."""
    old = array[index]
    array[index] = old + value
    return old


# What is taken out: the protocol, the module that calls it, its name there, what stands in its place.
REMOVED = {
    "look-back: state stored plainly": ("look_back_4_bytes", states, "store_relaxed", plain_store),
    "look-back: state of 16 bytes stored plainly": ("look_back_8_bytes", states, "store_relaxed", plain_store),
    "look-back: tag not released": ("look_back_16_bytes", states, "store_release", memory.store_relaxed),
    "look-back: tag not acquired": ("look_back_16_bytes", states, "load_acquire", memory.load_relaxed),
    "look-back: numbers not drawn in one step": ("look_back_4_bytes", lookback, "atomic_add", plain_add),
    "look-back: no barrier": ("look_back_4_bytes", lookback, "barrier", nothing),
    "queue: slots not reserved in one step": ("queue", queue, "atomic_add", plain_add),
    "queue: no barrier": ("queue", queue, "barrier", nothing),
    "queue of items: slots not reserved in one step": ("queue_of_items", queue, "atomic_add", plain_add),
    "queue of items: no barrier": ("queue_of_items", queue_items, "barrier", nothing),
    "grid_reduce: no fence": ("grid_reduce", grid, "fence_device", nothing),
    "grid_reduce: a fence of the block only": ("grid_reduce", grid, "fence_device", sync.fence_block),
    "grid_reduce: blocks not counted in one step": ("grid_reduce", grid, "atomic_add", plain_add),
}


@pytest.mark.parametrize("what", REMOVED)
def test_what_is_taken_out_is_reported(what, monkeypatch):
    protocol, module, name, instead = REMOVED[what]
    run = PROTOCOLS[protocol]()
    monkeypatch.setattr(module, name, instead)
    fault = found_by(run, Fault)
    assert isinstance(fault, RaceFault)
    assert __file__ in str(fault) or "tiles.py" in str(fault)


@pytest.mark.parametrize(("kernel", "size"), [(push, 1), (push_items, 3)], ids=["one", "items"])
def test_at_most_one_global_atomic_a_block(kernel, size, monkeypatch):
    counted = []
    add = queue.atomic_add

    def counting(array, index, value):
        if array.size == 1:  # the counter; scratch is larger
            counted.append(simulator.thread().block_idx.x)
        return add(array, index, value)

    monkeypatch.setattr(queue, "atomic_add", counting)
    x = np.concatenate([np.arange(64 * size), np.zeros(32 * size, int)])  # the third block has no item
    kernel[3, 32](np.zeros(64 * size, int), np.zeros(1, np.int32), x, np.zeros(192 * size))
    assert sorted(counted) == [0, 0, 1, 1]  # two pushes


def test_a_block_that_leaves_part_of_its_threads_out_is_named():
    @cuda.jit
    def skips(states, x, out):
        if cuda.threadIdx.x < 20:
            out[0] = wk.lookback_next_tile(states, 4)

    with pytest.raises(wk.BarrierFault, match="20 threads of block"):
        skips[1, 32](wk.tile_states(4, np.int32), np.zeros(4, np.int32), np.zeros(1, np.int32))


def test_a_tile_that_is_never_published_is_reported_not_waited_for():
    @cuda.jit
    def forgets(states, num_tiles, out):
        tile = wk.lookback_next_tile(states, num_tiles)
        while tile >= 0:
            if tile != 2:
                out[tile] = wk.lookback_exclusive_prefix(states, tile, tile, wk.add, 0)
            tile = wk.lookback_next_tile(states, num_tiles)

    with pytest.raises(wk.NoProgress, match="lookback_exclusive_prefix"):
        forgets[2, 4](wk.tile_states(6, np.int32), 6, np.zeros(6, np.int32))


def test_more_tiles_than_the_states_have_room_for():
    x = np.ones(30, np.int32)
    with pytest.raises(wk.BoundsFault):
        tiles.run(tiles.prefixes(wk.add), wk.tile_states(10, np.int32), x, 1, 4)
