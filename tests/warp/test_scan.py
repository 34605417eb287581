"""Scans: exclusive and inclusive, forward and reverse, every mask; the identity goes to the first participant."""

import numpy as np
import pytest

import warpkit as wk
from tests import reference
from tests.reference import OPS, assert_same, at, backwards, exclusive, identity, inclusive

from . import kernels, operators
from .kinds import FLAT, INT32X2, dummies
from .matrix import FULL, MASKS, NUMBERS, REALS, WIDTHS, cells, data, label, sentinel
from .test_reduce import ORDERED, TUPLE_OPS, check_tuples

COUNT = 32 * len(MASKS)
PREFIX = {
    "sum": (wk.warp_prefix_sum, NUMBERS),
    "product": (wk.warp_prefix_product, NUMBERS),
    "min": (wk.warp_prefix_min, REALS),
    "max": (wk.warp_prefix_max, REALS),
}
INCLUSIVE = {
    "sum": (wk.warp_inclusive_sum, NUMBERS),
    "product": (wk.warp_inclusive_product, NUMBERS),
    "min": (wk.warp_inclusive_min, REALS),
    "max": (wk.warp_inclusive_max, REALS),
}
FORMS = {"prefix": PREFIX, "inclusive": INCLUSIVE}
CASES = [
    (form, name, *cell)
    for form, table in FORMS.items()
    for name, (_, dtypes) in table.items()
    for cell in cells(dtypes)
]


def scanned(form, name, dtype, x, masks, width, out):
    """Fill `out` with the scan of each group."""

    def rule(warp, lanes):
        items = at(x, warp, lanes)
        return (
            inclusive(OPS[name], items) if form == "inclusive" else exclusive(OPS[name], items, identity(name, dtype))
        )

    return reference.over(masks, width, rule, out)


@pytest.mark.parametrize(("form", "name", "dtype", "width"), CASES, ids=label)
def test_each_participant_gets_the_fold_of_those_before_it(form, name, dtype, width):
    x, out = data(name, dtype, COUNT), sentinel(dtype, COUNT)
    expected = scanned(form, name, dtype, x, MASKS, width, out.copy())
    kernels.launch(kernels.one(FORMS[form][name][0], width), MASKS, x, out)
    assert_same(out, expected)


@pytest.mark.parametrize(("dtype", "width"), [(np.int32, 32), (np.uint8, 8), (np.float64, 16)], ids=label)
@pytest.mark.parametrize("name", PREFIX)
@pytest.mark.parametrize("form", FORMS)
def test_a_named_mask_gives_the_same(form, name, dtype, width):
    x, out = data(name, dtype, COUNT), sentinel(dtype, COUNT)
    expected = scanned(form, name, dtype, x, MASKS, width, out.copy())
    kernels.launch(kernels.one(FORMS[form][name][0], width, named=True), MASKS, x, out)
    assert_same(out, expected)


@pytest.mark.parametrize("kind", FLAT, ids=str)
@pytest.mark.parametrize(("form", "name"), [("prefix", "sum"), ("prefix", "max"), ("inclusive", "product")])
def test_vectors_and_flat_tuples_are_scanned_part_by_part(form, name, kind):
    inputs = [data(name, dtype, COUNT, seed) for seed, dtype in enumerate(kind.dtypes)]
    outputs = [sentinel(dtype, COUNT) for dtype in kind.dtypes]
    expected = [
        scanned(form, name, dtype, x, MASKS, 32, out.copy()) for dtype, x, out in zip(kind.dtypes, inputs, outputs)
    ]
    run = kernels.columns(FORMS[form][name][0], kind.build, kind.store)
    kernels.launch(run, MASKS, *dummies(inputs), *dummies(outputs))
    for got, right in zip(outputs, expected):
        assert_same(got, right, kind.name)


# ------------------------------------------------------------------ any operator

OPERATORS = [("last_nonzero", np.int32), ("append_bits", np.int64)]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize(("op", "dtype"), OPERATORS, ids=label)
def test_inclusive_scan_by_any_operator_in_order(op, dtype, reverse, width):
    device, plain, make = ORDERED[op]
    x, out = make(dtype, COUNT), sentinel(dtype, COUNT)
    scan = backwards(inclusive) if reverse else inclusive
    expected = reference.over(MASKS, width, lambda warp, lanes: scan(plain, at(x, warp, lanes)), out.copy())
    build = kernels.reverse_scan if reverse else kernels.with_op
    kernels.launch(build(wk.warp_inclusive_scan, device, width=width), MASKS, x, out)
    assert_same(out, expected)


