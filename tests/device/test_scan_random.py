"""Scans of random arrays in random forms: lengths, layouts, operators, policies, against a fold in Python."""

import itertools

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


KINDS = ("inclusive", "inclusive with init", "exclusive")


def forms():
    """Return (operator, kind, policy, reverse, contiguous), each of which is compiled, that hold every pair of two."""
    found = []
    for first, name in enumerate(sorted(OPERATORS)):
        for second, policy in enumerate(POLICIES):
            kind = KINDS[(first + second) % len(KINDS)]
            even = (first + second) % 2 == 0
            found += [(name, kind, policy, False, even), (name, kind, policy, True, not even)]
    return found


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_any_form(data):
    """A form, and what is decided at run time; int64 throughout, so that few kernels serve all of them."""
    name, kind, policy, reverse, contiguous = data.draw(st.sampled_from(forms()), "form")
    n = data.draw(st.integers(0, MOST), "items")
    step = 1 if contiguous else data.draw(st.sampled_from([2, -1]), "step")
    offset, seed = data.draw(st.integers(0, 3), "offset"), data.draw(st.integers(0, 99), "seed")
    rng = np.random.default_rng(seed)
    memory = np.where(rng.random(abs(step) * n + offset) < 0.2, rng.integers(-99, 99, abs(step) * n + offset), 0)
    x = memory[offset:][::step][:n]
    init = None if kind == "inclusive" else data.draw(st.integers(-5, 5), "init")
    count = data.draw(st.none() | st.integers(0, n), "number of items")
    op, meaning = OPERATORS[name]
    exclusive = kind == "exclusive"
    scan = device.exclusive_scan if exclusive else device.inclusive_scan
    found = host(scan(to_device(x), op, init=init, reverse=reverse, num_items=count, policy=policy))
    assert found.tolist() == fold(meaning, x[:count].tolist(), init, exclusive, reverse)


def test_every_pair_is_among_the_forms():
    for one, other in itertools.combinations(range(5), 2):
        pairs = {(form[one], form[other]) for form in forms()}
        assert len(pairs) == len({form[one] for form in forms()}) * len({form[other] for form in forms()})
