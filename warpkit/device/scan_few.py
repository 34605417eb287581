"""The kernel of scans of few items: from registers to registers, and no block waits for another.

A thread reads neighbouring items at once and writes their results in their place, without a detour through shared
memory. Where there are several blocks, each combines all that lies before its own items itself, which is soon there
from the L2 cache: that takes less time than to be told by other blocks, as long as it is little. Such a block reads
what others write over in place; and it combines out of order, so that the operator has to be a built-in one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..block.scan import before_warp_whole, exclusive_threads, join_exclusive, scan_whole
from ..block.shape import int32, lane_number, warp_number
from ..block.totals import SLOTS, put_total, take_total
from ..simt.lanes import block_index, block_size, grid_size, thread_index
from ..simt.machine import device_function
from ..simt.memory import is_aligned, load_vector, local_array, scratch, store_vector
from ..simt.sync import barrier
from ..simt.types import as_index, as_int64, cast_like, combine, hold, identity_or_own, is_commutative
from ..warp.chain import reduce_members
from ..warp.participants import FULL_MASK
from .scan_kernel import Scan, number_of
from .scan_look import looking_back, own_total
from .scan_tile import exclusive_step, fold_all, inclusive_step, own_count, seed_of, threads_holding
from .tiles import TAKE, end_draw, start_draw

WIDEST = 16  # bytes of one access
LEAST = 256  # threads of blocks that look back


@device_function()
def from_begin(position, length, num_items):
    """Return where a run of `length` items lies whose first one in the order of the scan has `position`."""
    return position


@device_function()
def from_end(position, length, num_items):
    """Return where a run of `length` items of a scan from the end lies."""
    return num_items - position - length


@device_function()
def same_place(j, size):
    """Return which of the items of a run in memory is number `j` of the scan."""
    return j


@device_function()
def other_place(j, size):
    """Return which of the items of a run in memory is number `j` of a scan from the end."""
    return size - 1 - j


def reading(
    scan: Scan, items: int, lowest: Callable[..., Any], turned: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return two functions that read items from `source` into `values`, in the order of the scan.

    The first, (values, source, position, num_items, like), reads a whole run; the second, with `held` before `like`,
    as much of it as there is, and gives the others the identity of `op`, if it is known.
    """
    op, take, item = scan.op, TAKE[scan.axes], scan.item
    width = min(WIDEST, items * item.itemsize) if scan.vectors_in else 0
    each = width // item.itemsize if width else items
    vectors = width >= 2

    def read_each(values, source, position, num_items, held, like):
        for j in range(items):
            values[j] = identity_or_own(op, like)
            if j < held:
                values[j] = cast_like(like, hold(take(source, lowest(position + j, 1, num_items))))

    if not vectors:

        def read_elements(values, source, position, num_items, like):
            read_each(values, source, position, num_items, items, like)

        return read_elements, read_each
    pieces = items // each

    def read_run(values, source, position, num_items, like):
        low = lowest(position, items, num_items)
        if is_aligned(source, low, width):
            run = local_array(items, item)
            for k in range(pieces):
                load_vector(run, k * each, source, low + k * each, width)
            for j in range(items):
                values[j] = cast_like(like, run[turned(j, items)])
        else:
            read_each(values, source, position, num_items, items, like)

    def read_some(values, source, position, num_items, held, like):
        if held == items:
            read_run(values, source, position, num_items, like)
        else:
            read_each(values, source, position, num_items, held, like)

    return read_run, read_some


def writing(scan: Scan, items: int, lowest: Callable[..., Any], turned: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function (values, target, position, num_items, held) that writes the first `held` results."""
    result = scan.result
    width = min(WIDEST, items * result.itemsize) if scan.vectors else 0
    each = width // result.itemsize if width else items
    vectors, pieces = width >= 2, items // each

    def write_each(values, target, position, num_items, held):
        mould = local_array(1, result)
        for j in range(items):
            if j < held:
                target[as_index(lowest(position + j, 1, num_items))] = cast_like(mould[0], values[j])

    if not vectors:
        return write_each

    def write_run(values, target, position, num_items, held):
        low = lowest(position, items, num_items)
        if held == items and is_aligned(target, low, width):
            run = local_array(items, result)
            for j in range(items):
                run[turned(j, items)] = cast_like(run[0], values[j])
            for k in range(pieces):
                store_vector(run, k * each, target, low + k * each, width)
        else:
            write_each(values, target, position, num_items, held)

    return write_run


@device_function()
def fold_held(values, held, op):
    """Combine the thread's items, of which there are `held`; anything for none. Those beyond are identities, if any."""
    if is_commutative(op):
        return fold_all(values, op)
    total = hold(values[0])
    for j in range(1, values.size):
        if j < held:
            total = combine(op, total, values[j])
    return total


@device_function()
def scan_held(values, held, op, seed, seeded, step):
    """Replace the thread's items, of which there are `held`, by their results."""
    run = seed
    for j in range(values.size):
        if is_commutative(op) or j < held:
            both = step(op, run, seeded or j > 0, hold(values[j]))
            run = both[0]
            values[j] = both[1]


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


def sweeping(
    items: int, loads: int, total: Any, op: Callable[..., Any], read: Callable[..., Any]
) -> Callable[..., Any]:
    """Return the function (source, tiles, tile_items, num_items, like) that combines what tiles hold for this thread.

    There is one tile at least. `loads`: how many of them are read before any is waited for.
    """

    in_flight = loads * items

    def sweep(source, tiles, tile_items, num_items, like):
        values = local_array(in_flight, total)
        some = local_array(items, total)
        first = int32(thread_index() * items)
        swept = identity_or_own(op, like)
        at = int32(0)
        while at < tiles:
            for k in range(loads):  # where nothing is left, the last one again: no read waits for a condition
                read(some, source, int32(first + min(at + k, tiles - 1) * tile_items), num_items, like)
                for j in range(items):
                    values[k * items + j] = some[j]
            for k in range(loads):
                part = hold(values[k * items])
                for j in range(1, items):
                    part = combine(op, part, values[k * items + j])
                swept = combine(op, swept, part) if at + k < tiles else swept
            at = int32(at + loads)
        return swept

    return sweep


@dataclass(frozen=True)
class FewShape:
    """How the kernel of few items works: `items` of a thread, a power of two, in blocks of at most `threads` threads.

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


def few_kernel(scan: Scan, shape: FewShape) -> Callable[..., Any]:
    """Return the kernel of few items: fewer than 2^31.

    Called by: blocks of the same number of whole warps, as many as it takes; where there are several the operator is a
    built-in one and the arrays share no memory; where it looks back, a state is read in one access.
    Args: as of `tile_kernel`.
    """
    op, starts, total_type, items = scan.op, scan.starts, scan.total, shape.items
    lowest, turned = (from_end, other_place) if scan.reverse else (from_begin, same_place)
    number, step = number_of(scan), exclusive_step if scan.exclusive else inclusive_step
    read, read_some = reading(scan, items, lowest, turned)
    write = writing(scan, items, lowest, turned)

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

    if shape.loads == shape.states == 0:
        return scan_by_one_block
    sweep = sweeping(items, max(shape.loads, 1), total_type, op, read)

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

    if shape.states == 0:
        return scan_by_sweeps
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
