"""The kernels of sanitize.py, collectives of a kind in one each, and what NumPy says that their blocks find."""

import numpy as np
from numba import cuda

import warpkit as wk

ITEMS = 8
BINS = 32


@cuda.jit(device=True)
def last_nonzero(earlier, later):
    """Keep the later value unless it is 0: associative, not commutative."""
    return later if later != 0 else earlier


@cuda.jit(device=True)
def differs(item, neighbour):
    """Return whether two neighbours differ."""
    return item != neighbour


@cuda.jit(device=True)
def minus(item, before):
    """Return the difference to the item before."""
    return item - before


# ------------------------------------------------------------------ one value a thread


@cuda.jit
def reducing(x, out):
    """Reduce in every way: a row of `out` each."""
    i = cuda.grid(1)
    out[0, i] = wk.block_sum(x[i])
    out[1, i] = wk.block_product(x[i] | 1)
    out[2, i] = wk.block_min(x[i])
    out[3, i] = wk.block_max(x[i])
    out[4, i] = wk.block_reduce(x[i], last_nonzero)
    out[5, i] = wk.block_sum(x[i], 50)
    out[6, i] = wk.block_tree_sum(x[i])
    out[7, i] = wk.block_tree_reduce(x[i], last_nonzero)


def reduced(rows):
    """Return what `reducing` has in every thread of a block."""
    last = rows[rows != 0][-1]
    product = np.multiply.reduce(rows | 1, dtype=np.int32)
    return [rows.sum(), product, rows.min(), rows.max(), last, rows[:50].sum(), rows.sum(), last]


@cuda.jit
def scanning(x, out):
    """Scan in every way."""
    i = cuda.grid(1)
    out[0, i] = wk.block_prefix_sum(x[i])
    out[1, i] = wk.block_inclusive_sum(x[i])
    both = wk.block_prefix_sum_total(x[i])
    out[2, i] = both[0] + both[1]
    out[3, i] = wk.block_inclusive_scan(x[i], last_nonzero)
    both = wk.block_inclusive_scan_total(x[i], wk.maximum)
    out[4, i] = both[0] + both[1]
    out[5, i] = wk.block_exclusive_scan(x[i], last_nonzero, 7)
    both = wk.block_exclusive_scan_total(x[i], wk.add, 7)
    out[6, i] = both[0] + both[1]


def scanned(rows):
    """Return what `scanning` has in the threads of a block."""
    until, best = np.cumsum(rows), np.maximum.accumulate(rows)
    places = np.maximum.accumulate(np.where(rows != 0, np.arange(len(rows)), -1))
    last = np.where(places < 0, 0, rows[places])
    before = np.concatenate([[7], np.where(places < 0, 7, rows[places])[:-1]])
    exclusive, total = until - rows, until[-1]
    return [exclusive, until, exclusive + total, last, best + best[-1], before, 7 + exclusive + total]


@cuda.jit
def voting(x, out):
    """Vote, hand around, shift."""
    i = cuda.grid(1)
    out[0, i] = wk.block_all(x[i] >= 0)
    out[1, i] = wk.block_any(x[i] > 90)
    out[2, i] = wk.block_count(x[i] % 2)
    out[3, i] = wk.block_broadcast(x[i], 40)
    out[4, i] = wk.block_shuffle_up(x[i], 3, 5)
    out[5, i] = wk.block_shuffle_down(x[i], 33, 5)
    held = wk.shared_array(128, np.int32)
    held[cuda.threadIdx.x] = x[i]
    wk.sync_block()
    out[6, i] = held[cuda.blockDim.x - 1 - cuda.threadIdx.x]


def voted(rows):
    """Return what `voting` has in the threads of a block."""
    fill = np.full(33, 5)
    up, down = np.concatenate([fill[:3], rows[:-3]]), np.concatenate([rows[33:], fill])
    return [(rows >= 0).all(), (rows > 90).any(), (rows % 2).sum(), rows[40], up, down, rows[::-1]]


# ------------------------------------------------------------------ several items a thread


@cuda.jit
def folding(x, out):
    """Reduce and scan items; neighbours."""
    i = cuda.grid(1)
    items, flags = wk.local_array(ITEMS, np.int32), wk.local_array(ITEMS, np.int8)
    base = cuda.blockIdx.x * cuda.blockDim.x * ITEMS
    wk.block_load_blocked(items, x, base)
    total = wk.block_reduce_items(items, last_nonzero)
    heads = wk.block_discontinuity_heads(items, differs, flags)
    tails = wk.block_discontinuity_tails(items, differs, flags)
    for k in range(ITEMS):
        out[0, i * ITEMS + k] = total
        out[1, i * ITEMS + k] = (heads >> k) & 1
        out[2, i * ITEMS + k] = (tails >> k) & 1
    wk.block_adjacent_difference(items, minus)
    wk.block_store_blocked(items, out[3], base)
    wk.block_inclusive_scan_items(items, wk.add)
    wk.block_store_blocked(items, out[4], base)
    wk.block_exclusive_scan_items(items, wk.maximum, 3, 400)
    wk.block_store_blocked(items, out[5], base)


def folded(rows):
    """Return what `folding` has for the items of a block."""
    changed = rows[1:] != rows[:-1]
    highest = np.concatenate([[3], np.maximum(np.maximum.accumulate(rows), 3)[:-1]])
    highest[400:] = rows[400:]
    difference = np.diff(rows, prepend=0)
    return [rows[rows != 0][-1], np.append(True, changed), np.append(changed, True), difference, rows, highest]


