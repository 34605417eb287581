"""What every suite shares: rows with goals, the table, the JSON file."""

import contextlib
import json
import os
import sys
from dataclasses import asdict, dataclass, field, fields

from .mode import MODE, spread

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")


class Unavailable(Exception):
    """This machine cannot run the suite; one sentence says what is missing."""


@dataclass
class Row:
    """One measured case: ours beside the peer's, both in `unit`, smaller is better.

    `copy` is the time of a plain copy of as many bytes. Goals: `goal` is the largest ours / peer,
    `limit` the largest ours, `copy_goal` the smallest percentage of the copy's speed. `noise`, `peer_noise`: half the
    range between the quartiles of the repeats over their median, where there were some.
    """

    case: str
    ours: float
    peer: float | None = None
    unit: str = "µs"
    num_bytes: int | None = None
    copy: float | None = None
    goal: float | None = None
    limit: float | None = None
    copy_goal: float | None = None
    note: str = ""
    noise: float | None = None
    peer_noise: float | None = None

    def __post_init__(self):
        """Take over the noise of the times that it was made with."""
        self.ours, self.peer = self.ours, self.peer

    def __setattr__(self, name, value):
        """Take over how much a median's repeats differed."""
        object.__setattr__(self, name, value)
        if name in ("ours", "peer") and getattr(value, "noise", None) is not None:
            object.__setattr__(self, "noise" if name == "ours" else "peer_noise", value.noise)

    @property
    def gigabytes(self):
        """Bandwidth in GB/s, None where no bytes count or the unit is none of time."""
        seconds = {"µs": 1e-6, "ms": 1e-3}.get(self.unit)
        return self.num_bytes / (self.ours * seconds) * 1e-9 if self.num_bytes and seconds and self.ours else None

    @property
    def ratio(self):
        """Ours over the peer's, None without a peer."""
        return self.ours / self.peer if self.peer else None

    @property
    def copy_percent(self):
        """Speed as a percentage of the copy's, None without one."""
        return 100 * self.copy / self.ours if self.copy else None

    def excess(self):
        """Return by what factor the worst goal is overshot (at most 1 is met), None without a goal."""
        pairs = ((self.ratio, self.goal), (self.ours, self.limit), (self.copy_goal, self.copy_percent))
        factors = [value / bound for value, bound in pairs if value is not None and bound]
        return max(factors, default=None)

    def goals(self):
        """Return the goals as text."""
        parts = [f"ratio ≤ {self.goal:g}"] if self.goal else []
        parts += [f"≤ {self.limit:g} {self.unit}"] if self.limit else []
        parts += [f"copy ≥ {self.copy_goal:g} %"] if self.copy_goal else []
        return ", ".join(parts)

    def verdict(self):
        """Return "met", "missed by … %", or nothing."""
        excess = self.excess()
        if excess is None:
            return ""
        return "met" if excess <= 1 else f"missed by {100 * (excess - 1):.1f} %"

    def record(self):
        """Return the row as it is written to the JSON file."""
        kept = {name: value for name, value in asdict(self).items() if value not in (None, "")}
        kept |= {name: float(kept[name]) for name in ("ours", "peer", "copy") if name in kept}
        derived = {"ratio": self.ratio, "copy_percent": self.copy_percent, "verdict": self.verdict()}
        return kept | {name: value for name, value in derived.items() if value not in (None, "")}


@dataclass
class Report:
    """What one suite found: rows, remarks, and errors (a missed goal is not an error)."""

    suite: str
    rows: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    errors: list = field(default_factory=list)

    def cases(self, cases, title=str):
        """Yield the cases, naming each on the standard error; as far as there is time for them."""
        cases = list(cases)
        for number, case in enumerate(spread(cases) if MODE.hurried else cases):
            if number and MODE.over():
                self.notes.append(f"for want of time only {number} of {len(cases)} cases")
                return
            print(f"  {number + 1}/{len(cases)} {title(case)}", file=sys.stderr, flush=True)
            yield case

    @contextlib.contextmanager
    def attempt(self, case):
        """Note an exception inside as an error of this case; it costs the others nothing."""
        try:
            yield
        except Exception as error:
            self.errors.append(f"{case}: {type(error).__name__}: {error}")

    def text(self):
        """Return the readable table with remarks and errors below."""
        lines = [f"## {self.suite}", "", *table(self.rows)]
        lines += [""] + [f"note: {note}" for note in self.notes] if self.notes else []
        lines += [""] + [f"ERROR: {error}" for error in self.errors] if self.errors else []
        return "\n".join(lines) + "\n"

    @classmethod
    def from_record(cls, suite, record):
        """Return the report that was written as `record`."""
        names = {entry.name for entry in fields(Row)}
        rows = [Row(**{name: value for name, value in row.items() if name in names}) for row in record["rows"]]
        return cls(suite, rows, record["notes"], record["errors"])

    def record(self):
        """Return the report as it is written to the JSON file."""
        return {"rows": [row.record() for row in self.rows], "notes": self.notes, "errors": self.errors}


def _number(value):
    if value is None:
        return "-"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def table(rows):
    """Return the rows as lines of aligned text: case, bytes, ours, peer, ratio, GB/s, % of copy, goal, verdict."""
    lines = [("case", "bytes", "ours", "peer", "unit", "ratio", "GB/s", "% of copy", "goal", "verdict")]
    for row in rows:
        size = f"{row.num_bytes:,}" if row.num_bytes else "-"
        ratio = "-" if row.ratio is None else f"{row.ratio:.3f}"
        share = "-" if row.copy_percent is None else f"{row.copy_percent:.1f}"
        ours, peer, speed = _number(row.ours), _number(row.peer), _number(row.gigabytes)
        goals = (row.goals() or "-", row.verdict() or "-")
        lines.append((row.case, size, ours, peer, row.unit, ratio, speed, share, *goals))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    lines.insert(1, tuple("-" * width for width in widths))
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]


def write_json(path, known, reports):
    """Write one file: the environment (with the GPU's state at the end) and every suite's rows."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        json.dump(record(known, reports), out, indent=1, ensure_ascii=False)
        out.write("\n")


def record(known, reports):
    """Return what is written to a file."""
    return {"environment": known, "suites": {report.suite: report.record() for report in reports}}


def results_path(known, suite, on_gpu):
    """Return where a suite's record belongs: results/<date>-<gpu>-<suite>.json."""
    where = known["gpu"].get("name", "gpu").removeprefix("NVIDIA ") if on_gpu else "cpu"
    return os.path.join(RESULTS, f"{known['date'][:10]}-{where.lower().replace(' ', '-')}-{suite}.json")
