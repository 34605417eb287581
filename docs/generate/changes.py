"""The page of what optimisation advice is worth: every before and after, from the newest records that have them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .figures import bar, machine, newest, number

PATH = "before-after.md"
INTRODUCTION = """---
hide: [navigation]
---

# Before and after

What others advise, measured on one GPU: LuisaCompute's guide to optimisation, a note on CUDA memory, and a change to a
`parallel_for` in CUDA C++. Both sides run in the same job and give the same result. Less is better: a ratio below 1
means that the change is worth it here; where it is not, the reason is beside it. `python -m warpkit bench claims`
measures them on your GPU. The library beside other libraries: [Performance](performance.md).
"""
CLAIMS = "claims"
# Heading, what begins the names of the cases of suite `claims` that stand below it.
HEADINGS = {
    "In a warp": "guide 3",
    "In a block, and between blocks": "guide 4",
    "Submissions": "guide 7",
    "Memory": "memory note",
    "Loops over ranges": "xpu",
}
# Heading, then (suite, pattern of its cases, what they are): other suites have measured more of it.
ELSEWHERE = {
    "In a warp": (
        ("warp", r"(sum|max|exclusive sum) f32, full mask", "One warp that waits for each result, beside CUB's calls:"),
    ),
    "In a block, and between blocks": (
        ("queue", r"one item a thread|push_items(_ordered)?, 8, ", "Queues, beside a global atomic an item:"),
    ),
    "Submissions": (
        ("launch", r"\d+ launches, .*", "Lists beside the driver's own calls:"),
        ("pipeline", r".*pipelined / blocking", "Lists whose callbacks work on what has come, beside a wait for each:"),
    ),
    "Loops over ranges": (
        ("parallel_for", r"copy .*", "`parallel_for` beside hand-written CUDA C++:"),
        ("parallel_for", r"table of .*", "A body that reads a captured table, beside hand-written CUDA C++:"),
        ("parallel_for", r"host, .*", "What a loop costs the host, beside a raw launch of the same kernel:"),
        ("launch", r"(prepared|launch\(\)), numba", "What a launch costs the host, beside a raw launch:"),
    ),
}  # fmt: skip


def change(row: dict[str, Any]) -> str:
    """Return a claim as a line of a table: change, times, ratio, reason; and whether it does not hold."""
    reason = row.get("note", "")
    if row["ratio"] > 1:
        reason = f"**Does not hold here.** {reason}"
    name = row["case"].replace("|", "\\|")
    return f"| {name} | {number(row['peer'])} | {number(row['ours'])} | {bar(row['ratio'])} | {reason} |"


def claims(rows: list[dict[str, Any]]) -> list[str]:
    """Return the claims below one heading."""
    if not rows:
        return []
    lines = ["| change | before, µs | after, µs | ratio | why |", "| --- | ---: | ---: | --- | --- |"]
    return [*lines, *map(change, rows), ""]


def others(suite: str, pattern: str, what: str, records: dict[str, tuple[Path, dict[str, Any]]]) -> list[str]:
    """Return what another suite has measured of it."""
    if suite not in records:
        return []
    path, record = records[suite]
    rows = [row for row in record["suites"][suite]["rows"] if row.get("ratio") and re.match(pattern, row["case"])]
    if not rows:
        return []
    lines = [what, "", f"{machine(record['environment'])} · `{path.name}`", ""]
    lines += ["| case | warpkit | peer | unit | ratio |", "| --- | ---: | ---: | --- | --- |"]
    for row in rows:
        cells = [row["case"], number(row["ours"]), number(row["peer"]), row["unit"], bar(row["ratio"])]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def page() -> str:
    """Return the text of the page."""
    records = newest()
    path, record = records.get(CLAIMS, (None, None))
    rows = record["suites"][CLAIMS]["rows"] if record else []
    lines = [INTRODUCTION]
    if record and path:
        content = record["suites"][CLAIMS]
        lines += [f"{machine(record['environment'])} · `{path.name}`", ""]
        lines += [f"- not measured: {error}" for error in content["errors"]]
    for heading, prefix in HEADINGS.items():
        found = claims([row for row in rows if row["case"].startswith(prefix)])
        for suite, pattern, what in ELSEWHERE.get(heading, ()):
            found += others(suite, pattern, what, records)
        lines += [f"## {heading}", "", *found] if found else []
    return "\n".join(lines) + "\n"


def files() -> Iterator[tuple[str, str]]:
    """Yield path and text of the page."""
    yield PATH, page()
