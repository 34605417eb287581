"""Public pitfalls B01–B10 as tests; the numbers are those of the collection."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.reference import assert_same
from tests.warp.matrix import label
from warpkit import Fault

from .kernels import item, launch, place
from .matrix import SIMULATOR

TURNS = 6 if SIMULATOR else 200
LAUNCHES = 2 if SIMULATOR else 50


@cuda.jit
def sums_in_a_loop(out, turns):
    """One sum a turn, no barrier of the user's."""
    i = item()
    for turn in range(turns):
        out[turn, i] = wk.block_sum(np.int32(turn))


def test_b01_a_sum_in_a_loop_needs_no_barrier():
    threads = 64 if SIMULATOR else 512
    for _ in range(LAUNCHES):
        out = np.zeros((TURNS, threads), np.int32)
        launch(sums_in_a_loop, (threads,), out, TURNS, blocks=1)
        assert (out == threads * np.arange(TURNS)[:, None]).all()


@cuda.jit
def two_at_once(x, y, out, other, scan, shared):
    """Collectives of other types and operators in one kernel, one after the other."""
    i = item()
    total = wk.block_sum(x[i])
    top = wk.block_max(y[i])
    both = wk.block_reduce((x[i], y[i]), wk.add)
    prefix = wk.block_prefix_sum(x[i])
    out[i] = total + both[0]
    other[i] = top + both[1]
    scan[i] = prefix
    shared[i] = wk.block_broadcast(wk.block_exclusive_scan(y[i], max, -1.0), 7)


def test_b01_two_collectives_in_a_row_share_their_scratch():
    x, y = np.arange(40, dtype=np.int32), np.random.default_rng(1).random(40)
    out, other, scan, shared = np.zeros(40, np.int64), np.zeros(40), np.zeros(40, np.int32), np.zeros(40)
    launch(two_at_once, (40,), x, y, out, other, scan, shared, blocks=1)
    assert (out == 2 * x.sum()).all()
    assert np.allclose(other, y.max() + y.sum())
    assert (scan == np.cumsum(x) - x).all()
    assert (shared == y[:7].max()).all()


@cuda.jit
def again_at_once(x, out):
    """Every single-value collective twice in a row."""
    i = item()
    for turn in range(2):
        value = np.int32(x[i] + turn)
        out[0 + turn, i] = wk.block_broadcast(value, 33)
        out[2 + turn, i] = wk.block_broadcast(value, 7)
        out[4 + turn, i] = wk.block_max(value)
        out[6 + turn, i] = wk.block_inclusive_sum(value)
        out[8 + turn, i] = wk.block_shuffle_down(value, 5)
        out[10 + turn, i] = wk.block_tree_sum(value)
        out[12 + turn, i] = wk.block_prefix_sum(value)


def test_b01_every_collective_may_be_called_again_at_once():
    x, out = np.arange(40, dtype=np.int32), np.zeros((14, 40), np.int32)
    launch(again_at_once, (40,), x, out, blocks=1)
    for turn in range(2):
        y = x + turn
        below = np.concatenate([y[5:], y[35:]])
        expected = [y[33], y[7], y.max(), np.cumsum(y), below, y.sum(), np.cumsum(y) - y]
        for row, values in zip(out[turn::2], expected):
            assert (row == values).all()


@cuda.jit
def scan_in_chunks(x, out, chunks):
    """Scan many chunks with a running carry."""
    index, size, _ = place()
    carry = np.int32(0)
    for chunk in range(chunks):
        at = chunk * size + index
        scan, total = wk.block_prefix_sum_total(x[at])
        out[at] = np.int32(carry + scan)
        carry = np.int32(carry + total)


def test_b02_a_scan_of_many_chunks_with_a_running_carry():
    threads, chunks = (48, 10) if SIMULATOR else (256, 40)
    x = np.random.default_rng(2).integers(-100, 100, threads * chunks).astype(np.int32)
    for _ in range(1 if SIMULATOR else 200):
        out = np.zeros_like(x)
        launch(scan_in_chunks, (threads,), x, out, chunks, blocks=1)
        assert_same(out, (np.cumsum(x) - x).astype(np.int32))


