"""The debug switch: checks are compiled into kernels where WARPKIT_DEBUG is set, nothing of them where it is not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.block import misuse
from tests.ptx import assemble, body, count

ROOT = Path(__file__).parents[2]
CASES = ["well", "skipped sum", "skipped queue", "beyond store striped", "beyond load vectorized", "beyond copy source"]
PASSES = [f"pass {name}" for name in misuse.PASSES]
PROGRAM = """
import json, sys
from numba import typeof
from tests.block import misuse
from tests.ptx import compile_ptx
from warpkit.simt import machine

def compiled(name):
    kernel, arrays = misuse.made(name)
    return compile_ptx(kernel, *map(typeof, arrays))

print(json.dumps({name: compiled(name) for name in json.loads(sys.argv[1])} | {"toolchain": machine.toolchain()}))
"""


def compiled(names, **variables):
    """Return {case: PTX} as a process with these variables compiles it."""
    environment = {name: value for name, value in os.environ.items() if name != "WARPKIT_DEBUG"} | variables
    command = [sys.executable, "-c", PROGRAM, json.dumps(names)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def plain():
    """PTX without the variable."""
    return compiled([*CASES, *PASSES])


@pytest.fixture(scope="module")
def checked():
    """PTX with the switch on."""
    return compiled([*CASES, *PASSES], WARPKIT_DEBUG="1")


def waits(ptx):
    """Count the barriers of a block, of any kind."""
    return count(ptx, "bar.") - count(ptx, "bar.warp.") + count(ptx, "barrier.")


@pytest.mark.parametrize("name", [*CASES, *PASSES])
def test_without_the_switch_there_is_nothing_of_it(plain, name):
    assert "__assertfail" not in plain[name]
    assert "_warpkit_debug" not in plain[name]
    assert count(plain[name], "barrier.red") == count(plain[name], "call") == 0


@pytest.mark.parametrize("off", ["0", ""])
def test_zero_and_empty_are_off(plain, off):
    name = CASES[0]  # the first that a process compiles: arrays are numbered
    assert body(compiled([name], WARPKIT_DEBUG=off)[name]) == body(plain[name])


@pytest.mark.parametrize("name", CASES)
def test_with_the_switch_every_barrier_counts_first(plain, checked, name):
    own = 2 if "copy" in name else 0  # those around the making of a pipeline are not collectives of items
    assert "__assertfail" in checked[name]
    assert waits(checked[name]) - own == 2 * (waits(plain[name]) - own)
    assert ("_warpkit_debug_place" in checked[name]) == (waits(plain[name]) > own)


@pytest.mark.parametrize("name", ["beyond store striped", "beyond load vectorized", "beyond copy source"])
def test_with_the_switch_indices_are_checked(checked, name):
    assert "the_20index_20is_20outside" in checked[name]


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("part", ["another number of threads", "shared_bytes", "than source has", "larger tile_states"])
def test_with_the_switch_a_pass_checks_its_launch(checked, name, part):
    assert "".join(c if c.isalnum() or c == "_" else f"_{ord(c):02x}" for c in part) in checked[name]


@pytest.mark.parametrize("name", [*CASES, *PASSES])
def test_what_is_compiled_with_the_switch_assembles(checked, name):
    assert assemble(checked[name]).spills == 0


def test_kernels_kept_on_disk_are_of_one_kind(plain, checked):
    assert checked["toolchain"] != plain["toolchain"]
