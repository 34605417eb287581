"""The debug switch on a GPU: what is misused ends in an assertion that says so, what is right stays right."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import misuse

ROOT = Path(__file__).parents[2]
CASES = [
    *(f"skipped {name}" for name in ("sum", "sync", "exchange", "queue of items", "any", "copy")),
    *(f"apart {name}" for name in misuse.APART),
    *(f"beyond {name}" for name in ("load striped", "load vectorized before", "store vectorized", "store transposed")),
    *(f"beyond {name}" for name in ("copy target", "copy source", "tiles")),
    *(f"pass {name}" for name in misuse.PASSES),
]


def checked(*command):
    """Run Python with the switch on, in a process of its own: an assertion ends the context for good."""
    environment = os.environ | {"WARPKIT_DEBUG": "1"}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.gpu
@pytest.mark.parametrize("name", CASES)
def test_misuse_ends_in_an_assertion(name):
    done = checked("-m", "tests.block.misuse", name)
    assert done.returncode != 0
    assert misuse.CASES[name][2] in done.stdout + done.stderr
    assert "warpkit/" in done.stdout + done.stderr
    assert "block: [0,0,0], thread: [" in done.stdout + done.stderr


@pytest.mark.gpu
def test_right_use_gives_the_same_with_the_switch():
    done = checked("-m", "tests.block.misuse", "well")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{misuse.run('well').tolist()}\n"


@pytest.mark.gpu
def test_look_back_and_scans_are_right_with_the_switch():
    done = checked("examples/fused_map_scan_filter.py")
    assert done.returncode == 0, done.stderr