@cuda.jit
def scan_then_scatter(keep, x, out, count):
    """Compact a tile: scan the flags, then scatter the items through the pool, twice in a row."""
    index, size, i = place()
    items, ranks = wk.local_array(2, np.int32), wk.local_array(2, np.int32)
    for _ in range(2):
        for k in range(2):
            ranks[k] = keep[2 * i + k]
        kept = wk.block_exclusive_scan_items(ranks, wk.add, 0)
        for k in range(2):
            items[k] = x[2 * i + k]
            if keep[2 * i + k] == 0:
                ranks[k] = kept + 2 * index + k - ranks[k]
        wk.block_scatter_to_blocked(items, ranks)
        wk.block_store_blocked(items, out, cuda.blockIdx.x * size * 2)
        count[i] = kept


def test_b03_a_scan_then_a_scatter_through_the_same_memory():
    rng = np.random.default_rng(3)
    for _ in range(2 if SIMULATOR else 1000):
        keep, x = rng.integers(0, 2, 160).astype(np.int32), rng.integers(0, 1000, 160).astype(np.int32)
        out, count = np.zeros_like(x), np.zeros(80, np.int32)
        launch(scan_then_scatter, (40,), keep, x, out, count)
        for start in (0, 80):
            k, v = keep[start : start + 80] == 1, x[start : start + 80]
            assert (out[start : start + 80] == np.concatenate([v[k], v[~k]])).all()
            assert (count[start // 2 : start // 2 + 40] == k.sum()).all()


@cuda.jit
def scans_with_init(out, total):
    """64 ones with init 10, in every form."""
    i = item()
    items = wk.local_array(1, np.int32)
    one = np.int32(1)
    scan, every = wk.block_exclusive_scan_total(one, wk.add, 10)
    out[0, i], total[0, i] = scan, every
    items[0] = one
    total[1, i] = wk.block_exclusive_scan_items(items, wk.add, 10)
    out[1, i] = items[0]
    scan, every = wk.block_inclusive_scan_total(one, wk.add)
    out[2, i], total[2, i] = scan, every


def test_b04_no_total_includes_init_in_any_form():
    out, total = np.zeros((3, 64), np.int32), np.zeros((3, 64), np.int32)
    launch(scans_with_init, (64,), out, total, blocks=1)
    assert (out[:2] == np.arange(10, 74)).all()
    assert (out[2] == np.arange(1, 65)).all()
    assert (total == 64).all()


@cuda.jit
def early_return(x, out):
    """Threads without work leave before the collective: wrong."""
    i = item()
    if i >= x.size:
        return
    out[i] = wk.block_sum(x[i])


@cuda.jit
def guarded(x, out):
    """Threads without work say so."""
    i = item()
    value = x[i] if i < x.size else np.int32(0)
    total = wk.block_sum(value, x.size)
    if i < x.size:
        out[i] = total


def test_b05_threads_without_work_call_too_and_num_valid_leaves_them_out():
    x, out = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    launch(guarded, (128,), x, out, blocks=1)
    assert (out == 4950).all()


@pytest.mark.simulator
def test_b05_the_simulator_reports_threads_that_skip_a_collective():
    x, out = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    with pytest.raises(Fault, match="has returned from the kernel"):
        launch(early_return, (128,), x, out, blocks=1)


@cuda.jit
def votes_in_a_loop(x, turns, out):
    """Count turns until no thread goes on; a thread that is done votes no instead of skipping the vote."""
    i = item()
    left = x[i]
    count = 0
    for _ in range(turns):
        going = left > 0
        if going:
            left -= 1
        if not wk.block_any(going):
            break
        count += 1
    out[i] = count


def test_b06_a_vote_in_a_loop_is_a_predicate_not_a_continue():
    x = np.random.default_rng(4).integers(0, 9, 80).astype(np.int32)
    x[[0, 40]] = 9, 5
    x[40:] = np.minimum(x[40:], 5)
    out = np.zeros(80, np.int32)
    launch(votes_in_a_loop, (40,), x, 20, out)
    assert out.tolist() == [9] * 40 + [5] * 40


@cuda.jit(device=True)
def divided(a, b):
    """Divide by a value of the lane, with Python's error branch."""
    return a // b


@cuda.jit
def division_before_a_barrier(x, y, out):
    """20 of 32 threads take the branch with the division."""
    index, _, i = place()
    value = x[i]
    if index < 20:
        value = np.int32(divided(x[i], y[i]))
    out[i] = wk.block_sum(value)


def test_b07_a_division_before_a_barrier():
    x, y = np.arange(100, 132, dtype=np.int32), np.arange(1, 33, dtype=np.int32)
    out = np.zeros(32, np.int32)
    launch(division_before_a_barrier, (32,), x, y, out, blocks=1)
    assert (out == (x[:20] // y[:20]).sum() + x[20:].sum()).all()


@cuda.jit
def everything(x, out):
    """Every collective with a barrier in it, for compute-sanitizer: whole and partial warps."""
    index, size, i = place()
    items, ranks, bins = wk.local_array(2, np.int32), wk.local_array(2, np.int32), wk.shared_array(4, np.int32)
    for k in range(index, 4, size):
        bins[k] = 0
    wk.sync_block()
    for k in range(2):
        items[k] = x[2 * i + k]
        ranks[k] = size * 2 - 1 - (2 * index + k)
    total = wk.block_sum(items[0]) + wk.block_tree_sum(items[1])
    total += wk.block_sum(items[0], size // 2) + wk.block_prefix_sum(items[1]) + wk.block_inclusive_sum(items[0])
    total += wk.block_reduce_items(items, wk.add, size) + wk.block_count(items[0] > 0)
    total += wk.block_all(items[0] > 0) + wk.block_any(items[1] > 0) + wk.block_broadcast(items[0], size - 1)
    total += wk.block_shuffle_up(items[0], 1) + wk.block_shuffle_down(items[0], 33, 5)
    wk.block_striped_to_blocked(items)
    wk.block_scatter_to_striped(items, ranks)
    wk.block_histogram(bins, items[0] & 3)
    total += wk.block_inclusive_scan_items(items, wk.add) + bins[0] + wk.block_discontinuity_heads(items, wk.maximum)
    wk.block_adjacent_difference(items, wk.add)
    wk.block_store_transposed(items, out, cuda.blockIdx.x * size * 2)
    wk.block_load_transposed(items, out, cuda.blockIdx.x * size * 2, 2 * size - 1, -1)
    wk.block_store_vectorized(items, out, cuda.blockIdx.x * size * 2)
    out[2 * i] = total


@pytest.mark.parametrize(
    "shape", [(48,), (64,)] if SIMULATOR else [(48,), (64,), (256,), (300,), (1000,), (1024,)], ids=label
)
def test_b08_no_divergent_barrier(shape):
    """The simulator finds divergent barriers and races itself; on a GPU the suite runs under compute-sanitizer."""
    x = np.random.default_rng(5).integers(0, 100, 4 * shape[0]).astype(np.int32)
    out, again = np.zeros_like(x), np.zeros_like(x)
    launch(everything, shape, x, out)
    launch(everything, shape, x, again)
    assert (out == again).all()


@cuda.jit
def over_tiles(x, out, tiles):
    """More tiles than blocks: every thread of a block makes the same number of turns."""
    index, size, _ = place()
    tile = cuda.blockIdx.x
    while tile < tiles:
        at = tile * size + index
        total = wk.block_sum(x[at] if at < x.size else np.int32(0), x.size - tile * size)
        if index == 0:
            out[tile] = total
        tile += cuda.gridDim.x


def test_b09_four_times_more_tiles_than_blocks_end():
    blocks, threads = (2, 40) if SIMULATOR else (132 * 8, 256)
    x = np.random.default_rng(6).integers(-9, 9, 4 * blocks * threads - 17).astype(np.int32)
    out = np.zeros(4 * blocks, np.int32)
    launch(over_tiles, (threads,), x, out, 4 * blocks, blocks=blocks)
    assert (out == [part.sum() for part in np.split(x, range(threads, len(x), threads))]).all()


@cuda.jit
def narrow_sums(x, out):
    """A block sum of small integers."""
    i = item()
    out[i] = wk.block_sum(x[i])


@pytest.mark.parametrize("dtype", [np.int16, np.int8, np.float16], ids=label)
@pytest.mark.parametrize("threads", [64, 48])
def test_b10_narrow_sums_of_whole_and_partial_blocks(threads, dtype):
    x = np.ones(threads, dtype)
    for _ in range(2 if SIMULATOR else 1000):
        out = np.zeros(threads, dtype)
        launch(narrow_sums, (threads,), x, out, blocks=1)
        assert (out == threads).all()
