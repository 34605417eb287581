"""Bank conflicts of the load–store kernels (bench/block_copy.py), each launched once under Nsight Compute.

    python -m bench.conflicts > bench/results/DATE-GPU-bank-conflicts.txt

An access of a warp to shared memory goes through the data pipe in *wavefronts* of up to 128 bytes; a bank conflict is
one wavefront more. What a kernel moves is known, every item once into shared memory and once out of it for each change
of its arrangement, and so is the fewest wavefronts that it takes: degree 1.00 is none too many. The hardware's own
counters of conflicts are printed beside it; they also count waits behind other traffic, so they are small, not zero.
NCU names the profiler, clocks stay as they are; a counter that this profiler does not know is left out.
"""

import collections
import csv
import os
import subprocess
import sys

from .block_copy import CASES, PROFILED_ITEMS, THREADS

ITEM_BYTES, WAVEFRONT_BYTES = 4, 128
PIPE = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
NEEDED = (f"{PIPE}.sum", f"{PIPE}_op_ld.sum", f"{PIPE}_op_st.sum")
WISHED = (
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    f"{CONFLICTS}.sum",
    f"{CONFLICTS}_op_ld.sum",
    f"{CONFLICTS}_op_st.sum",
    "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_ideal.sum",
)
SHOWN = {
    "wavefronts": f"{PIPE}.sum",
    "loading": f"{PIPE}_op_ld.sum",
    "storing": f"{PIPE}_op_st.sum",
    "load instructions": "smsp__inst_executed_op_shared_ld.sum",
    "store instructions": "smsp__inst_executed_op_shared_st.sum",
    "counted conflicts": f"{CONFLICTS}.sum",
}


def moved_bytes(name, items):
    """Return the bytes that a case moves into shared memory and out of it."""
    if name == "vectorized" or (name.startswith("transposed") and items * ITEM_BYTES <= 16):
        return 0  # what a thread holds is one vector: straight from and to global memory
    return 2 * 2 * PROFILED_ITEMS * ITEM_BYTES  # two changes of arrangement, each in and out


def counted(metrics):
    """Launch the kernels under the profiler; return what it prints, or None where it does not know a metric."""
    command = [os.environ.get("NCU", "ncu"), "--csv", "--clock-control", "none", "--target-processes", "all"]
    command += ["--kernel-name", "regex:copy_", "--metrics", ",".join(metrics)]
    command += [sys.executable, "-m", "bench.block_copy"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode or '"Metric Name"' not in found.stdout:
        print(f"with {len(metrics)} counters: {(found.stderr or found.stdout).strip()[-500:]}", file=sys.stderr)
        return None
    return found.stdout


def read(text):
    """Return {counter: number} of every launch, in order, from the profiler's comma-separated values."""
    lines = text.splitlines()
    begin = next(place for place, line in enumerate(lines) if '"Metric Name"' in line)
    launches = collections.defaultdict(dict)
    for row in csv.DictReader(line for line in lines[begin:] if line.startswith('"')):
        number = row["Metric Value"].replace(",", "")
        if number.replace(".", "", 1).isdigit():  # else "n/a"
            launches[int(row["ID"])][row["Metric Name"]] = float(number)
    return [launches[launch] for launch in sorted(launches)]


def rows(launches):
    """Return a row for each launch: what was counted beside the fewest wavefronts."""
    cases = [(case.name, items) for case in CASES for items in case.items]
    if len(cases) != len(launches):
        raise ValueError(f"{len(launches)} launches were counted, not {len(cases)}")
    made = []
    for (name, items), found in zip(cases, launches):
        fewest = moved_bytes(name, items) // WAVEFRONT_BYTES
        wavefronts = found.get(SHOWN["wavefronts"])
        degree = f"{wavefronts / fewest:.3f}" if fewest and wavefronts is not None else "-"
        numbers = [f"{found[metric]:,.0f}" if metric in found else "-" for metric in SHOWN.values()]
        made.append([f"{name}, {THREADS} × {items}", f"{fewest:,}", degree, *numbers])
    return made


def main():
    """Return 0 when the kernels were counted."""
    text = counted((*NEEDED, *WISHED)) or counted(NEEDED + WISHED[:5]) or counted(NEEDED)
    if text is None:
        return 1
    lines = [["kernel", "fewest wavefronts", "degree", *SHOWN], *rows(read(text))]
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
