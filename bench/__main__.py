"""`python -m bench [SUITE …] [--json FILE]`: run suites, print their tables, keep their records."""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time

from . import harness

BLOCK = {
    "block-cycles": "block_cycles",
    "block-copy": "block_copy",
    "lookback": "block_lookback",
    "queue": "block_queue",
}
HOST = {"launch": "launch", "pipeline": "pipeline", "first-call": "first_call", "parallel_for": "parallel_for"}
REDUCE = {"reduce-device": "device_reduce", "reduce-host": "device_reduce_host"}
MAPS = {"histogram": "device_histogram", "maps": "device_maps"}
TUNING = {
    "reduce-policies": "device_reduce_policies",
    "histogram-policies": "device_histogram_policies",
    "maps-policies": "device_maps_policies",
}
"""Suites that policies are chosen from, only run by name."""
SUITES = {
    "warp": "warp", "claims": "claims", **HOST, "simulator": "simulator", "import": "importtime", **BLOCK, **REDUCE,
    **MAPS, **TUNING,
}  # fmt: skip
GROUPS = {"block": tuple(BLOCK), "reduce": tuple(REDUCE)}
GPU_SUITES = {"warp", "claims", *BLOCK, *HOST, *REDUCE, *MAPS, *TUNING}
APART = {*BLOCK, *REDUCE, *MAPS, *TUNING, "parallel_for"}
"""Suites with a process of their own: a kernel that faults or hangs costs the others nothing."""
PATIENCE = 150
"""Seconds after which such a process is given up."""
LONGER = {
    "histogram": 450,
    "histogram-policies": 300,
    "maps": 300,
    "maps-policies": 300,
    "reduce-device": 450,
    "reduce-policies": 550,
    "parallel_for": 400,
}
"""The same for suites that build large peers, or measure much."""


def _gpu_missing():
    """Return one sentence when no GPU can be used, else None."""
    from numba import config

    if config.ENABLE_CUDASIM:
        return "needs a GPU, but NUMBA_ENABLE_CUDASIM has replaced it by the simulator."
    from numba import cuda

    return None if cuda.is_available() else "needs an NVIDIA GPU with its driver, and none was found here."


def _run_apart(name):
    patience = LONGER.get(name, PATIENCE)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        command = [sys.executable, "-m", __package__, name, "--here", "--json", path]
        try:
            status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False, timeout=patience).returncode
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"given up after {patience} s") from None
        if not os.path.exists(path):
            raise RuntimeError(f"its process ended with status {status} and left no record")
        with open(path, encoding="utf-8") as record:
            return harness.Report.from_record(name, json.load(record)["suites"][name])


def _run(name, here):
    missing = _gpu_missing() if name in GPU_SUITES else None
    if missing:
        raise harness.Unavailable(f"suite {name!r} {missing}")
    if name in APART and not here:
        return _run_apart(name)
    report = harness.Report(name)
    begin = time.perf_counter()
    importlib.import_module(f".{SUITES[name]}", __package__).run(report)
    report.notes.append(f"took {time.perf_counter() - begin:.0f} s")
    return report


def main(arguments=None):
    """Return 0 when every asked suite ran without an error, whatever its goals; else 1."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = ", ".join([*SUITES, *GROUPS])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {names}; all by default")
    parser.add_argument("--json", metavar="FILE", help="one file for all suites, instead of bench/results/")
    parser.add_argument("--here", action="store_true", help="run everything in this process")
    options = parser.parse_args(arguments)
    asked = [part for name in options.suites for part in GROUPS.get(name, (name,))]
    unknown = [name for name in asked if name not in SUITES]
    if unknown:
        parser.error(f"there is no suite {unknown[0]!r}; there are {names}")
    known, reports, failed = harness.environment(), [], False
    print(harness.headline(known), flush=True)
    for name in asked or [name for name in SUITES if name not in TUNING]:
        print(f"{name} …", file=sys.stderr, flush=True)
        try:
            report = _run(name, options.here)
        except harness.Unavailable as sentence:
            print(sentence)
            failed |= bool(asked)  # a suite that was not asked for by name may be left out
            continue
        except Exception as error:  # the other suites still run, and the record says why this one did not
            report = harness.Report(name, errors=[f"{type(error).__name__}: {error}"])
        reports.append(report)
        failed |= bool(report.errors)
        print(report.text(), flush=True)
    known["gpu_after"] = harness.gpu_state()
    _keep(known, reports, options.json)
    return int(failed)


def _keep(known, reports, path):
    if path:
        harness.write_json(path, known, reports)
        return
    for report in reports:
        target = harness.results_path(known, report.suite, report.suite in GPU_SUITES)
        harness.write_json(target, known, [report])
        with open(target.removesuffix(".json") + ".txt", "w", encoding="utf-8") as out:
            out.write(harness.headline(known) + "\n" + report.text())
        print(f"kept in {target}")


if __name__ == "__main__":
    sys.exit(main())
