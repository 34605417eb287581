"""The kernels of suite `claims`: what an optimisation guide says to replace, and what to replace it by.

Kernels named `…_before` are the guide's own code, as far as it is defined in CUDA; `x` holds int32 from 0 to 1023, so
that every float32 sum here is exact and both sides must agree to the bit.
"""

import numpy as np
from numba import cuda

import warpkit as wk

from .mode import MODE

THREADS, WARPS, FULL = 256, 8, 0xFFFFFFFF
ROUNDS = MODE.fewer(32, 32, 2)
"""How often a warp kernel repeats its operation, so that this and not the memory is what takes time.

Every round works on another number, the last one and 1: it is neither left out nor done once for all.
"""
ONE = np.float32(1)
LIMIT = 512


@cuda.jit
def count_before(x, out):
    """§3.1: every thread with something to count adds 1 to one shared number."""
    total = wk.shared_array(1, np.int32)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    wk.sync_block()
    if x[cuda.grid(1)] < LIMIT:
        cuda.atomic.add(total, 0, 1)
    wk.sync_block()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total[0]


@cuda.jit
def add_before(x, out):
    """§3.1 with a value of each thread's own instead of 1."""
    total = wk.shared_array(1, np.int32)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    wk.sync_block()
    cuda.atomic.add(total, 0, x[cuda.grid(1)])
    wk.sync_block()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total[0]


@cuda.jit(device=True)
def add_up(mine, out):
    """§3.1, after: one sum a warp, one shared slot a warp, added up by one thread."""
    slots = wk.shared_array(WARPS, np.int32)
    partial = wk.warp_active_sum(mine, mask=FULL)
    if wk.warp_lane_id() == 0:
        slots[cuda.threadIdx.x >> 5] = partial
    wk.sync_block()
    if cuda.threadIdx.x == 0:
        total = 0
        for warp in range(WARPS):
            total += slots[warp]
        out[cuda.blockIdx.x] = total


@cuda.jit
def count_after(x, out):
    """Count by warp sums."""
    add_up(np.int32(1 if x[cuda.grid(1)] < LIMIT else 0), out)


@cuda.jit
def add_after(x, out):
    """Add by warp sums."""
    add_up(x[cuda.grid(1)], out)


@cuda.jit
def count_by_block(x, out):
    """Count by the library's call for it."""
    total = wk.block_count(x[cuda.grid(1)] < LIMIT)
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total


@cuda.jit
def add_by_block(x, out):
    """Add by the library's call for it."""
    total = wk.block_sum(x[cuda.grid(1)])
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total


@cuda.jit
def tree_before(x, out):
    """§3.2: a halving tree in shared memory, a barrier a step."""
    shared = wk.shared_array(THREADS, np.float32)
    tid = cuda.threadIdx.x
    shared[tid] = x[cuda.grid(1)]
    wk.sync_block()
    stride = THREADS >> 1
    while stride > 0:
        if tid < stride:
            shared[tid] += shared[tid + stride]
        wk.sync_block()
        stride >>= 1
    if tid == 0:
        out[cuda.blockIdx.x] = shared[0]


@cuda.jit
def tree_after(x, out):
    """§3.2 and §4.5: a sum a warp, and one more over the warps' sums."""
    slots = wk.shared_array(WARPS, np.float32)
    partial = wk.warp_active_sum(np.float32(x[cuda.grid(1)]), mask=FULL)
    if wk.warp_lane_id() == 0:
        slots[cuda.threadIdx.x >> 5] = partial
    wk.sync_block()
    if cuda.threadIdx.x < WARPS:
        total = wk.warp_active_sum(slots[cuda.threadIdx.x], mask=(1 << WARPS) - 1, width=WARPS)
        if cuda.threadIdx.x == 0:
            out[cuda.blockIdx.x] = total


@cuda.jit
def block_tree_before(x, out):
    """§4.4: a tree with two barriers a step, as `block_tree_sum`."""
    total = wk.block_tree_sum(np.float32(x[cuda.grid(1)]))
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total


