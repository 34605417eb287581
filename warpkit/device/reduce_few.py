"""The kernels of reductions of few items: every thread reads once, in 32 bits, and the first warp finishes.

A microsecond is most of it the launch, and every instruction before the first read and behind the last one counts, so
the way through is short and straight. How many threads a block has, and how often each reads, is known to the compiler.
Where a warp can read it all the block is that warp, and no thread waits for another one.

Of several blocks the one that is done last combines what the others left behind (see reduce_blocks.py): its first warp
does, so that the others need not be told.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..block.grid import COUNTER, LONG
from ..block.shape import int32, log2_up
from ..block.states import HEAD
from ..block.totals import SLOTS, put_total, take_total
from ..simt.lanes import block_x, grid_x, has_redux, redux, shuffle, shuffle_xor, thread_x
from ..simt.machine import device_function
from ..simt.memory import atomic_add, local_array, scratch
from ..simt.ops import add
from ..simt.states import AGGREGATE, state_value, store_state, viewed
from ..simt.sync import barrier
from ..simt.types import cast_like, combine
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .reduce_blocks import EPOCH, begin_share, forget_blocks, with_share
from .reduce_meaning import Meaning
from .reduce_reading import VECTOR_BYTES, Reading, fold_vector

EIGHT = 8  # totals of warps that a lane reads
WORD = np.uint32(0)
PIECE = (1 << 27) - 1  # 32 such numbers add up to one of 32 bits


@dataclass(frozen=True)
class FewShape:
    """How few items are reduced: by one block or several of `threads` threads, each of which reads `loads` vectors."""

    threads: int
    loads: int
    several: bool = False

    @property
    def reads(self) -> int:
        """Vectors of a block at most."""
        return self.threads * self.loads

    def grid_for(self, reads: int) -> tuple[int, int]:
        """Return (blocks, threads of each) for so many vectors."""
        if self.several:
            return -(-reads // self.reads), self.threads
        return 1, self.threads


@device_function()
def gather_few(totals, items, x, n, begin, step, before, length, shifts, fetch, fetch_item, lift, op, narrow, inverses):
    """Combine what this thread reads into `totals`, empty so far: of the vectors from `begin` on every `step`-th.

    All in 32 bits. The block that begins with vector 0 also takes the items before and behind the vectors.
    """
    head = min(int32(before(x, VECTOR_BYTES, shifts[0])), n)
    inner = int32(n - head)
    vectors = int32(inner >> shifts[1])
    edge = thread_x()
    is_edge = edge < int32(head + (inner & (length - 1))) and begin == 0
    place = edge if edge < head else int32(edge + (vectors << shifts[1]))
    if is_edge:  # nobody waits for it here, unless it has to be converted
        fetch_item(items, totals.size * length, x, place, inverses)
    at = int32(begin + edge)
    if totals.size == 1:
        if at < vectors:
            first = int32(head + (at << shifts[1]))
            fetch(items, 0, x, first, inverses)
            latest = fold_vector(items, 0, length, first, lift, op, narrow, totals[0])
            totals[0] = combine(op, totals[0], latest)
    elif begin < vectors:
        for k in range(totals.size):  # beyond the end the last vector again: no read waits for a condition
            vector = min(int32(at + k * step), int32(vectors - 1))
            fetch(items, k * length, x, int32(head + (vector << shifts[1])), inverses)
        for k in range(totals.size):
            vector = int32(at + k * step)
            first = int32(head + (vector << shifts[1]))
            latest = fold_vector(items, k * length, length, first, lift, op, narrow, totals[k])
            both = combine(op, totals[k], latest)
            totals[k] = both if vector < vectors else totals[k]
    if is_edge:
        last = fold_vector(items, totals.size * length, 1, place, lift, op, narrow, totals[0])
        totals[0] = combine(op, totals[0], last)


@device_function()
def in_pieces(value, op):
    """Add up 64-bit integers over a whole warp modulo 2**64: 27 bits at a time, whose sums hold in 32."""
    if not has_redux(add, WORD):
        return reduce_members(value, op, FULL_MASK, 32)
    bits = cast_like(LONG, value)
    low = cast_like(LONG, redux(add, FULL_MASK, cast_like(WORD, bits & PIECE)))
    middle = cast_like(LONG, redux(add, FULL_MASK, cast_like(WORD, (bits >> 27) & PIECE)))
    high = cast_like(LONG, redux(add, FULL_MASK, cast_like(WORD, bits >> 54)))
    return cast_like(value, low + (middle << 27) + (high << 54))


@device_function()
def at_once(value, op):
    """Combine `value` over a whole warp: the same in each lane."""
    return reduce_members(value, op, FULL_MASK, 32)


@device_function()
def fold_tree(totals, op):
    """Combine as many totals as `totals` holds, a power of two."""
    half = totals.size >> 1
    while half > 0:
        for k in range(half):
            totals[k] = combine(op, totals[k], totals[k + half])
        half >>= 1
    return totals[0]


@device_function()
def fold_warps(totals, words, like, op, warps):
    """Combine what `warps` warps have put into `words`, as many of them a lane as `totals` holds; by a whole warp."""
    first = int32((thread_x() * totals.size) & (warps - 1))
    for k in range(totals.size):
        totals[k] = take_total(words, int32(first + k), like)
    total = fold_tree(totals, op)
    for k in range(log2_up(warps) - log2_up(totals.size)):
        total = combine(op, total, shuffle_xor(FULL_MASK, total, 1 << k))
    return total


@device_function()
def leave_total(total, store):
    """Store the block's total and count the block as done; return whether it was the last. Called by a whole warp."""
    done = int32(0)
    if thread_x() == 0:
        store_state(store, HEAD + block_x(), total, EPOCH, AGGREGATE)
        done = int32(atomic_add(viewed(store, LONG), COUNTER, 1))
    return shuffle(FULL_MASK, done, 0) == int32(grid_x() - 1)


