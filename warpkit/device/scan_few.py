"""The kernel of scans of few items: from registers to registers, and no block waits for another one to begin.

A thread reads neighbouring items at once and writes their results in their place, without a detour through shared
memory. Where there are several blocks, each combines all that lies before its own items itself, which is soon there
from the L2 cache: that takes less time than to be told by other blocks, as long as it is little. Or it looks back at
what others have published, see scan_look.py. Such blocks read what others write over in place; and they combine out of
order, so that the operator has to be a built-in one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..block.scan import before_warp_whole, exclusive_threads, join_exclusive, scan_whole
from ..block.shape import int32, lane_number, warp_number
from ..block.totals import SLOTS, put_total, take_total
from ..simt.lanes import block_index, block_size, grid_size, thread_index
from ..simt.machine import device_function
from ..simt.memory import local_array, scratch
from ..simt.sync import barrier
from ..simt.types import as_int64, combine, hold, identity_or_own, is_commutative
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .scan_kernel import Scan, number_of
from .scan_look import looking_back, own_total
from .scan_runs import fold_held, from_begin, from_end, other_place, reading, same_place, scan_held, sweeping, writing
from .scan_tile import exclusive_step, inclusive_step, own_count, seed_of, threads_holding
from .tiles import TAKE, end_draw, start_draw

LEAST = 256  # threads of blocks that look back


@device_function()
def exclusive_whole(own, op, counted):
    """Do what `exclusive_threads` does without a start in a block of whole warps, for all its threads."""
    words = scratch(SLOTS, own)
    scan, near = scan_whole(own, op)
    prefix, total = before_warp_whole(words, scan, op, counted)
    return join_exclusive(prefix, near, op, None, own), total


@device_function()
def exclusive_held(own, op, threads):
    """Return the exclusive scan over the first `threads` threads; with a built-in operator the others do no harm."""
    if is_commutative(op):
        return exclusive_whole(own, op, None)[0]
    return exclusive_threads(own, op, None, own, threads, None)[0]


@device_function()
def seed_from_two(own, earlier, op):
    """Return what comes before this thread's items: `earlier` of all threads, and `own` of those before it.

    For a block of whole warps and a built-in operator. Each warp combines the totals of the warps, one a lane.
    """
    pair = own, earlier
    words = scratch(SLOTS, pair)
    scan, near = scan_whole(own, op)
    pair = scan, reduce_members(earlier, op, FULL_MASK, 32)
    if lane_number() == 31:
        put_total(words, warp_number(), pair)
    barrier()
    nothing = identity_or_own(op, own)
    total = nothing
    if lane_number() < int32(block_size() >> 5):
        two = take_total(words, lane_number(), pair)
        total = two[1]
        if lane_number() < warp_number():
            total = combine(op, total, two[0])
    seed = reduce_members(total, op, FULL_MASK, 32)
    return combine(op, seed, near) if lane_number() > 0 else seed


@dataclass(frozen=True)
class FewShape:
    """How the kernel of few items works: `items` of a thread, in blocks of at most `threads` threads.

    Of several blocks each sweeps over all that lies before its own items, with `loads` reads at a time; or, where it
    has `states`, it looks back at what other blocks say: at so many states a lane, and `patience` times before it does
    the work of a block that says nothing; it has 256 threads, more where there were else more than `tiles` of them.
    Both 0: there is one block.
    """

    threads: int
    items: int
    loads: int = 0
    states: int = 0
    patience: int = 64
    tiles: int = 64

    @property
    def tile_items(self) -> int:
        """Items of a block at most."""
        return self.threads * self.items

    def threads_for(self, n: int) -> int:
        """Return how many threads a block has for `n` items."""
        if self.states == 0:
            return min(self.threads, -(-n // (32 * self.items)) * 32)
        threads = min(self.threads, LEAST)
        while threads < self.threads and n > self.tiles * threads * self.items:
            threads = min(2 * threads, self.threads)
        return threads


class Parts(NamedTuple):
    """What the kernels are made of. lowest: where a run lies.  The others: see scan_runs.py and `number_of`."""

    number: Callable[..., Any]
    lowest: Callable[..., Any]
    read: Callable[..., Any]
    read_some: Callable[..., Any]
    write: Callable[..., Any]
    step: Callable[..., Any]


def parts_of(scan: Scan, items: int) -> Parts:
    """Return the parts for so many items of a thread."""
    lowest, turned = (from_end, other_place) if scan.reverse else (from_begin, same_place)
    step = exclusive_step if scan.exclusive else inclusive_step
    return Parts(
        number_of(scan), lowest, *reading(scan, items, lowest, turned), writing(scan, items, lowest, turned), step
    )


def few_kernel(scan: Scan, shape: FewShape) -> Callable[..., Any]:
    """Return the kernel of few items: fewer than 2^31.

    Called by: blocks of the same number of whole warps, as many as it takes; where there are several the operator is a
    built-in one and the arrays share no memory; where it looks back, a state is read in one access.
    Args: as of `tile_kernel`.
    """
    if shape.states:
        return kernel_that_looks(scan, shape)
    return kernel_that_sweeps(scan, shape) if shape.loads else kernel_of_one_block(scan, shape)


def kernel_of_one_block(scan: Scan, shape: FewShape) -> Callable[..., Any]:
    """Return the kernel of one block."""
    op, starts, total_type, items = scan.op, scan.starts, scan.total, shape.items
    number, _, _, read_some, write, step = parts_of(scan, items)

    def scan_by_one_block(source, target, init, states, count):
        like = hold(init)
        num_items = int32(number(count, source))
        first = int32(thread_index() * items)
        held = own_count(num_items, items)
        values = local_array(items, total_type)
        read_some(values, source, first, num_items, held, like)
        own = exclusive_held(fold_held(values, held, op), op, threads_holding(num_items, items))
        seed, seeded = seed_of(like, own, op, starts)
        scan_held(values, held, op, seed, seeded, step)
        write(values, target, first, num_items, held)

    return scan_by_one_block


def kernel_that_sweeps(scan: Scan, shape: FewShape) -> Callable[..., Any]:
    """Return the kernel of blocks that read all that lies before their items."""
    op, starts, total_type, items = scan.op, scan.starts, scan.total, shape.items
    number, _, read, read_some, write, step = parts_of(scan, items)
    sweep = sweeping(items, shape.loads, total_type, op, read)

    def scan_by_sweeps(source, target, init, states, count):
        like = hold(init)
        num_items = int32(number(count, source))
        tile_items = int32(block_size() * items)
        tile = int32(block_index())
        base = int32(tile * tile_items)
        if base < num_items:
            first = int32(base + thread_index() * items)
            held = own_count(int32(num_items - base), items)
            values = local_array(items, total_type)
            read_some(values, source, first, num_items, held, like)
            earlier = identity_or_own(op, like)
            if tile > 0:
                earlier = sweep(source, tile, tile_items, num_items, like)
            seed = seed_from_two(fold_held(values, held, op), earlier, op)
            if starts:
                seed = combine(op, like, seed)
            scan_held(values, held, op, seed, starts or tile > 0 or thread_index() > 0, step)
            write(values, target, first, num_items, held)

    return scan_by_sweeps


def kernel_that_looks(scan: Scan, shape: FewShape) -> Callable[..., Any]:
    """Return the kernel of blocks that look back."""
    op, starts, total_type, items = scan.op, scan.starts, scan.total, shape.items
    number, lowest, _, read_some, write, step = parts_of(scan, items)
    look = looking_back(shape.states, shape.patience, total_type, op, own_total(op, TAKE[scan.axes], lowest))

    def scan_by_looks(source, target, init, states, count):
        like = hold(init)
        drawn = as_int64(0)
        if thread_index() == 0:
            drawn = start_draw(states)
        num_items = int32(number(count, source))
        tile_items = int32(block_size() * items)
        tile = int32(block_index())
        base = int32(tile * tile_items)
        if base < num_items:
            first = int32(base + thread_index() * items)
            held = own_count(int32(num_items - base), items)
            values = local_array(items, total_type)
            read_some(values, source, first, num_items, held, like)
            own, total = exclusive_whole(fold_held(values, held, op), op, True)
            before = look(states, drawn, tile, total, source, tile_items, num_items)
            if starts:
                before = combine(op, like, before)
            seed, seeded = seed_of(before, own, op, starts or tile > 0)
            scan_held(values, held, op, seed, seeded, step)
            write(values, target, first, num_items, held)
        if thread_index() == 0:
            end_draw(states, drawn, grid_size(), grid_size())

    return scan_by_looks