@cuda.jit
def block_tree_after(x, out):
    """§4.5: two levels, as `block_sum`."""
    total = wk.block_sum(np.float32(x[cuda.grid(1)]))
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total


@cuda.jit
def butterfly_before(x, out):
    """§3.3: the largest of a warp by five exchanges."""
    i, lane = cuda.grid(1), wk.warp_lane_id()
    value, total = np.float32(x[i]), np.float32(0)
    for _ in range(ROUNDS):
        largest = value
        for distance in (16, 8, 4, 2, 1):
            largest = max(largest, wk.warp_read_lane(largest, lane ^ distance, mask=FULL))
        total += largest
        value += ONE
    out[i] = total


@cuda.jit
def butterfly_after(x, out):
    """§3.3: the same by one call."""
    i = cuda.grid(1)
    value, total = np.float32(x[i]), np.float32(0)
    for _ in range(ROUNDS):
        total += wk.warp_active_max(value, mask=FULL)
        value += ONE
    out[i] = total


@cuda.jit
def group_before(x, out):
    """§3.3: the largest of eight lanes, for which the guide keeps the butterfly."""
    i, lane = cuda.grid(1), wk.warp_lane_id()
    value, total = np.float32(x[i]), np.float32(0)
    for _ in range(ROUNDS):
        largest = value
        for distance in (4, 2, 1):
            largest = max(largest, wk.warp_read_lane(largest, lane ^ distance, mask=FULL))
        total += largest
        value += ONE
    out[i] = total


@cuda.jit
def group_after(x, out):
    """§3.3: a call does it for eight lanes too."""
    i = cuda.grid(1)
    value, total = np.float32(x[i]), np.float32(0)
    for _ in range(ROUNDS):
        total += wk.warp_active_max(value, mask=FULL, width=8)
        value += ONE
    out[i] = total


@cuda.jit
def reads_before(x, out):
    """§3.4: read the lower lanes one by one; all lanes stay in the loop, for a lane that has left cannot be read."""
    i, lane = cuda.grid(1), wk.warp_lane_id()
    value, total = np.float32(x[i]), np.float32(0)
    for _ in range(ROUNDS):
        prefix = np.float32(0)
        for other in range(31):
            read = wk.warp_read_lane(value, other, mask=FULL)
            if other < lane:
                prefix += read
        total += prefix
        value += ONE
    out[i] = total


@cuda.jit
def reads_after(x, out):
    """§3.4: one prefix sum."""
    i = cuda.grid(1)
    value, total = np.float32(x[i]), np.float32(0)
    for _ in range(ROUNDS):
        total += wk.warp_prefix_sum(value, mask=FULL)
        value += ONE
    out[i] = total


@cuda.jit
def queue_before(x, buffer, counter):
    """§4.3: a global atomic for every item that passes."""
    value = x[cuda.grid(1)]
    if value < LIMIT:
        slot = cuda.atomic.add(counter, 0, 1)
        if slot < buffer.size:
            buffer[slot] = value


@cuda.jit
def queue_by_shared(x, buffer, counter):
    """§4.3, after: a shared atomic an item, one global atomic a block."""
    index = wk.shared_array(1, np.int32)
    value, local = x[cuda.grid(1)], 0
    if cuda.threadIdx.x == 0:
        index[0] = 0
    wk.sync_block()
    if value < LIMIT:
        local = cuda.atomic.add(index, 0, 1)
    wk.sync_block()
    if cuda.threadIdx.x == 0:
        index[0] = cuda.atomic.add(counter, 0, index[0])
    wk.sync_block()
    if value < LIMIT and index[0] + local < buffer.size:
        buffer[index[0] + local] = value


@cuda.jit
def queue_after(x, buffer, counter):
    """§4.3, after, by the library: votes in the warps, then the block."""
    value = x[cuda.grid(1)]
    wk.block_queue_push_if(buffer, counter, value, value < LIMIT)
