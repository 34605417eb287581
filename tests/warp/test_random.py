"""Random (mask, dtype, operation, width) against the reference: a few everywhere, ten thousand on a GPU."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpkit as wk
from tests import reference
from tests.reference import OPS, assert_same, at, fold, inclusive

from . import kernels, operators
from .matrix import REALS, SIMULATOR, WIDTHS, data, sentinel, some_masks
from .test_match import by_key
from .test_reduce import REDUCTIONS
from .test_scan import FORMS, scanned

OPERATIONS = [("reduce", name) for name in REDUCTIONS] + [
    (form, name) for form, table in FORMS.items() for name in table
]
ALLOWED = {
    (form, name): (REDUCTIONS if form == "reduce" else FORMS[form])[name] for form, name in OPERATIONS
}  # (function, dtypes)


def check(form, name, dtype, width, masks, seed, named=False):
    """Run one operation under these masks on random values and compare every lane."""
    count = 32 * len(masks)
    x, out = data(name, dtype, count, seed), sentinel(dtype, count)
    if form == "reduce":
        rule = lambda warp, lanes: [fold(OPS[name], at(x, warp, lanes))] * len(lanes)
        expected = reference.over(masks, width, rule, out.copy())
    else:
        expected = scanned(form, name, dtype, x, masks, width, out.copy())
    kernels.launch(kernels.one(ALLOWED[form, name][0], width, named), masks, x, out)
    assert_same(out, expected, f"{form} {name} {np.dtype(dtype)} width {width}")


@settings(max_examples=40 if SIMULATOR else 100)
@given(
    mask=st.integers(1, 0xFFFFFFFF),
    operation=st.sampled_from(OPERATIONS),
    dtype=st.sampled_from(REALS),
    width=st.sampled_from(WIDTHS),
    seed=st.integers(0, 1000),
    named=st.booleans(),
)
def test_a_random_case(mask, operation, dtype, width, seed, named):
    if dtype in ALLOWED[operation][1]:
        check(*operation, dtype, width, np.array([mask], np.uint32), seed, named)


@settings(max_examples=25 if SIMULATOR else 100)
@given(
    mask=st.integers(1, 0xFFFFFFFF),
    width=st.sampled_from(WIDTHS),
    bits=st.integers(0, 0xFFFFFFFF),
    keys=st.lists(st.integers(-2, 2), min_size=32, max_size=32),
)
def test_random_bit_strings_come_out_in_order(mask, width, bits, keys):
    masks, key = np.array([mask], np.uint32), np.array(keys, np.int32)
    x = (bits >> np.arange(32, dtype=np.int64) & 1) << 6 | 1
    plain = operators.py_append_bits
    total = lambda items: [fold(plain, items)] * len(items)
    for run, extra, rule in [
        (kernels.with_op(wk.warp_reduce, operators.append_bits, width), (), lambda w, p: total(at(x, w, p))),
        (
            kernels.with_op(wk.warp_inclusive_scan, operators.append_bits, width),
            (),
            lambda w, p: inclusive(plain, at(x, w, p)),
        ),
        (
            kernels.two_with_op(wk.warp_multi_reduce, operators.append_bits, width),
            (key,),
            lambda w, p: by_key(total, at(x, w, p), at(key, w, p)),
        ),
    ]:
        out = sentinel(np.int64, 32)
        expected = reference.over(masks, width, rule, out.copy())
        kernels.launch(run, masks, x, *extra, out)
        assert_same(out, expected)


@pytest.mark.gpu
def test_ten_thousand_random_cases():
    """Every operation at every dtype that it takes, widths in turn: over 10,000 masks, one compile for each cell."""
    cells = [(form, name, dtype) for form, name in OPERATIONS for dtype in ALLOWED[form, name][1]]
    each = -(-10_000 // len(cells))
    each += each % 2
    cases = 0
    for seed, (form, name, dtype) in enumerate(cells):
        masks = some_masks(10 + each, seed)[10:]  # past the telling ones: random
        check(form, name, dtype, WIDTHS[seed % len(WIDTHS)], masks, seed, named=seed % 3 == 0)
        cases += len(masks)
    assert cases >= 10_000
