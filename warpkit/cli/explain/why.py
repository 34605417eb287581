"""What the counts of a kernel's instructions mean: the lowering in words, and why it is that one."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

WORD = 4  # bytes that a shuffle moves
REDUCES = re.compile(r"(warp|block)_(active_)?(sum|product|min|max|bit_(and|or|xor)|reduce)")
BLOCKS = re.compile("block_(sum|product|min|max|bit_|reduce|inclusive|exclusive|prefix|queue_push_items)|grid_reduce")
WAYS = {
    "butterfly": "{n} across (butterfly)",
    "from lower lanes": "{n} from lower lanes",
    "from higher lanes": "{n} from higher lanes",
    "from named lanes": "{n} from lanes named at run time",
}
REDUX = (
    "redux.sync reduces the lanes' 32-bit integers in one instruction, from compute capability 8.0: sums, bit "
    "operators, min and max of integers up to 32 bits, and min and max of float16 and float32, mapped to integers."
)
BUTTERFLY = (
    "In a whole warp lanes exchange values across 1, 2, 4 … lanes: all end with the result, the same to the bit."
)
UPWARDS = "In a whole warp a scan reads the lane 1, 2, 4 … lanes before (Kogge & Stone 1973)."
POINTERS = (
    "Where lanes may be missing each follows a pointer to the lane before it, and pointers double from round to round "
    "(Hillis & Steele 1986): whatever holes there are, log2(width) rounds do."
)
BOTH = "Without a literal mask both ways are in the code and one is taken: a whole warp takes that of the full mask."
SEVERAL = (
    "Several ways are in the code, for blocks of whole warps and for others, for few warps and for many, and a call "
    "takes one of them: the table counts the code, the contract's cost one call."
)


def lowering(listing: Any) -> str:
    """Return the instructions by which threads meet, in words."""
    counts = listing.counts
    parts = ["1 redux.sync" if counts["redux"] == 1 else f"{counts['redux']} redux.sync"] if counts["redux"] else []
    ways = [WAYS[way].format(n=n) for way, n in listing.shuffles.items() if n]
    parts += [f"shuffles: {', '.join(ways)}"] if ways else []
    named = ("votes", "matches", "active masks", "warp barriers", "block barriers", "shared atomics", "global atomics",
             "fences", "async copies", "16-byte loads", "16-byte stores", "divisions", "calls")  # fmt: skip
    parts += [f"{counts[name]} {name if counts[name] > 1 else singular(name)}" for name in named if counts[name]]
    return "; ".join(parts) or "nothing by which threads meet"


def singular(name: str) -> str:
    """Return the name of one of several."""
    return name.removesuffix("es") if name.endswith("ches") else name.removesuffix("s")


def reasons(name: str, dtype: np.dtype[Any], width: int, capability: tuple[int, int],
            listings: Sequence[Any]) -> Iterator[str]:  # fmt: skip
    """Yield the sentences that say why; `listings`: of each form of the call, the literal full mask's last."""
    first, last = listings[0], listings[-1]
    ways, counts = {way for listing in listings for way, n in listing.shuffles.items() if n}, last.counts
    words = -(-dtype.itemsize // WORD)
    if counts["redux"]:
        yield REDUX
    elif REDUCES.fullmatch(name):
        yield no_redux(dtype, width, capability)
    if "butterfly" in ways:
        yield BUTTERFLY
    if ways & {"from lower lanes", "from higher lanes"} and re.search("scan|prefix|inclusive", name):
        yield UPWARDS
    if first.shuffles["from named lanes"] > last.shuffles["from named lanes"]:
        yield POINTERS
    if len(listings) > 1 and first.counts["shuffles"] > counts["shuffles"] > 0:
        yield BOTH
    if BLOCKS.match(name) and counts["block barriers"] > 2:
        yield SEVERAL
    if words > 1 and counts["shuffles"]:
        yield f"A shuffle moves 32 bits, and a {dtype} is {words} words: {words} shuffles for each step."
    if counts["16-byte loads"]:
        yield f"A thread reads {16 // dtype.itemsize or 1} neighbouring {dtype} at once where 16 bytes are aligned."
    if counts["async copies"]:
        yield "Copies go to shared memory past the registers (cp.async from 8.0, bulk copies from 9.0 on)."
    yield memory(listings)


def no_redux(dtype: np.dtype[Any], width: int, capability: tuple[int, int]) -> str:
    """Say why a reduction is no redux.sync."""
    if capability < (8, 0):
        return f"No redux.sync: compute capability {capability[0]}.{capability[1]} has none, 8.0 has."
    if width < 32:
        return f"No redux.sync: it reduces whole warps, and logical warps here have {width} lanes."
    return f"No redux.sync: there is none for {dtype} with this operator."


def memory(listings: Sequence[Any]) -> str:
    """Say where values live."""
    local = max(listing.image.local for listing in listings)
    spills = max(listing.image.spills for listing in listings)
    if spills:
        return f"{spills} bytes of spilled registers: there are more values than registers."
    if local:
        return f"{local} bytes of a thread's arrays are in local memory: something is indexed at run time."
    return "All values are in registers: no local memory, nothing spilled."
