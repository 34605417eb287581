"""Every kernel of the tour compiles for a GPU, also where there is none."""

import numba
import numpy as np
import pytest

from tests.ptx import count
from warpkit.cli.steps import STEPS
from warpkit.cli.steps.data import Data
from warpkit.simt import machine

TEXT = Data(np.frombuffer(b"Some text\n  with [(brackets)]\n", np.uint8))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__.rpartition(".")[2])
def test_the_kernels_of_a_step_compile_and_store_something(step, compile_ptx, monkeypatch):
    stores = []

    def launch(kernel, grid, block, *args):
        ptx = compile_ptx(kernel, *map(numba.typeof, args))
        stores.append(count(ptx, "st.global") + count(ptx, "atom") + count(ptx, "red."))

    monkeypatch.setattr(machine, "launch", launch)
    for name in ("empty", "zeros"):
        monkeypatch.setattr(machine, name, np.zeros)
    for name in ("to_device", "to_host"):
        monkeypatch.setattr(machine, name, np.array)
    step.run(TEXT)

    assert stores
    assert min(stores) > 0
