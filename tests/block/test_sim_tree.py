"""What the simulator counts: the barriers of the tree reduction."""

import numpy as np
import pytest

import warpkit as wk
from tests.reference import fold

from . import kernels


@pytest.mark.parametrize("size", [1, 2, 3, 33, 64, 100])
def test_a12_two_barriers_a_step_and_two_to_hand_out(size, monkeypatch):
    from warpkit.simt import sync

    count, barrier = [0], sync.simulator.barrier
    monkeypatch.setattr(sync.simulator, "barrier", lambda kind: (count.__setitem__(0, count[0] + 1), barrier(kind))[1])
    x, out = np.arange(size, dtype=np.int32), np.zeros(size, np.int32)
    kernels.launch(kernels.one(wk.block_tree_sum), (size,), x, out, blocks=1)
    assert count[0] == size * (2 * int(np.ceil(np.log2(size))) + 2)
    assert (out == fold(np.add, list(x))).all()
