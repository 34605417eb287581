"""Two records of the same suites, case by case: what changed by more than noise.

The band of a case is three times the noise of both sides together, and never less than 3 %: half the range between the
quartiles of the repeats, over their median, is what a record calls noise. Records of one run each still differ by more
than their own repeats do, so a case outside its band is worth a second run before it is believed.
"""

import json
import math
import sys
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

LEAST, TIMES = 0.03, 3
SAME, FASTER, SLOWER = "same", "faster", "slower"


@dataclass(frozen=True)
class Change:
    """One case in both records. band: by how much of itself it may differ by noise alone."""

    suite: str
    case: str
    unit: str
    before: float
    after: float
    band: float

    @property
    def factor(self):
        """How many times as long it takes now."""
        return self.after / self.before

    @property
    def verdict(self):
        """Return `SAME` within the band, else what it is."""
        if abs(math.log(self.factor)) <= math.log1p(self.band):
            return SAME
        return FASTER if self.factor < 1 else SLOWER


def read(path):
    """Return a record; ValueError in one sentence where the file holds none."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is no JSON file: {error}.") from None
    if not isinstance(found, dict) or not {"environment", "suites"} <= set(found):
        raise ValueError(f"{path} is no record of this command: it has no environment or no suites.")
    return found


def rows_of(record):
    """Return the rows that have a positive time, by suite and case."""
    return {
        (suite, row["case"]): row
        for suite, content in record["suites"].items()
        for row in content["rows"]
        if row["ours"] > 0
    }


def changes(before, after):
    """Return the cases that both records have, in the order of the second."""
    old, found = rows_of(before), []
    for (suite, case), row in rows_of(after).items():
        first = old.get((suite, case))
        if first is not None:
            band = max(LEAST, TIMES * math.hypot(first.get("noise") or 0, row.get("noise") or 0))
            found.append(Change(suite, case, row["unit"], first["ours"], row["ours"], band))
    return found


def differences(before, after):
    """Yield what makes the comparison doubtful: other machines, other ways of measuring."""

    def facts(record):
        known = record["environment"]
        gpu = known.get("gpu", {})
        return {"gpu": gpu.get("name"), "driver": gpu.get("driver_version"), "quick": known.get("quick", False),
                "simulated": known.get("simulated", False), **known.get("versions", {})}  # fmt: skip

    first, second = facts(before), facts(after)
    for name in first | second:
        if first.get(name) != second.get(name):
            yield f"{name}: {first.get(name)} → {second.get(name)}"


def table(found):
    """Lay the changes out, those outside of their bands first."""
    drawn = Table("suite", "case", title="A → B")
    for column in ("A", "B", "B / A", "band"):
        drawn.add_column(column, justify="right")
    drawn.add_column("")
    for change in sorted(found, key=lambda change: (change.verdict == SAME, -change.factor)):
        colour = {SAME: "dim", FASTER: "green", SLOWER: "red"}[change.verdict]
        cells = (f"{change.before:.4g} {change.unit}", f"{change.after:.4g} {change.unit}", f"{change.factor:.3f}")
        drawn.add_row(change.suite, change.case, *cells, f"± {100 * change.band:.0f} %", change.verdict, style=colour)
    return drawn


def main(a, b, console=None):
    """Print the comparison; return 0 where nothing is slower, 1 where something is, 2 where a file holds no record."""
    try:
        before, after = read(a), read(b)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    console = console or Console()
    found = changes(before, after)
    console.print(table(found))
    for line in differences(before, after):
        console.print(f"not the same in both: {line}", highlight=False, markup=False)
    for record, other, name in ((before, after, "A"), (after, before, "B")):
        alone = len(rows_of(record).keys() - rows_of(other).keys())
        if alone:
            console.print(f"only in {name}: {alone} cases", highlight=False)
    counts = {verdict: sum(change.verdict == verdict for change in found) for verdict in (FASTER, SAME, SLOWER)}
    console.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()), highlight=False)
    return int(counts[SLOWER] > 0)
