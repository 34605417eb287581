"""Measure warpkit on this machine, suite by suite, beside what it is compared with: CUB, cuda.compute, CuPy, torch.

Every time is a median, and both sides of a ratio are measured in the same run. Without a GPU the suites that can run do
so in the simulator, at small sizes: their results are compared as on a GPU, and their times mean nothing.
"""

import argparse
import sys

from . import compare, harness, machine, running
from .mode import MODE

BLOCK = {
    "block-cycles": "block_cycles",
    "block-copy": "block_copy",
    "lookback": "block_lookback",
    "queue": "block_queue",
}
ARRAYS = {"arrays": "arrays"}
HOST = {"launch": "launch", "pipeline": "pipeline", "first-call": "first_call", "parallel_for": "parallel_for"}
REDUCE = {"reduce-device": "device_reduce", "reduce-host": "device_reduce_host"}
MAPS = {"histogram": "device_histogram", "maps": "device_maps"}
SCAN = {"scan": "device_scan", "scan-host": "device_scan_host"}
SELECT = {"select": "device_select"}
TUNING = {
    "reduce-policies": "device_reduce_policies",
    "histogram-policies": "device_histogram_policies",
    "maps-policies": "device_maps_policies",
    "scan-policies": "device_scan_policies",
    "select-policies": "device_select_policies",
}
"""Suites that policies are chosen from, only run by name."""
SUITES = {
    **ARRAYS, "warp": "warp", "claims": "claims", **HOST, "simulator": "simulator", "import": "importtime", **BLOCK,
    **REDUCE, **MAPS, **SCAN, **SELECT, **TUNING,
}  # fmt: skip
GROUPS = {"block": tuple(BLOCK), "reduce": tuple(REDUCE)}
GPU_SUITES = {"warp", "claims", *ARRAYS, *BLOCK, *HOST, *REDUCE, *MAPS, *SCAN, *SELECT, *TUNING}
SIMULATED = {"arrays", "claims", "block-copy", "lookback", "simulator", "import"}
"""Suites that need no GPU: those of the processor, and those that also run in the simulator, at small sizes."""
PATIENCE = 300
"""Seconds after which a suite's process is given up."""
OWN_PATIENCE = {
    "arrays": 450,
    "histogram": 450,
    "reduce-device": 450,
    "reduce-policies": 550,
    "parallel_for": 150,
    "scan": 400,
    "scan-policies": 500,
}
"""The same for suites that build large peers or measure much, and for one that is known to need less."""


def _gpu_missing():
    """Return one sentence when no GPU can be used, else None."""
    if _is_simulator():
        return "needs a GPU, but NUMBA_ENABLE_CUDASIM has replaced it by the simulator."
    from numba import cuda

    return None if cuda.is_available() else "needs an NVIDIA GPU with its driver, and none was found here."


def _is_simulator():
    from numba import config

    return bool(config.ENABLE_CUDASIM)


def _refuse(name):
    """Raise Unavailable where a suite cannot run here."""
    if MODE.simulated and name not in SIMULATED:
        raise harness.Unavailable(f"suite {name!r} has no form for the simulator.")
    missing = _gpu_missing() if name in GPU_SUITES and not MODE.simulated else None
    if missing:
        raise harness.Unavailable(f"suite {name!r} {missing}")


def _report(name, here, begin):
    """Return the report of a suite, or one that says why there is none."""
    _refuse(name)
    try:
        if here:
            return running.here(name, SUITES[name], name in GPU_SUITES)
        return running.apart(name, OWN_PATIENCE.get(name, PATIENCE), *begin(name))
    except harness.Unavailable:
        raise
    except Exception as error:  # the other suites still run, and the record says why this one did not
        return harness.Report(name, errors=[f"{type(error).__name__}: {error}"])


def _parser(program):
    parser = argparse.ArgumentParser(
        prog=program, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ", ".join([*SUITES, *GROUPS])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {names}; all by default")
    parser.add_argument("--quick", action="store_true", help="10 to 30 seconds a suite: fewer cases, fewer repeats")
    parser.add_argument("--seconds", type=float, metavar="S", help="begin no further case of a suite after so long")
    parser.add_argument("--json", metavar="FILE", help="write what was measured to one file")
    parser.add_argument("--plot", metavar="DIR", help="draw it: bandwidth against size, ratios, host costs")
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"), help="compare two such files and measure nothing")
    kept = "a file and a table for each suite in bench/results; python -m bench does so where nothing else is asked"
    parser.add_argument("--keep", action="store_true", help=kept)
    parser.add_argument("--here", action="store_true", help="run everything in this process")
    parser.add_argument("--simulated", action="store_true", help="in the simulator, also where there is a GPU")
    return parser


def main(arguments=None, program="python -m bench"):
    """Return 0 when every asked suite ran without an error, whatever its goals; else 1."""
    parser = _parser(program)
    options = parser.parse_args(arguments)
    if options.compare:
        return compare.main(*options.compare)
    asked = [part for name in options.suites for part in GROUPS.get(name, (name,))]
    unknown = [name for name in asked if name not in SUITES]
    if unknown:
        parser.error(f"there is no suite {unknown[0]!r}; there are {', '.join([*SUITES, *GROUPS])}")
    if options.plot:
        _need_matplotlib(parser)
    MODE.quick, MODE.seconds = options.quick, options.seconds
    kernels = not asked or bool(set(asked) & GPU_SUITES)
    MODE.simulated = options.simulated or (kernels and set(asked) <= SIMULATED and _gpu_missing() is not None)
    if MODE.simulated and options.here and not _is_simulator():
        parser.error("--here in the simulator needs NUMBA_ENABLE_CUDASIM=1")
    known, reports, failed = machine.environment(), [], False
    print(machine.headline(known), flush=True)
    names = asked or [name for name in SUITES if name not in TUNING and (not MODE.simulated or name in SIMULATED)]
    with running.bar(len(names)) as begin:
        for name in names:
            try:
                report = _report(name, options.here, begin)
            except harness.Unavailable as sentence:
                print(sentence)
                failed |= bool(asked)  # a suite that was not asked for by name may be left out
                continue
            reports.append(report)
            failed |= bool(report.errors)
            print(report.text(), flush=True)
    known["gpu_after"] = machine.gpu_state()
    options.keep |= program == "python -m bench" and not (options.json or options.quick or MODE.simulated)
    _leave(known, reports, options)
    return int(failed)


def _need_matplotlib(parser):
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        parser.error("--plot needs matplotlib: python -m pip install matplotlib")


def _leave(known, reports, options):
    """Write and draw what was measured, as asked."""
    if options.json:
        harness.write_json(options.json, known, reports)
    if options.plot:
        from . import plots

        paths = plots.draw(harness.record(known, reports), options.plot)
        for path in paths:
            print(f"drawn: {path}")
        if not paths:
            print("nothing is drawn: no case has a peer, and none was measured at three sizes")
    for report in reports if options.keep else ():
        target = harness.results_path(known, report.suite, report.suite in GPU_SUITES)
        harness.write_json(target, known, [report])
        with open(target.removesuffix(".json") + ".txt", "w", encoding="utf-8") as out:
            out.write(machine.headline(known) + "\n" + report.text())
        print(f"kept in {target}")


if __name__ == "__main__":
    sys.exit(main())
