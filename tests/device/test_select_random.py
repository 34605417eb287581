"""Selections of random arrays by random policies, in one process after another: kernels and scratch are shared."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.warp.matrix import SIMULATOR
from warpkit import device

from .reductions import result, to_device
from .selections import FEW, POLICY, REGISTERS, encoded, flags, parted, runs, same

MOST = 350 if SIMULATOR else 5000


@settings(max_examples=12 if SIMULATOR else 200)
@given(
    n=st.integers(0, MOST),
    density=st.sampled_from([0.0, 0.01, 0.3, 1.0]),
    mean=st.sampled_from([1, 2, 60]),
    seed=st.integers(0, 99),
    policy=st.sampled_from([POLICY, FEW, REGISTERS]),
    data=st.data(),
)
def test_random_arrays(n, density, mean, seed, policy, data):
    x, keep = runs(np.int32, n, mean, seed), flags(n, density, seed)
    there, mask = to_device(x), to_device(keep)
    number = data.draw(st.integers(0, n))
    room, count = data.draw(st.integers(0, n)), result(np.int64)
    out = result(np.int32, room)
    device.select_flagged(there, mask, out=out, count_out=count, num_items=number, policy=policy)
    wanted = x[:number][keep[:number]]
    assert count.copy_to_host() == len(wanted)
    fits = min(room, len(wanted))
    assert out.copy_to_host().tolist() == [*wanted[:fits].tolist(), *[77] * (room - fits)]
    got, lengths, _ = device.run_length_encode(there, num_items=number, policy=policy)
    same(got, encoded(x[:number])[0])
    same(lengths, encoded(x[:number])[1])
    items, kept = device.partition(there, lambda v: v > 0, num_items=number, policy=policy)
    same(items, parted(x[:number], x[:number] > 0))
    assert kept == (x[:number] > 0).sum()
