"""`python -m warpkit explain NAME`: how a call is lowered and why, in one screen. Needs the compiler, and no GPU."""

import difflib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import warpkit

from ... import block, device, warp
from ...errors import Refused
from ...simt.numba_cuda.absent import Array, absent_gpu
from ...simt.numba_cuda.listing import Listing, listing
from ...simt.numba_cuda.returned import returned_by
from ...simt.specs import Options, Properties, scalar_spec
from ...simt.steps import KernelStep
from . import arrays, why
from .calls import OPERATORS, OWN_OPERATORS, SHAPES, body_of, kernel_of
from .given import MASKS, Given, required, takes

AT = re.compile(r" \(\S+\.py:\d+\)$")  # where in its own source Numba raised it
THREADS, ITEMS, ARRAY_ITEMS = 256, 4, 1 << 24
COST = re.compile(r"(?:^|\n|  +)(Cost|Storage|Order): *(.*?)(?=  +\w+: |\n\w+(?:, \w+)*: |\n\n|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Asked:
    """What was asked for. items: a thread's, or the array's; 0: the usual number.  threads: of a block."""

    name: str
    dtype: np.dtype[Any]
    width: int = 32
    threads: int = THREADS
    items: int = 0
    op: str = "add"
    capability: tuple[int, int] = (9, 0)


def functions() -> dict[str, Any]:
    """Return what can be explained: by name, array functions with `device.` in front."""
    found = {name: getattr(floor, name) for floor in (warp, block) for name in floor.__all__}
    kept = {name: item for name, item in found.items() if _is_collective(name, item)}
    whole = {f"device.{name}": getattr(device, name) for name in device.__all__}
    return kept | {name: item for name, item in whole.items() if not inspect.isclass(item)}


def _is_collective(name: str, item: Any) -> bool:
    return name.startswith(("warp_", "block_", "lookback_", "grid_reduce")) and required(item) in SHAPES


def explain(asked: Asked) -> int:
    """Print the screen and return 0; 2 for a function or a call that there is none of."""
    known = functions()
    name = asked.name if asked.name in known else f"device.{asked.name}"
    if name not in known:
        print(_unknown(asked.name, known), file=sys.stderr)
        return 2
    try:
        make = arrays_screen if name.startswith("device.") else call_screen
        screen = list(make(name, known[name], asked))
    except (Refused, ValueError) as refusal:
        print(AT.sub("", str(refusal)), file=sys.stderr)
        return 2
    console = Console()
    for part in screen:
        console.print(part, highlight=False)
    return 0


def _unknown(name: str, known: Iterable[str]) -> str:
    """Say what is no function to be explained, and what may be meant: first what has all parts of the word."""
    if name in warpkit.__all__:
        return f"explain compiles warp, block, look-back and array functions; for {name} see help(warpkit.{name})."
    parts = set(name.split("_"))
    near = sorted((other for other in known if parts <= set(re.split("[_.]", other))), key=len)
    near += [other for other in difflib.get_close_matches(name, known, 3, 0.5) if other not in near]
    hint = f"Did you mean {', '.join(near[:3])}?" if near else f"There are {', '.join(known)}."
    return f"There is no warp, block or array function {name!r}. {hint}"


def call_screen(name: str, function: Any, asked: Asked) -> Iterator[Any]:
    """Yield what is printed of a warp or block function."""
    given = Given(asked.dtype, asked.width, asked.items or ITEMS, OWN_OPERATORS.get(name, OPERATORS[asked.op]))
    masks = ("no mask", "a mask of run time", "a literal full mask") if takes(function, "mask") else ("no mask",)
    found = [compiled(function, replace(given, masked=MASKS[mask]), asked) for mask in masks]
    where = f"{asked.dtype}" + (f", width {asked.width}" if takes(function, "width") else "")
    if "items" in required(function):
        where += f", {given.items} items a thread"
    yield heading(name, function, f"{where}, blocks of {asked.threads}", asked.capability)
    columns = masks if len(masks) > 1 else ("one call",)
    yield table(columns, found)
    yield from sentences(name, function, asked, found)


def compiled(function: Any, given: Given, asked: Asked) -> Listing:
    """Compile a kernel with one call."""
    body, specs = body_of(function, given)
    result = returned_by(body, (*specs, scalar_spec(np.int64)), asked.capability)
    kernel, out = kernel_of(body, result.dtype)
    return listing(kernel, (*specs, out), Options(launch_bounds=(asked.threads, 0)), asked.capability)


def arrays_screen(name: str, function: Any, asked: Asked) -> Iterator[Any]:
    """Yield what is printed of an array function."""
    given = Given(asked.dtype, asked.width, asked.items or ARRAY_ITEMS, OPERATORS[asked.op])
    with absent_gpu(asked.capability) as gpu:
        what = ", ".join(arrays.describe(*pair) for pair in arrays.arguments_of(function, Array, given).items())
        steps = [step for step in arrays.prepared(function, Array, given).steps if isinstance(step, KernelStep)]
        found = [step.kernel.listing for step in steps]
        yield heading(name, function, what, asked.capability)
        yield table([step.kernel.image.name for step in steps], found, [step.shared for step in steps])
        yield from (grid(step, gpu) for step in steps)
        yield from sentences(name, function, asked, found)


def grid(step: KernelStep, gpu: Properties) -> str:
    """Say how many blocks there are, and how many of them at once."""
    threads, blocks = int(np.prod(step.block)), int(np.prod(step.grid))
    held = step.kernel.occupancy(gpu, threads, step.shared)
    resident = held * gpu.multiprocessors
    said = f"Grid: {blocks:,} blocks of {threads} threads; {gpu.multiprocessors} multiprocessors hold {held} each"
    if blocks > resident:
        return f"{said}, and others follow as these end."
    return f"{said}: all are there at once" + (", and each goes on to further items." if blocks == resident else ".")


def heading(name: str, function: Any, where: str, capability: tuple[int, int]) -> str:
    """Return the first two lines."""
    doc = inspect.getdoc(function) or ""
    first = " ".join(doc.split("\n\n")[0].split())
    return f"[bold]{escape(name)}[/] · {escape(where)} · sm_{capability[0]}{capability[1]}\n{escape(first)}"


def table(columns: Any, found: list[Listing], dynamic: list[int] | None = None) -> Table:
    """Lay out what each kernel takes."""
    drawn = Table("", *columns, box=box.SIMPLE, pad_edge=False)
    shared = [one.image.shared + more for one, more in zip(found, dynamic or [0] * len(found))]
    rows = {
        "registers": [one.image.registers for one in found],
        "shared bytes": shared,
        "shuffles": [one.counts["shuffles"] for one in found],
        "barriers": [one.counts["block barriers"] for one in found],
        "local bytes": [one.image.local for one in found],
        "spilled bytes": [one.image.spills for one in found],
    }
    for what, numbers in rows.items():
        drawn.add_row(what, *(f"{number:,}" for number in numbers))
    drawn.add_row("lowering", *(why.lowering(one) for one in found))
    return drawn


def sentences(name: str, function: Any, asked: Asked, found: list[Listing]) -> Iterator[str]:
    """Yield the lines below the table: why, and what the contract says."""
    for reason in why.reasons(name, asked.dtype, asked.width, asked.capability, found):
        yield f"· {reason}"
    for field, text in contract(function):
        yield escape(f"{field}, by the contract: {text}")


def contract(function: Any) -> list[tuple[str, str]]:
    """Return what the docstring says of cost, storage and order; where it says "See `other`", that of the other."""
    doc = inspect.getdoc(function) or ""
    found = [(field, " ".join(text.split())) for field, text in COST.findall(doc)]
    other = re.search(r"See `(\w+)`", doc)
    if not any(field == "Cost" for field, _ in found) and other and other[1] in functions():
        return found + [(f"{field} of {other[1]}", text) for field, text in contract(functions()[other[1]])]
    return found
