"""Scans of random arrays in random forms: lengths, layouts, operators, policies, against a fold in Python."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import warpkit as wk
from tests.warp import operators
from warpkit import device

from .scans import POLICIES, SIMULATOR, fold, host, to_device

EXAMPLES = 15 if SIMULATOR else 200
MOST = 420 if SIMULATOR else 30_000
OPERATORS = {
    "add": (wk.add, lambda a, b: a + b),
    "maximum": (np.maximum, max),
    "last": (operators.last_nonzero, operators.py_last_nonzero),
}


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_any_form(data):
    """Every form; int64 throughout, so that few kernels serve all of them."""
    n = data.draw(st.integers(0, MOST), "items")
    step, offset = data.draw(st.sampled_from([1, 1, 2, -1]), "step"), data.draw(st.integers(0, 3), "offset")
    seed = data.draw(st.integers(0, 99), "seed")
    rng = np.random.default_rng(seed)
    memory = np.where(rng.random(abs(step) * n + offset) < 0.2, rng.integers(-99, 99, abs(step) * n + offset), 0)
    x = memory[offset:][::step][:n]
    name = data.draw(st.sampled_from(sorted(OPERATORS)), "operator")
    exclusive, reverse = data.draw(st.booleans(), "exclusive"), data.draw(st.booleans(), "reverse")
    init = data.draw(st.integers(-5, 5) if exclusive else st.none() | st.integers(-5, 5), "init")
    count = data.draw(st.none() | st.integers(0, n), "number of items")
    policy = data.draw(st.sampled_from(POLICIES), "policy")
    op, meaning = OPERATORS[name]
    scan = device.exclusive_scan if exclusive else device.inclusive_scan
    found = host(scan(to_device(x), op, init=init, reverse=reverse, num_items=count, policy=policy))
    assert found.tolist() == fold(meaning, x[:count].tolist(), init, exclusive, reverse)
