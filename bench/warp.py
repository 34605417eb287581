"""Warp floor: cycles of a collective in a dependent chain, beside CUB's in the same chain (cuda/warp.cu).

Goals are against CUB with the whole warp: 1.0 × with a literal full mask, 1.3 × without a mask on a full
warp, 3 × with a random mask known only at run time (the slowest of five).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import cuda

import warpkit as wk

from . import chains
from .harness import Row
from .peers import Peer

FULL = chains.FULL
RANDOM = "random mask"
GOAL_KINDS = ("f32", "i32")
RANDOM_MASKS = [int(mask) for mask in np.random.default_rng(20).integers(1 << 8, 1 << 32, 5)]


def _last(values):
    return np.full(values.shape, values[-1])


def _sum(values):
    return _last(np.cumsum(values))


def _exclusive(values):
    return np.cumsum(values) - values


def _max(values):
    return np.full(values.shape, values.max())


def _min(values):
    return np.full(values.shape, values.min())


@dataclass(frozen=True)
class Case:
    """One chain: `peer` is CUB's name of it, `meaning` its NumPy form on the participants of one group."""

    peer: str
    kinds: str
    call: Callable
    meaning: Callable
    form: str = "full mask"
    width: int = 32
    factor: float = 0.03
    plus: float = 0.0
    goal: float | None = None


sum_full = lambda v, mask: wk.warp_active_sum(v, mask=FULL)
sum_bare = lambda v, mask: wk.warp_active_sum(v)
sum_some = lambda v, mask: wk.warp_active_sum(v, mask=mask)
sum_of_8 = lambda v, mask: wk.warp_active_sum(v, mask=FULL, width=8)
sum_of_16 = lambda v, mask: wk.warp_active_sum(v, mask=FULL, width=16)
scan_full = lambda v, mask: wk.warp_prefix_sum(v, mask=FULL)
scan_bare = lambda v, mask: wk.warp_prefix_sum(v)
scan_some = lambda v, mask: wk.warp_prefix_sum(v, mask=mask)
inclusive = lambda v, mask: wk.warp_inclusive_sum(v, mask=FULL)
least = lambda v, mask: wk.warp_active_min(v, mask=FULL)
most = lambda v, mask: wk.warp_active_max(v, mask=FULL)
any_operator = lambda v, mask: wk.warp_reduce(v, lambda a, b: a + b, mask=FULL)

CASES = (
    Case("sum", "f32 i32 f64 i64 f16", sum_full, _sum, goal=1.0),
    Case("sum", "f32 i32", sum_bare, _sum, "no mask", goal=1.3),
    Case("sum", "f32 i32", sum_some, _sum, RANDOM, plus=1.0, goal=3.0),
    Case("sum width 8", "f32 i32", sum_of_8, _sum, width=8, factor=0.12),
    Case("sum width 16", "f32 i32", sum_of_16, _sum, width=16, factor=0.06),
    Case("exclusive sum", "f32 i32 f64 i64", scan_full, _exclusive, plus=1.0, goal=1.0),
    Case("exclusive sum", "f32 i32", scan_bare, _exclusive, "no mask", plus=1.0, goal=1.3),
    Case("exclusive sum", "f32 i32", scan_some, _exclusive, RANDOM, plus=1.0, goal=3.0),
    Case("inclusive sum", "f32 i32 f64 i64", inclusive, np.cumsum, plus=1.0),
    Case("min", "f32 i32", least, _min, factor=0.97),
    Case("max", "f32 i32", most, _max, factor=0.97),
    Case("reduce lambda", "f32 i32", any_operator, _sum),
)


def _measure(case, kind, kernel, threads):
    """Return the cycles per call of the slowest mask; ValueError when a value is wrong."""
    slowest = 0.0
    for mask in RANDOM_MASKS if case.form == RANDOM else [FULL]:
        first_lane = (mask & -mask).bit_length() - 1
        cycles, values = chains.run(kernel, kind, threads, np.uint32(mask), first_lane)
        lanes = [lane for lane in range(32) if mask >> lane & 1]
        right, here = kind.expected(case.meaning, threads, case.factor, case.plus, lanes, case.width)
        if not np.allclose(values[here].astype(np.float64), right[here], rtol=kind.tolerance, atol=0):
            raise ValueError(f"wrong values with mask {mask:#010x}")
        slowest = max(slowest, cycles)
    return slowest


def _rows(case, kind):
    """Return (CUB's case, row) for 32 and for 256 threads a block; one compile serves both."""
    kernel = chains.chain(cuda.jit(device=True)(case.call), kind, case.factor, case.plus)
    goal = case.goal if kind.name in GOAL_KINDS else None
    for threads in (32, 256):
        row = Row(f"{case.peer} {kind.name}, {case.form}, {threads} threads", 0.0, unit="cycles", goal=goal)
        row.ours = _measure(case, kind, kernel, threads)
        yield f"{case.peer} {kind.name} {threads}", row


def run(report):
    """Measure every case; one that fails is an error of the report and costs the others nothing."""
    peer = Peer("warp", cuda.get_current_device().compute_capability)
    rows, pairs = [], [(case, chains.KINDS[kind]) for case in CASES for kind in case.kinds.split()]
    titled = lambda pair: f"{pair[0].peer} {pair[1].name}, {pair[0].form}"
    for case, kind in report.cases(pairs, titled):
        with report.attempt(titled((case, kind))):
            rows.extend(_rows(case, kind))
    beside = peer.beside(report)
    for key, row in rows:
        row.peer = beside.get(key)
        report.rows.append(row)
    report.notes.append("cycles per call, by the clock of the first lane that takes part")
    report.notes.append("CUB's reductions leave the result in lane 0, ours in every lane")
    if not peer.built:
        report.notes.append(peer.missing)
