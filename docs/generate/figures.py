"""The performance page: every figure from a file in bench/results, with what it was measured on; the pictures too."""

import ast
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import plots
from bench.__main__ import SUITES

from .contracts import escaped

BENCH = Path(plots.__file__).parent
RESULTS = BENCH / "results"
WIDEST = 2.0  # a ratio that fills the bar
ELSEWHERE = "claims"  # has a page of its own, and warpkit on one side only: changes.py

INTRODUCTION = """---
hide: [navigation]
---

# Performance

Every figure on this page is in a file of `bench/results`; each suite runs both sides
in the same job. Less is better: a ratio below 1 means that warpkit takes less than its peer.

Your own figures: `python -m warpkit bench`, with `--quick` in 10 to 30 seconds a suite, with `--json FILE` kept, with
`--plot DIR` drawn; `--compare A B` says of two such files what changed by more than noise. Without a GPU it runs small
sizes in the simulator, where results are compared and times mean nothing. What the usual advice on optimisation is
worth on the same GPU is [a page of its own](before-after.md). What a call costs before it is measured says
`python -m warpkit explain NAME --dtype D`: registers, shared memory, shuffles, barriers, and why it is lowered so.

![Every case's ratio, a line for each suite](plots/ratios.svg)
"""
HOST = """## What a call costs the host

![Host costs of a call beside those of others](plots/host.svg)
"""


def newest() -> dict[str, tuple[Path, dict[str, Any]]]:
    """Return the newest record of each suite, by name."""
    found: dict[str, tuple[Path, dict[str, Any]]] = {}
    for path in sorted(RESULTS.glob("*.json")):  # their names begin with the date
        record = json.loads(path.read_text(encoding="utf-8"))
        for suite in record["suites"]:
            found[suite] = (path, record)
    return dict(sorted(found.items()))


def number(value: float | None) -> str:
    """Return a measured value in three digits."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def bar(ratio: float | None) -> str:
    """Return a ratio as a bar, with a line at 1."""
    if ratio is None:
        return ""
    side = "good" if ratio <= 1 else "bad"
    width = 100 * min(ratio, WIDEST) / WIDEST
    return f'<span class="ratio"><span class="{side}" style="width:{width:.0f}%"></span></span> {ratio:.2f}'


def machine(known: dict[str, Any]) -> str:
    """Return in a line what a record was measured on."""
    gpu, versions = known["gpu"], known["versions"]
    card = f"{gpu['name']}, driver {gpu['driver_version']}" if gpu else known["processor"]
    packages = ", ".join(
        f"{name} {versions[name]}" for name in ("numba-warpkit", "numba-cuda", "numba") if name in versions
    )
    return f"{known['date'][:10]} · {card} · {known['nvcc'] or 'no nvcc'} · {packages}"


def section(suite: str, path: Path, record: dict[str, Any]) -> str:
    """Return a suite's table and remarks."""
    content = record["suites"][suite]
    lines = [f"## {suite}", "", measured(suite), "", f"{machine(record['environment'])} · `{path.name}`", ""]
    if plots.curves(content["rows"]):
        lines += [f"![Bandwidth against size](plots/{suite}-bandwidth.svg)", ""]
    lines += table(content["rows"])
    lines += ["", *(f"- {note}" for note in content["notes"] if not note.startswith("took ")), ""]
    lines += [f"- not measured: {error}" for error in content["errors"]]
    return "\n".join(lines) + "\n"


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the rows as a table, without the columns of bandwidth where no bytes count."""
    bytes_count = any(speed(row) or row.get("copy_percent") for row in rows)
    wide = " GB/s | % of copy |" if bytes_count else ""
    lines = [f"| case | warpkit | peer | unit | ratio |{wide}"]
    lines.append(f"| --- | ---: | ---: | --- | --- |{' ---: | ---: |' if bytes_count else ''}")
    for row in rows:
        share = row.get("copy_percent")
        cells = [row["case"].replace("|", "\\|"), number(row["ours"]), number(row.get("peer")), row["unit"]]
        cells += [bar(row.get("ratio"))]
        cells += [speed(row), "" if share is None else f"{share:.0f}"] if bytes_count else []
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def measured(suite: str) -> str:
    """Return what the module of a suite says of itself: what is measured, how, beside what."""
    if suite not in SUITES:  # an old record
        return ""
    source = (BENCH / f"{SUITES[suite]}.py").read_text(encoding="utf-8")
    return escaped(ast.get_docstring(ast.parse(source)) or "", lambda name: None)


def speed(row: dict[str, Any]) -> str:
    """Return the bandwidth of a row, where bytes count."""
    if not row.get("num_bytes") or row["unit"] not in plots.MICROSECONDS:
        return ""
    return number(plots.gigabytes(row["num_bytes"], row["ours"], row["unit"]))


def page() -> str:
    """Return the text of the page."""
    sections = [section(suite, path, record) for suite, (path, record) in newest().items() if suite != ELSEWHERE]
    return "\n".join([INTRODUCTION, HOST, *sections])


def files() -> Iterator[tuple[str, str]]:
    """Yield path and text of the page, and its pictures."""
    yield "performance.md", page()
    with tempfile.TemporaryDirectory() as folder:
        for path in plots.draw(plots.newest(RESULTS), folder):
            if not path.stem.endswith("-ratios"):  # these are in the tables
                yield f"plots/{path.name}", path.read_text(encoding="utf-8")
