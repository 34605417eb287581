"""Pictures of a record: bandwidth against size with the copy's line, ratios, host costs.

    python -m bench.plots DIR [NAME …]      of the newest record of each suite in bench/results, all or those named

Needs matplotlib. Drawn in colours that both light and dark pages bear; SVG, and the same for the same records.
"""

import json
import math
import pathlib
import re
import sys

SIZE = re.compile(r"(?:, | |^)2\^(\d+)")
OURS, PEER, COPY, WORSE = "#2f81b7", "#8a8f98", "#c0392b", "#d08a2e"
STYLE = {
    "svg.hashsalt": "warpkit", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
    "axes.spines.right": False, "axes.edgecolor": PEER, "axes.labelcolor": PEER, "text.color": PEER,
    "xtick.color": PEER, "ytick.color": PEER, "legend.frameon": False, "savefig.transparent": True,
}  # fmt: skip
MOST_BARS, LEAST_SIZES = 30, 3
LEAST_BYTES = 256
OTHERS = ("numba's own", "a raw launch", "cuda.compute")
"""How the cases begin that are no code of warpkit's, but stand in its column beside it."""
MICROSECONDS = {"µs": 1.0, "ms": 1e3}
ADVICE = "claims"  # its sides are before and after a change, not warpkit and a peer
HOST_SUITES = ("launch", "reduce-host", "scan-host")


def newest(folder):
    """Return one record with the newest content of each suite of the files in a folder, in the order of names."""
    merged = {"environment": {}, "suites": {}}
    for path in sorted(pathlib.Path(folder).glob("*.json")):  # their names begin with the date
        record = json.loads(path.read_text(encoding="utf-8"))
        merged["suites"] |= record["suites"]
        if record["environment"].get("gpu"):
            merged["environment"] = record["environment"]
    return merged


def gigabytes(num_bytes, time, unit):
    """Return a bandwidth in GB/s."""
    return num_bytes / (time * MICROSECONDS[unit]) * 1e-3


def curves(rows):
    """Return {what: [(bytes, ours, peer or None, copy or None)]} in GB/s: the cases measured at several sizes."""
    found = {}
    for row in rows:
        size = SIZE.search(row["case"])
        if size and row.get("num_bytes", 0) >= LEAST_BYTES and row["unit"] in MICROSECONDS:
            speeds = [
                gigabytes(row["num_bytes"], row[side], row["unit"]) if row.get(side) else None
                for side in ("ours", "peer", "copy")
            ]
            found.setdefault(SIZE.sub("", row["case"]), {})[row["num_bytes"]] = speeds
    return {what: sorted(sizes.items()) for what, sizes in found.items() if len(sizes) >= LEAST_SIZES}


def bandwidths(plt, suite, rows):
    """Draw a suite's bandwidths against size; None where nothing was measured at several sizes."""
    found = curves(rows)
    if not found:
        return None
    columns = min(3, len(found))
    lines = -(-len(found) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(3.4 * columns, 2.5 * lines), squeeze=False, sharey=True)
    for axis in axes.flat[len(found) :]:
        axis.set_visible(False)
    for axis, (what, points) in zip(axes.flat, found.items()):
        for side, (name, colour, style) in enumerate(
            (("warpkit", OURS, "o-"), ("peer", PEER, "s--"), ("copy", COPY, ":"))
        ):
            drawn = [(num_bytes, speeds[side]) for num_bytes, speeds in points if speeds[side]]
            if drawn:
                axis.plot(*zip(*drawn), style, color=colour, label=name, markersize=3, linewidth=1.2)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_title(what, fontsize=8)
    axes[0][0].legend(fontsize=7)
    for axis in axes[:, 0]:
        axis.set_ylabel("GB/s")
    figure.supxlabel("bytes", fontsize=9)
    figure.tight_layout()
    return figure


