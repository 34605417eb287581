"""The command line from outside: re-execution in the simulator, `info`, and what the probe says about a machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import path_first
from warpkit.cli import probe

ROOT = Path(__file__).parents[1]


def warpkit(*arguments, **variables):
    """Run `python -m warpkit` with an output that is no terminal."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"} | variables
    command = [sys.executable, "-m", "warpkit", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_without_a_usable_gpu_the_tour_runs_itself_in_the_simulator(tmp_path):
    file = tmp_path / "text"
    file.write_bytes(b"to be\nor not to be\n")

    done = warpkit("tour", str(file), CUDA_VISIBLE_DEVICES="", PYTHONUTF8="1")

    assert done.returncode == 0, done.stderr
    assert "Machine: the simulator, since " in done.stdout
    assert "since NUMBA_ENABLE_CUDASIM" not in done.stdout
    assert done.stdout.count("✓") == 13
    assert "\x1b" not in done.stdout


def test_a_file_name_may_look_like_an_option(tmp_path):
    (tmp_path / "-x").write_bytes(b"text")
    command = [sys.executable, "-m", "warpkit", "tour", "--", "-x"]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""} | path_first(ROOT)

    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "File: -x, 4 bytes." in done.stdout


def test_a_missing_file_ends_in_2():
    done = warpkit("tour", "no such file")

    assert done.returncode == 2
    assert done.stderr == "Cannot read no such file: No such file or directory.\n"


@pytest.mark.parametrize("variables", [{}, {"NUMBA_ENABLE_CUDASIM": "1"}, {"CUDA_VISIBLE_DEVICES": ""}], ids=str)
def test_info_names_versions_and_machine(variables):
    done = warpkit("info", **variables)

    assert done.returncode == 0, done.stderr
    for word in ("warpkit", "numba-cuda", "greenlet", "Python", "GPU", "Kernels run"):
        assert word in done.stdout
    assert ("in the simulator" in done.stdout) or not variables


@pytest.mark.parametrize("variables", [{}, {"NUMBA_ENABLE_CUDASIM": "1"}], ids=str)
def test_explain_compiles_without_a_gpu_and_also_where_the_simulator_is_chosen(variables):
    done = warpkit("explain", "warp_active_sum", "--dtype", "int32", "--cc", "9.0", PYTHONUTF8="1", **variables)

    assert done.returncode == 0, done.stderr
    assert "1 redux.sync" in done.stdout


def test_bench_has_a_help_of_its_own():
    done = warpkit("bench", "--help")

    assert done.returncode == 0, done.stderr
    assert "usage: python -m warpkit bench" in done.stdout
    assert "--compare" in done.stdout


def test_without_a_command_there_is_help():
    assert "tour" in warpkit().stdout


def test_an_unknown_command_ends_in_2():
    assert warpkit("tuor").returncode == 2


def no_driver():
    raise probe.NoDriver("no NVIDIA driver was found")


NEW, OLD = 13000, 12080
LIBRARIES = 13050


@pytest.mark.parametrize(
    ("devices", "version", "absent", "gpu", "why", "missing"),
    [
        (lambda: ["H200", "H200"], NEW, [], "H200", "2 GPUs", ""),
        (lambda: ["A"], NEW, [], "A", "a GPU", ""),
        (list, NEW, [], None, "CUDA_VISIBLE_DEVICES", ""),
        (no_driver, NEW, [], None, "no NVIDIA driver", ""),
        (no_driver, NEW, ["nvvm"], None, "no NVIDIA driver", "nvvm"),
        (lambda: ["A"], NEW, ["nvvm", "nvrtc"], None, "no compiler", "extra cu13"),
        (lambda: ["A"], OLD, [], None, "driver knows CUDA 12", "extra cu12"),
    ],
)
def test_the_probe_says_what_is_there_and_what_is_missing(devices, version, absent, gpu, why, missing):
    machine = probe.probe(devices, lambda: (version, LIBRARIES), lambda: absent)

    assert machine.gpu == gpu
    assert why in machine.why
    assert missing in " ".join(machine.missing)
    assert bool(machine.missing) == bool(missing)