@device_function()
def gather_shares(store, like, op, empty):
    """Combine a lane's part of what the blocks left behind, four at a time; the first warp of the last block calls."""
    blocks, total, first = grid_x(), empty(op, like), thread_x()
    while first < blocks:
        second = int32(first + 32)
        third = int32(first + 64)
        fourth = int32(first + 96)
        a = begin_share(store, first, blocks)
        b = begin_share(store, second, blocks)
        c = begin_share(store, third, blocks)
        d = begin_share(store, fourth, blocks)
        total = with_share(total, op, store, a, first, blocks, like)
        total = with_share(total, op, store, b, second, blocks, like)
        total = with_share(total, op, store, c, third, blocks, like)
        total = with_share(total, op, store, d, fourth, blocks, like)
        first = int32(first + 128)
    return total


def few_kernel(meaning: Meaning, reading: Reading, shape: FewShape, total: np.dtype[Any]) -> Callable[..., Any]:
    """Return the kernel that reduces few items as `meaning` says, read as `reading` says, with totals of dtype `total`.

    Called by: one block, or where the shape says so several, of `shape.threads` threads: see `FewShape.grid_for`.
    Args: count: of items, at least one, no more than the threads read.  x: the array.  out: the result.
    inverses: 1 / extents of `x`, but for the first.  init: what to start with, of any type where there is none.
    store: scratch for as many blocks as the grid has; of one block only its type counts.
    """
    lift, op, empty = meaning.lift, meaning.op, meaning.empty
    settle, finish, put_result = meaning.settle, meaning.finish, meaning.put
    number, before, fetch, fetch_item = reading.number, reading.before, reading.fetch, reading.fetch_item
    length, shifts = reading.length, (reading.item_shift, reading.length_shift)
    loads, held, several = shape.loads, shape.loads * reading.length + 1, shape.several
    item, total_type, small = reading.item, meaning.total, meaning.narrow
    threads, warps = shape.threads, shape.threads // 32
    each = min(warps, EIGHT)
    meet = in_pieces if op is add and total.kind in "iu" and total.itemsize == 8 else at_once

    def reduce_few(count, x, out, inverses, init, store):
        items, totals, parts = local_array(held, item), local_array(loads, total_type), local_array(each, total_type)
        like = state_value(store)
        narrow = small(like)
        n = int32(number(count, x))
        for k in range(loads):
            totals[k] = empty(op, like)
        begin = int32(block_x() * (threads * loads)) if several else int32(0)
        gather_few(
            totals, items, x, n, begin, threads, before, length, shifts, fetch, fetch_item, lift, op, narrow, inverses
        )
        total = meet(fold_tree(totals, op), op)
        if warps > 1:
            words = scratch(SLOTS, like)
            if (thread_x() & 31) == 0:
                put_total(words, int32(thread_x() >> 5), total)
            barrier()
            if thread_x() < 32:
                total = fold_warps(parts, words, like, op, warps)
        is_last = True
        if several and thread_x() < 32:
            is_last = leave_total(total, store)
            if is_last:
                total = meet(gather_shares(store, like, op, empty), op)
                if thread_x() == 0:
                    forget_blocks(store)
        if is_last and thread_x() == 0:
            put_result(out, settle(finish, op, init, total, n))

    return reduce_few