@pytest.mark.parametrize(
    ("width", "named"), [(32, False), (32, True), (16, False), (8, False), (4, True), (2, False), (1, False)]
)
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize(("op", "dtype"), OPERATORS, ids=label)
def test_exclusive_scan_by_any_operator_begins_with_init(op, dtype, reverse, width, named):
    device, plain, make = ORDERED[op]
    x, out = make(dtype, COUNT), sentinel(dtype, COUNT)
    start = np.array([0b101 << 6 | 3 if op == "append_bits" else 77], dtype)
    scan = backwards(exclusive) if reverse else exclusive
    expected = reference.over(MASKS, width, lambda warp, lanes: scan(plain, at(x, warp, lanes), start[0]), out.copy())
    run = kernels.scan_from(wk.warp_exclusive_scan, device, reverse, width, named)
    kernels.launch(run, MASKS, x, start, out)
    assert_same(out, expected)


@pytest.mark.parametrize(("width", "named"), [(32, False), (8, False), (4, True)])
@pytest.mark.parametrize("name", TUPLE_OPS)
def test_inclusive_scan_of_tuples_in_order(name, width, named):
    kind, device, plain = TUPLE_OPS[name]
    run = kernels.columns_with_op(wk.warp_inclusive_scan, device, kind.build, kind.store, width, named)
    check_tuples(run, kind, lambda items: inclusive(plain, items), MASKS, width)


@kernels.cuda.jit
def affine_exclusive(masks, a, b, c, d, oa, ob, oc, od):
    """Exclusive scan of pairs, from the last lane, onto (3, 5)."""
    i = kernels.cuda.grid(1)
    if kernels.takes_part(masks[i // 32], i):
        v = wk.warp_exclusive_scan((a[i], b[i]), operators.affine, (np.int32(3), np.int32(5)), reverse=True)
        oa[i] = v[0]
        ob[i] = v[1]


@kernels.cuda.jit
def vector_exclusive(masks, a, b, c, d, oa, ob, oc, od):
    """Exclusive scan of vectors onto (3, 5)."""
    i = kernels.cuda.grid(1)
    if kernels.takes_part(masks[i // 32], i):
        start = kernels.cuda.int32x2(3, 5)
        v = wk.warp_exclusive_scan(kernels.cuda.int32x2(a[i], b[i]), operators.last_nonzero, start)
        oa[i] = v.x
        ob[i] = v.y


def test_exclusive_scan_of_tuples_and_vectors_onto_a_start():
    kind, _, plain = TUPLE_OPS["affine int32"]
    check_tuples(affine_exclusive, kind, lambda items: backwards(exclusive)(plain, items, (3, 5)), MASKS, 32)
    last = operators.py_last_of_each
    check_tuples(vector_exclusive, INT32X2, lambda items: exclusive(last, items, (3, 5)), MASKS, 32)


def test_s06_a_reverse_scan_is_the_scan_of_the_reverse():
    x, out = np.zeros(32, np.int64), np.zeros(32, np.int64)
    x[:5] = [0, 3, 0, 5, 0]
    kernels.launch(
        kernels.reverse_scan(wk.warp_inclusive_scan, operators.last_nonzero), np.array([0x1F], np.uint32), x, out
    )
    assert out[:5].tolist() == [3, 3, 5, 5, 0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=label)
@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("form", FORMS)
def test_running_min_and_max_know_nan_and_the_sign_of_zero(form, name, dtype):
    rng = np.random.default_rng(9)
    x = rng.choice([np.nan, 0.0, -0.0, 1.0, -1.0, np.inf, -np.inf], COUNT, p=[0.02, 0.3, 0.3, 0.1, 0.1, 0.09, 0.09])
    x, out = x.astype(dtype), sentinel(dtype, COUNT)
    expected = scanned(form, name, dtype, x, MASKS, 32, out.copy())
    kernels.launch(kernels.one(FORMS[form][name][0]), MASKS, x, out)
    assert_same(out, expected)


def test_the_first_participant_gets_the_identity_wherever_it_stands():
    masks = np.array([1 << 31, 1 << 17 | 1 << 20, FULL << 5 & FULL], np.uint32)
    x, out = np.full(96, 7, np.int32), np.full(96, -5, np.int32)
    kernels.launch(kernels.one(wk.warp_prefix_product), masks, x, out)
    assert out[31] == 1
    assert (out[32 + 17], out[32 + 20], out[64 + 5], out[64 + 6]) == (1, 7, 1, 7)
