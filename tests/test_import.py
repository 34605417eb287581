"""Importing warpkit needs no driver, touches no GPU and loads nothing but itself on top of numba.cuda."""

import os
import subprocess
import sys

import pytest

# Whatever is done with a GPU begins with cuInit.
WITHOUT_CUINIT = """
from cuda.bindings import driver
def cuInit(flags):
    raise SystemExit("the driver was initialised")
driver.cuInit = cuInit
import warpkit
"""

LOADS_LITTLE = """
import sys
from numba import cuda
def packages():
    return {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
before = packages()
import warpkit
print(*sorted(packages() - before))
"""

WITH_OTHER_VERSIONS = """
import sys
from importlib import metadata
real = metadata.version
metadata.version = lambda name: {"numpy": "2.5.0"}.get(name) or real(name)
try:
    import warpkit
except ImportError as error:
    print(error)
assert not {"numba", "numba_cuda"} & set(sys.modules)
"""


def python(code, **variables):
    """Run a program in a Python of its own and return what it prints; fail with what it says on the way out."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"} | variables
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("variables", [{}, {"CUDA_VISIBLE_DEVICES": ""}, {"NUMBA_ENABLE_CUDASIM": "1"}], ids=str)
def test_no_driver_is_touched(variables):
    python(WITHOUT_CUINIT, **variables)


def test_touching_the_driver_would_be_seen():
    with pytest.raises(AssertionError, match="the driver was initialised"):
        python(WITHOUT_CUINIT + "driver.cuInit(0)")


def test_no_warning_is_given():
    python("import warnings; warnings.simplefilter('error'); import warpkit")


def test_nothing_is_loaded_on_top_of_numba():
    assert python(LOADS_LITTLE) == "warpkit"


def test_the_simulator_needs_fibers_only():
    loaded = python(LOADS_LITTLE, NUMBA_ENABLE_CUDASIM="1").split()

    assert set(loaded) <= {"greenlet", "warpkit"}


def test_unsupported_versions_are_refused_before_numba_is_touched():
    sentence = python(WITH_OTHER_VERSIONS)

    assert sentence.startswith("warpkit ")
    assert "numpy 2.5.0" in sentence
    assert "'numpy>=2.1,<2.5'" in sentence
