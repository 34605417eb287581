"""Every kernel of the tour compiles for a GPU, also where there is none."""

import numba
import numpy as np
import pytest

from tests.host.dry import Array, dry
from tests.ptx import count
from warpkit import parallel_for, parallel_reduce_sum
from warpkit.cli.steps import BLOCK_STEPS, WARP_STEPS, capitals, cipher, words
from warpkit.cli.steps.data import Data
from warpkit.simt import machine

TEXT = Data(np.frombuffer(b"Some text\n  with [(brackets)]\n", np.uint8))


@pytest.mark.parametrize("step", WARP_STEPS + BLOCK_STEPS, ids=lambda step: step.__name__.rpartition(".")[2])
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


LOOPS = [(parallel_for, capitals.capitalise), (parallel_for, cipher.turn), (parallel_reduce_sum, words.begins_word)]


@pytest.mark.parametrize(("form", "body"), LOOPS, ids=lambda part: part.__name__)
def test_the_bodies_of_the_steps_from_the_host_compile_and_store_something(form, body):
    text, out = Array(1 << 20, np.uint8), Array(1, np.int64)
    with dry() as launches:
        if form is parallel_for:
            form(1 << 20, body, text, text)
        else:
            form(1 << 20, body, text, out=out)

    (launch,) = launches
    assert count(launch.ptx, "st.global") > 0