@cuda.jit
def moving(x, ranks, out):
    """Load, exchange and store in all arrangements, through the pool and through memory of its own."""
    items, places = wk.local_array(ITEMS, np.int32), wk.local_array(ITEMS, np.int32)
    scratch = wk.shared_array(256, np.int32)
    base = cuda.blockIdx.x * cuda.blockDim.x * ITEMS
    wk.block_load_striped(items, x, base)
    wk.block_striped_to_blocked(items)
    wk.block_store_vectorized(items, out[0], base)
    wk.block_blocked_to_striped(items, scratch)
    wk.block_store_striped(items, out[1], base)
    wk.block_load_transposed(items, x, base)
    wk.block_store_transposed(items, out[2], base)
    wk.block_load_transposed(items, x, base, scratch=scratch)
    wk.block_store_transposed(items, out[3], base, scratch=scratch)
    wk.block_load_vectorized(items, x, base)
    wk.block_load_blocked(places, ranks, base)
    wk.block_scatter_to_blocked(items, places)
    wk.block_store_blocked(items, out[4], base)
    wk.block_load_vectorized(items, x, base)
    wk.block_scatter_to_striped(items, places, scratch)
    wk.block_store_striped(items, out[5], base)


@cuda.jit
def counting(x, out):
    """Count into shared bins."""
    bins = wk.shared_array(BINS, np.int32)
    for bin in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        bins[bin] = 0
    wk.sync_block()
    wk.block_histogram(bins, x[cuda.grid(1)] % BINS, x[cuda.grid(1)] > 3)
    for bin in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        out[cuda.blockIdx.x, bin] = bins[bin]


@cuda.jit
def pushing(x, buffers, counters):
    """Push to a queue of each form."""
    i = cuda.grid(1)
    wk.block_queue_push(buffers[0], counters[0], x[i])
    wk.block_queue_push_ordered(buffers[1], counters[1], x[i])
    wk.block_queue_push_if(buffers[2], counters[2], x[i], x[i] % 2)
    wk.block_queue_push_if_ordered(buffers[3], counters[3], x[i], x[i] % 2)


@cuda.jit
def pushing_items(x, buffers, counters):
    """Push items to a queue of each form."""
    items, flags = wk.local_array(ITEMS, np.int32), wk.local_array(ITEMS, np.int32)
    wk.block_load_blocked(items, x, cuda.blockIdx.x * cuda.blockDim.x * ITEMS)
    for k in range(ITEMS):
        flags[k] = items[k] % 2
    wk.block_queue_push_items(buffers[0], counters[0], items, flags)
    wk.block_queue_push_items_ordered(buffers[1], counters[1], items, flags)


@cuda.jit
def staging(x, out):
    """Copy through two stages that take turns."""
    stages, size = wk.shared_array((2, 64), np.int32), cuda.blockDim.x
    base = cuda.blockIdx.x * size * ITEMS
    pipe = wk.block_copy_pipeline(2)
    wk.block_copy_async(pipe, stages[0], x, base, 64)
    for first in range(0, size * ITEMS, 64):
        left = min(64, size * ITEMS - first - 64)
        wk.block_copy_async(pipe, stages[(first // 64 + 1) % 2], x, base + first + 64, left)
        wk.block_copy_wait(pipe, 1)
        for i in range(cuda.threadIdx.x, min(64, size * ITEMS - first), size):
            out[base + first + i] = stages[first // 64 % 2, i]
        wk.sync_block()
    wk.block_copy_wait(pipe, 0)


# ------------------------------------------------------------------ the grid


@cuda.jit
def reducing_grid(x, out, scratch):
    """Reduce over the grid."""
    is_last, total = wk.grid_reduce(x[cuda.grid(1)], last_nonzero, scratch)
    if is_last:
        out[cuda.threadIdx.x] = total


@cuda.jit
def looking_back(states, x, out):
    """Publish one tile ahead; thread 0 stores the prefix of each."""
    tile = wk.lookback_next_tile(states, x.size)
    if tile >= 0:
        wk.lookback_publish(states, tile, x[tile])
    while tile >= 0:
        following = wk.lookback_next_tile(states, x.size)
        if following >= 0:
            wk.lookback_publish(states, following, x[following])
        prefix = wk.lookback_exclusive_prefix(states, tile, x[tile], wk.add, 0)
        if cuda.threadIdx.x == 0:
            out[tile] = prefix
        tile = following


# ------------------------------------------------------------------ passes over tiles


def gather(slot, tile, valid, context):
    """Scan the items of a thread and of the tile."""
    values = wk.local_array(3, np.int32)
    own = np.int32(0)
    for j in range(3):
        i = 3 * cuda.threadIdx.x + j
        own += slot[i] if i < valid else 0
        values[j] = own
    before, total = wk.block_prefix_sum_total(own)
    for j in range(3):
        slot[3 * cuda.threadIdx.x + j] = before + values[j]
    return 0, total


def finish(slot, tile, valid, kept, total, before, last, context):
    """Write the sums of the tile behind what lies before it."""
    for k in range(3):
        i = 64 * k + cuda.threadIdx.x
        if i < valid:
            context[0][192 * tile + i] = before + slot[i]


sums = wk.lookback_pass(gather, finish, wk.add, threads=64, items=3, dtype=np.int32, aggregate=np.int32, stages=4)


@cuda.jit
def passing(states, x, out):
    """Write the running sums of `x` in one pass."""
    sums.run(states, x, x.size, (out,))
