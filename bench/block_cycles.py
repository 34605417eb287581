"""Block floor: cycles of a collective in a dependent chain, beside CUB's with its barrier (cuda/block.cu).

Goals: with 256 threads and float32, block_sum and block_prefix_sum take at most 1.0 × CUB.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import cuda

import warpkit as wk

from . import chains
from .chains import clock64, keep_rolled
from .harness import Row
from .peers import Peer

SIZES = (64, 128, 256, 512, 1024)
ITEMS_THREADS = 256
SCAN_FACTOR = 0.001
BY_WARPS = " by warps"
NOTES = (
    "cycles per call by the clock of thread 0; CUB's rows include one barrier, ours end with theirs",
    "CUB leaves a reduction's result in thread 0 only, ours in every thread, which costs one more shared read",
    "CUB's scans are by raking, its default, where nothing else is said; ours of items also return the total",
)
VALUES = {"f32": "float", "i32": "int", "f64": "double"}


def _total(values):
    return np.full(values.shape, values.sum())


def _exclusive(values):
    return np.cumsum(values) - values


@dataclass(frozen=True)
class Case:
    """One chain: `peer` is CUB's name of it, `meaning` its NumPy form on the items of the block, in order.

    `call` takes a thread's value, or its local array for more than one of `items`; `scan`: every item has its result.
    """

    peer: str
    call: Callable
    meaning: Callable
    scan: bool
    items: int = 1
    goal: float | None = None

    def factor(self, count):
        """Return what results are scaled by, so that a chain over `count` items stays finite."""
        return SCAN_FACTOR if self.scan else 0.5 / count


def _cases():
    """Return the cases of one value a thread, then those of several."""
    yield Case("sum", lambda v: wk.block_sum(v), _total, False, goal=1.0)
    yield Case("exclusive sum", lambda v: wk.block_prefix_sum(v), _exclusive, True, goal=1.0)
    yield Case("inclusive sum", lambda v: wk.block_inclusive_sum(v), np.cumsum, True)
    yield Case("reduce lambda", lambda v: wk.block_reduce(v, lambda a, b: a + b), _total, False)
    for items in (4, 8, 16):
        yield Case(f"sum of {items} items", lambda v: wk.block_reduce_items(v, wk.add), _total, False, items)
        scan = lambda v: wk.block_exclusive_scan_items(v, wk.add, 0)
        yield Case(f"exclusive sum of {items} items", scan, _exclusive, True, items)


def _follow(case, kind):
    """Return the device function of the step: (item, total, factor, number of the item) -> the next item.

    After a reduction the scaled total and the item's number, after a scan the scaled item and 1.
    """
    number = kind.dtype
    low, one = number(0xFF), number(1)
    if case.scan and kind.exact:
        return cuda.jit(device=True)(lambda item, total, factor, own: number((item & low) + one))
    if case.scan:
        return cuda.jit(device=True)(lambda item, total, factor, own: item * factor + one)
    if kind.exact:
        return cuda.jit(device=True)(lambda item, total, factor, own: number((total & low) + one + number(own)))
    return cuda.jit(device=True)(lambda item, total, factor, own: total * factor + number(own))


def value_chain(case, kind):
    """Build the kernel for one value a thread: `rounds` times `v = step(call(v))`, clocked."""
    first, follow, call = kind.first(), _follow(case, kind), cuda.jit(device=True)(case.call)

    @cuda.jit
    def kernel(out, ticks, rounds, factor):
        thread = cuda.threadIdx.x
        value = first(thread)
        begin = clock64()
        while rounds > 0:
            keep_rolled()
            result = call(value)
            value = follow(result, result, factor, thread)
            rounds = np.int32(rounds - 1)
        end = clock64()
        out[thread] = value
        ticks[thread] = end - begin

    return kernel


def items_chain(case, kind):
    """Build the kernel for several items a thread, in a local array; stores their sum."""
    first, follow, call = kind.first(), _follow(case, kind), cuda.jit(device=True)(case.call)
    count, dtype = case.items, kind.dtype

    @cuda.jit
    def kernel(out, ticks, rounds, factor):
        thread = cuda.threadIdx.x
        items = cuda.local.array(count, dtype)
        for k in range(count):
            items[k] = first(thread * count + k)
        begin = clock64()
        while rounds > 0:
            keep_rolled()
            total = call(items)
            for k in range(count):
                items[k] = follow(items[k], total, factor, thread + k)
            rounds = np.int32(rounds - 1)
        end = clock64()
        last = items[0]
        for k in range(1, count):
            last = dtype(last + items[k])
        out[thread] = last
        ticks[thread] = end - begin

    return kernel


def _expected(case, kind, threads):
    """Run the chain in NumPy; return what every thread stores."""
    count = threads * case.items
    values = (np.arange(count) + 1) * (1 if kind.exact else 0.001)
    numbers = (np.arange(threads)[:, None] + np.arange(case.items)).ravel()
    for _ in range(chains.ROUNDS):
        result = case.meaning(values)
        values = (result & 0xFF) + 1 if kind.exact else result * case.factor(count) + case.scan
        values = values if case.scan else values + numbers
    return values.reshape(threads, case.items).sum(axis=1)


def _measure(case, kind, kernel, threads):
    """Return the cycles per call; ValueError when a value is wrong."""
    factor = kind.dtype(0 if kind.exact else case.factor(threads * case.items))
    cycles, found = chains.run(kernel, kind, threads, factor)
    right = _expected(case, kind, threads)
    if not np.allclose(found, right, rtol=kind.tolerance, atol=0):
        worst = int(np.argmax(np.abs(found - right)))
        raise ValueError(f"{threads} threads: thread {worst} has {found[worst]} instead of {right[worst]}")
    return cycles


def _rows(case, kind, report):
    """Yield (CUB's case, row) for every block size; one compile serves all of them."""
    kernel = (value_chain if case.items == 1 else items_chain)(case, kind)
    for threads in SIZES if case.items == 1 else (ITEMS_THREADS,):
        goal = case.goal if kind.name == "f32" and threads == 256 else None
        row = Row(f"{case.peer}, {kind.name}, {threads} threads", 0.0, unit="cycles", goal=goal)
        try:
            row.ours = _measure(case, kind, kernel, threads)
        except ValueError as error:
            report.errors.append(f"{row.case}: {error}")
            continue
        yield (case.peer, f" {kind.name} {threads}"), row


def _beside(peers, report):
    found = {}
    for peer in peers:
        found |= peer.beside(report)
    return found


def run(report):
    """Measure every case; one that fails is an error of the report and costs the others nothing."""
    capability = cuda.get_current_device().compute_capability
    peers = [Peer("block", capability, f"CHAIN_VALUE={value}") for value in VALUES.values()]
    rows, pairs = [], [(case, chains.KINDS[kind]) for kind in VALUES for case in _cases()]
    for case, kind in report.cases(pairs, lambda pair: f"{pair[0].peer}, {pair[1].name}"):
        with report.attempt(f"{case.peer}, {kind.name}"):
            rows.extend(_rows(case, kind, report))
    beside = _beside(peers, report)
    for (name, where), row in rows:
        row.peer = beside.get(name + where)
        report.rows.append(row)
        by_warps = beside.get(name + BY_WARPS + where)
        if by_warps:
            row.note = f"CUB's scan by warps takes {by_warps:g} cycles"
            if row.goal or ", 256 threads" in row.case:
                report.rows.append(Row(f"{row.case}, beside CUB's scan by warps", row.ours, by_warps, unit="cycles"))
    report.notes += NOTES if peers[0].built else [*NOTES, Peer.missing]
