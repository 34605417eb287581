"""What every suite shares: rows with goals, the table, the JSON file, and what the run ran on."""

import datetime
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
from dataclasses import asdict, dataclass, field, fields

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
PACKAGES = ("numba-warpkit", "numba-cuda", "numba", "numpy", "llvmlite", "cuda-bindings", "cuda-core", "nvidia-nvvm")


class Unavailable(Exception):
    """This machine cannot run the suite; one sentence says what is missing."""


@dataclass
class Row:
    """One measured case: ours beside the peer's, both in `unit`, smaller is better.

    `copy` is the time of a plain copy of as many bytes. Goals: `goal` is the largest ours / peer,
    `limit` the largest ours, `copy_goal` the smallest percentage of the copy's speed.
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
        derived = {"ratio": self.ratio, "copy_percent": self.copy_percent, "verdict": self.verdict()}
        return kept | {name: value for name, value in derived.items() if value not in (None, "")}


@dataclass
class Report:
    """What one suite found: rows, remarks, and errors (a missed goal is not an error)."""

    suite: str
    rows: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    errors: list = field(default_factory=list)

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
    """Return the rows as lines of aligned text: case, bytes, ours, peer, ratio, % of copy, goal, verdict."""
    lines = [("case", "bytes", "ours", "peer", "unit", "ratio", "% of copy", "goal", "verdict")]
    for row in rows:
        size = f"{row.num_bytes:,}" if row.num_bytes else "-"
        ratio = "-" if row.ratio is None else f"{row.ratio:.3f}"
        share = "-" if row.copy_percent is None else f"{row.copy_percent:.1f}"
        ours, peer = _number(row.ours), _number(row.peer)
        lines.append((row.case, size, ours, peer, row.unit, ratio, share, row.goals() or "-", row.verdict() or "-"))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    lines.insert(1, tuple("-" * width for width in widths))
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _warpkit_version():
    """Return the version of the warpkit next to us, which need not be installed."""
    try:
        import warpkit
    except ImportError:
        return None
    return getattr(warpkit, "__version__", None)


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def gpu_state():
    """Return name, driver and clocks of the first GPU as found, {} where there is none."""
    fields = ("name", "driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "temperature.gpu", "power.draw")
    if shutil.which("nvidia-smi") is None:
        return {}
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits", "--id=0"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        return {}
    return dict(zip(fields, (value.strip() for value in found.stdout.split(","))))


def environment():
    """Return what this run runs on; clocks are recorded, never set."""
    known = {"date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")}
    known |= {"python": platform.python_version(), "platform": platform.platform(), "processor": _processor()}
    known |= {"cores": os.cpu_count(), "gpu": gpu_state(), "nvcc": nvcc_version()}
    versions = {package: _version(package) for package in PACKAGES}
    versions["numba-warpkit"] = versions["numba-warpkit"] or _warpkit_version()
    return known | {"versions": {package: version for package, version in versions.items() if version}}


def headline(known):
    """Return the environment in a few lines: what a table must be read with."""
    gpu = known["gpu"]
    card = (
        f"{gpu['name']}, driver {gpu['driver_version']}, SM clock {gpu['clocks.sm']} MHz as found" if gpu else "no GPU"
    )
    versions = ", ".join(f"{package} {version}" for package, version in known["versions"].items())
    host = f"{known['processor']}, {known['cores']} cores, Python {known['python']}"
    return f"{known['date']}; {card}\n{host}\n{versions}\n{known['nvcc'] or 'no nvcc'}\n"


def nvcc_version():
    """Return the line of `nvcc --version` that names the release, None where there is no nvcc."""
    from .peers import find_nvcc

    nvcc = find_nvcc()
    if nvcc is None:
        return None
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    return next((line.strip() for line in text.splitlines() if "release" in line), None)


def write_json(path, known, reports):
    """Write one file: the environment (with the GPU's state at the end) and every suite's rows."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    suites = {report.suite: report.record() for report in reports}
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"environment": known, "suites": suites}, out, indent=1, ensure_ascii=False)
        out.write("\n")


def results_path(known, suite, on_gpu):
    """Return where a suite's record belongs: results/<date>-<gpu>-<suite>.json."""
    where = known["gpu"].get("name", "gpu").removeprefix("NVIDIA ") if on_gpu else "cpu"
    return os.path.join(RESULTS, f"{known['date'][:10]}-{where.lower().replace(' ', '-')}-{suite}.json")