def summary(plt, suites):
    """Draw every case's ratio as a dot, a line for each suite: left of 1 warpkit takes less; None without ratios."""
    found = {name: [row["ratio"] for row in compared(content["rows"])] for name, content in suites.items()}
    found = {name: ratios for name, ratios in found.items() if ratios and name != ADVICE}
    if not found:
        return None
    figure, axis = plt.subplots(figsize=(7, 0.6 + 0.32 * len(found)))
    for line, (_, ratios) in enumerate(reversed(found.items())):
        dots = [(ratio, line + 0.28 * math.sin(number * 2.4)) for number, ratio in enumerate(sorted(ratios))]
        for colour, side in ((OURS, True), (WORSE, False)):
            mine = [dot for dot in dots if (dot[0] <= 1) is side]
            if mine:
                axis.plot(*zip(*mine), "o", color=colour, markersize=3.5, alpha=0.75)
        middle = math.exp(sum(map(math.log, ratios)) / len(ratios))
        axis.plot([middle] * 2, [line - 0.36, line + 0.36], color=COPY, linewidth=1.6)
    axis.axvline(1, color=PEER, linewidth=1)
    axis.set_xscale("log")
    axis.set_yticks(range(len(found)), reversed(list(found)))
    marks = [mark for mark in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10) if inside(mark, found.values())]
    axis.set_xticks(marks, [f"{mark:g}" for mark in marks])
    axis.minorticks_off()
    axis.set_xlabel("time of warpkit / time of the peer, each dot a case; red: geometric mean")
    figure.tight_layout()
    return figure


def compared(rows):
    """Return the rows in which code of warpkit's is compared with other code."""
    return [row for row in rows if row.get("ratio") and not row["case"].startswith(OTHERS)]


def inside(mark, groups):
    """Return whether a mark lies about where the ratios are."""
    every = [ratio for group in groups for ratio in group]
    return min(*every, 1) * 0.7 <= mark <= max(*every, 1) * 1.4


def ratios(plt, suite, rows):
    """Draw a suite's ratios as bars, at most `MOST_BARS`, those with a goal before others; None without any."""
    rows = compared(rows)
    chosen = sorted(range(len(rows)), key=lambda n: (not rows[n].get("goal"), n))[:MOST_BARS]
    rows = [rows[n] for n in sorted(chosen, reverse=True)]
    if not rows:
        return None
    figure, axis = plt.subplots(figsize=(7, 0.7 + 0.2 * len(rows)))
    values = [row["ratio"] for row in rows]
    axis.barh(range(len(rows)), values, color=[OURS if value <= 1 else WORSE for value in values], height=0.7)
    axis.axvline(1, color=PEER, linewidth=1)
    axis.set_yticks(range(len(rows)), [row["case"] for row in rows], fontsize=7)
    axis.set_ylim(-0.7, len(rows) - 0.3)
    axis.set_xlabel("time of warpkit / time of the peer")
    figure.tight_layout()
    return figure


def host(plt, suites):
    """Draw what calls cost the host, beside the peer's; None where no such suite is there."""
    rows = [row for name in HOST_SUITES for row in suites.get(name, {"rows": []})["rows"]]
    rows = [row for row in rows if row["unit"] in MICROSECONDS and "launches," not in row["case"]][::-1]
    if not rows:
        return None
    figure, axis = plt.subplots(figsize=(7, 0.7 + 0.26 * len(rows)))
    for line, row in enumerate(rows):
        other = row["case"].startswith(OTHERS)
        axis.barh(
            line + 0.18, row["ours"], color=PEER if other else OURS, height=0.34, label="" if other else "warpkit"
        )
        if row.get("peer") and not other:
            axis.barh(line - 0.18, row["peer"], color=PEER, height=0.34, label="peer")
    names = dict(zip(*axis.get_legend_handles_labels()[::-1]))
    axis.legend(names.values(), names.keys(), fontsize=7)
    axis.set_yticks(range(len(rows)), [row["case"] for row in rows], fontsize=7)
    axis.set_xlabel("µs of the host a call")
    figure.tight_layout()
    return figure


def draw(record, folder, names=()):
    """Write every picture that a record gives into a folder, or those named; return their paths."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    folder, suites, paths = pathlib.Path(folder), record["suites"], []
    folder.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        made = [("ratios", summary(plt, suites)), ("host", host(plt, suites))]
        for name, content in suites.items():
            made.append((f"{name}-bandwidth", bandwidths(plt, name, content["rows"])))
            made.append((f"{name}-ratios", ratios(plt, name, content["rows"])))
        for name, figure in made:
            if figure is not None and (not names or name in names):
                paths.append(folder / f"{name}.svg")
                figure.savefig(paths[-1], metadata={"Date": None, "Creator": "warpkit"})
        plt.close("all")
    return paths


if __name__ == "__main__":
    for path in draw(newest(pathlib.Path(__file__).parent / "results"), sys.argv[1], sys.argv[2:]):
        print(path)
