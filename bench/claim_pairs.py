"""The pairs of suite `claims` that are two kernels each: what is replaced, by what, the result, and why it is so."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import claim_copies as copies
from . import claim_kernels as kernels

LARGE, ROUNDED, SIMULATED = 1 << 26, 1 << 22, 1 << 10
"""Items: of kernels that read each once and do little more, of those that repeat an operation on it, of all in the
simulator."""
BLOCK = kernels.THREADS


@dataclass(frozen=True)
class Claim:
    """Two kernels `(x, out)` for the same result; `expected` computes it from x, `out` has its length and dtype."""

    name: str
    before: Any
    after: Any
    expected: Callable[[Any], Any]
    why: str
    size: int = LARGE
    items: int = 1  # a thread, after
    block: Any = BLOCK
    square: bool = False  # x is, and so is the grid, of tiles of 32 × 32
    columns: int = 1  # of the grid, before
    arranged: Callable[[Any], Any] = lambda out: out  # puts what the kernel before gives in the order of the other


def by_block(x):
    """Return the items, a row a block."""
    return x.reshape(-1, BLOCK)


def rounds(total, growth):
    """Return what a warp kernel's rounds add up to: an operation's result grows by `growth` from round to round."""
    return (kernels.ROUNDS * total + growth * sum(range(kernels.ROUNDS))).ravel().astype(np.float32)


def largest(x, lanes):
    """Return the rounds of a maximum over groups of lanes."""
    return rounds(np.repeat(x.reshape(-1, lanes).max(axis=1), lanes), 1)


def prefixes(x):
    """Return the rounds of an exclusive sum over warps."""
    warps = x.reshape(-1, 32)
    return rounds(np.cumsum(warps, axis=1) - warps, np.arange(32))


def block_sums(x):
    """Return the sum of each block, as float32."""
    return by_block(x).sum(axis=1).astype(np.float32)


CLAIMS = (
    Claim(
        "guide 3.1: a shared atomic +1 a thread → warp sum",
        kernels.count_before,
        kernels.count_after,
        lambda x: (by_block(x) < kernels.LIMIT).sum(axis=1, dtype=np.int32),
        "The compiler makes one instruction of the atomic that counts a warp's lanes (ATOMS.POPC.INC): a barrier is "
        "left to save, and for it one thread adds eight numbers up.",
    ),
    Claim(
        "guide 3.1: a shared atomic +1 a thread → block_count",
        kernels.count_before,
        kernels.count_by_block,
        lambda x: (by_block(x) < kernels.LIMIT).sum(axis=1, dtype=np.int32),
        "One barrier that counts (BAR.RED.POPC) instead of two barriers and an atomic a warp.",
    ),
    Claim(
        "guide 3.1: a shared atomic + value a thread → warp sum",
        kernels.add_before,
        kernels.add_after,
        lambda x: by_block(x).sum(axis=1, dtype=np.int32),
        "The compiler adds up the warp's values by itself (REDUX) and leaves one atomic a warp: a barrier is left to "
        "save, and for it one thread adds eight numbers up.",
    ),
    Claim(
        "guide 3.1: a shared atomic + value a thread → block_sum",
        kernels.add_before,
        kernels.add_by_block,
        lambda x: by_block(x).sum(axis=1, dtype=np.int32),
        "For integers the compiler does as much of its own (REDUX, one atomic a warp): the call is for floats, whose "
        "atomics it does not gather, and for the same bits in every run.",
    ),
    Claim(
        "guide 3.2: tree in shared memory → two levels of warp sums",
        kernels.tree_before,
        kernels.tree_after,
        block_sums,
        "Eight barriers and eight passes through shared memory become one of each.",
    ),
    Claim(
        "guide 4.4 → 4.5: tree with two barriers a step → two levels (block_tree_sum → block_sum)",
        kernels.block_tree_before,
        kernels.block_tree_after,
        block_sums,
        "Eighteen barriers become two.",
    ),
    Claim(
        "guide 3.3: butterfly over a warp → built-in maximum",
        kernels.butterfly_before,
        kernels.butterfly_after,
        lambda x: largest(x, 32),
        "One reduction of integers (REDUX, from sm_80 on), onto which the floats are mapped, answers in less than half "
        "of the cycles of five shuffles in a row (suite `warp`); on a GPU full of warps their throughputs count, which "
        "are close.",
        size=ROUNDED,
    ),
    Claim(
        "guide 3.3: butterfly over 8 lanes, which the guide keeps → built-in maximum, width=8",
        kernels.group_before,
        kernels.group_after,
        lambda x: largest(x, 8),
        "Both are three shuffles: here the call saves code, not time, and it orders NaN and the zeros besides.",
        size=ROUNDED,
    ),
    Claim(
        "guide 3.4: read every lower lane → prefix sum",
        kernels.reads_before,
        kernels.reads_after,
        prefixes,
        "31 shuffles and as many additions become 6 and 5.",
        size=ROUNDED,
    ),
    Claim(
        "memory note: lanes read 32 items apart → neighbours",
        copies.strided_before,
        copies.coalesced,
        lambda x: x,
        "32 lanes that read 32 sectors of 32 bytes fetch eight times the bytes that they use.",
        columns=32,
        arranged=lambda out: out.reshape(32, -1).T.ravel(),
    ),
    Claim(
        "memory note: 4-byte loads and stores → 16-byte ones",
        copies.coalesced,
        copies.vectorized,
        lambda x: x,
        "A quarter of the instructions for the same bytes: where memory is the limit that alone is worth little.",
        items=4,
    ),
    Claim(
        "memory note: transpose through a tile of 32 × 32 → 32 × 33",
        copies.tile_before,
        copies.tile_after,
        lambda x: x.T,
        "A column of the 32 × 32 tile lies in one bank and is read in 32 turns, that of the padded one in one.",
        block=(32, 8),
        square=True,
    ),
)
