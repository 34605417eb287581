"""Which test runs in which process, and the counts of those that do not run in this one.

Numba chooses its machine when it is imported, so the suite runs in two processes:

- with `NUMBA_ENABLE_CUDASIM=1`: behaviour tests, in the simulator (a reduced matrix, see warp/matrix.py);
- without it: PTX tests, which compile and need no GPU, and host tests; with a GPU the behaviour tests too, full matrix.

What a test is follows from where it stands, or from its mark, which wins:

| kind | where | simulator | no GPU | GPU |
|---|---|---|---|---|
| ptx | files `*_ptx.py` | | x | x |
| simulator | files `test_simulator*.py`, `test_sim_*.py` | x | | |
| gpu | the mark | | | x |
| everywhere | the mark | x | x | x |
| host | files in `tests/` itself | | x | x |
| behaviour | the rest | x | | x |

What is left out is counted, by kind, in the closing lines: nothing vanishes unseen. Files of the first two kinds are
not even imported in the other process (what they import does not exist there), so their test functions are counted.
Two processes of one kind may share its tests: see sharing.py.
"""

import gc
import itertools
import os
import pathlib
import re

import pytest
from hypothesis import settings
from numba import config as numba_config
from numba import cuda

from tests.sharing import sharing

HERE = pathlib.Path(__file__).parent
SIMULATOR = bool(numba_config.ENABLE_CUDASIM)
BEGUN = itertools.count(1)
LEFT_OUT = pytest.StashKey[dict[str, int]]()
SHARING = sharing()
MARKS = ("ptx", "simulator", "gpu", "everywhere")

# Why a kind does not run here: in the simulator, and in a process without simulator or GPU.
IN_THE_OTHER = {
    "ptx": "{n} PTX tests not run here: they run without NUMBA_ENABLE_CUDASIM=1",
    "ptx functions": "{n} PTX test functions not collected here: they run without NUMBA_ENABLE_CUDASIM=1",
    "simulator functions": "{n} simulator test functions not collected here: they run with NUMBA_ENABLE_CUDASIM=1",
    "host": "{n} host tests not run here: they run without NUMBA_ENABLE_CUDASIM=1",
    "simulator": "{n} simulator tests not run here: they run with NUMBA_ENABLE_CUDASIM=1",
    "behaviour": "{n} behaviour tests not run here: they run with NUMBA_ENABLE_CUDASIM=1 (simulator) or on a GPU",
    "gpu": "{n} GPU-only tests not run: no GPU",
}

settings.register_profile("warpkit", deadline=None, derandomize=True, database=None)
settings.load_profile("warpkit")


def pytest_configure(config):
    """Register the marks that belong to this table."""
    gc.set_threshold(50_000, 20)  # compilers and fibers make many objects, and little garbage
    config.addinivalue_line("markers", "everywhere: runs in every process (checks that all machines share)")
    config.stash[LEFT_OUT] = {}


def has_gpu():
    """Say whether a real GPU answers; Numba's simulator always says yes."""
    return not SIMULATOR and cuda.is_available()


def pytest_collection_finish():
    """Leave what is imported by now out of all later collections of garbage: it stays, and walking it is dear."""
    settle_memory()


def pytest_runtest_logstart():
    """Leave what the compiler keeps of earlier tests out too, from time to time."""
    if next(BEGUN) % 200 == 0:
        settle_memory()


def settle_memory():
    """Collect garbage, and have the collector forget what is left."""
    gc.collect()
    gc.freeze()


def pytest_report_header():
    """Name the machine."""
    if SIMULATOR:
        return "machine: simulator, seed " + os.environ.get("WARPKIT_SIM_SEED", "0") + ", reduced matrix"
    return "machine: " + ("GPU, full matrix" if has_gpu() else "compiler only (no GPU)")


def kind_of(item):
    """Return the kind of a test: by its mark, else by its place."""
    for mark in MARKS:
        if item.get_closest_marker(mark):
            return mark
    return kind_of_file(item.path) or ("host" if item.path.parent == HERE else "behaviour")


def kind_of_file(path):
    """Return the kind that a file's name gives all its tests; None when it gives none."""
    if path.name.endswith("_ptx.py"):
        return "ptx"
    return "simulator" if path.name.startswith(("test_simulator", "test_sim_")) else None


def kinds_that_run():
    """Return the kinds that this process runs."""
    if SIMULATOR:
        return {"behaviour", "simulator", "everywhere"}
    return {"ptx", "host", "everywhere"} | ({"behaviour", "gpu"} if has_gpu() else set())


def leave_out(config, kind, count=1):
    """Count what this process does not run."""
    left = config.stash[LEFT_OUT]
    left[kind] = left.get(kind, 0) + count


class Elsewhere(pytest.Module):
    """A test file that this process cannot import: its test functions are counted, not collected."""

    def collect(self):
        functions = re.findall(r"(?m)^ *def test_", self.path.read_text(encoding="utf-8"))
        leave_out(self.config, f"{kind_of_file(self.path)} functions", len(functions))
        return []


def pytest_pycollect_makemodule(module_path, parent):
    """Put a file of another process aside."""
    kind = kind_of_file(module_path)
    return Elsewhere.from_parent(parent, path=module_path) if kind and kind not in kinds_that_run() else None


def pytest_collection_modifyitems(config, items):
    """Deselect what another process runs, and count it by kind."""
    runs, kept, left = kinds_that_run(), [], []
    for item in items:
        kind = kind_of(item)
        if kind in runs:
            kept.append(item)
        else:
            left.append(item)
            leave_out(config, kind)
    if left:
        config.hook.pytest_deselected(items=left)
    items[:] = SHARING.ordered(kept) if SHARING else kept


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    """Leave a test to the process that has taken it."""
    return None if SHARING is None or SHARING.take(item.nodeid) else True


def pytest_sessionfinish(session):
    """Hand the counts of an xdist worker to its controller."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take the counts from an xdist worker: every worker collects the same tests."""
    node.config.stash[LEFT_OUT].update(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter, config):
    """Print what did not run here, and why."""
    for kind, count in sorted(config.stash[LEFT_OUT].items()):
        terminalreporter.write_line(IN_THE_OTHER[kind].format(n=count))
    if SHARING:
        terminalreporter.write_line(f"{SHARING.elsewhere} tests run by the other process of this kind")


@pytest.fixture(scope="session")
def compile_ptx():
    """Return `compile_once(kernel, *types)` of tests/ptx.py, which needs no GPU."""
    from tests import ptx

    return ptx.compile_once
