"""Every scan over every dtype, size, layout and form, against NumPy and a fold in Python."""

import operator

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp import operators
from tests.warp.matrix import COMPLEX, NUMBERS, SIMULATOR, label
from warpkit import device

from .reductions import LAYOUTS, for_order, laid_out
from .scans import (
    DEFAULT,
    FEW,
    LOOKS,
    NUMPY,
    POLICIES,
    POLICY_NAMES,
    SIZES,
    SMALL,
    SOME,
    fold,
    host,
    rubbish,
    same,
    to_device,
    values,
)  # fmt: skip

DTYPES = (np.bool_, *NUMBERS)


CELLS = [("cumsum", dtype) for dtype in DTYPES]
CELLS += [("cumprod", dtype) for dtype in (np.bool_, np.int8, np.uint32, np.float16, np.float64, np.complex64)]


@pytest.mark.parametrize(("name", "dtype"), CELLS, ids=label)
def test_every_dtype(name, dtype):
    for n in SOME:
        x = values(name, dtype, n)
        for policy in (DEFAULT, FEW, LOOKS):
            same(host(getattr(device, name)(to_device(x), policy=policy)), NUMPY[name](x))


@pytest.mark.parametrize("policy", POLICIES, ids=POLICY_NAMES)
def test_every_size(policy):
    for n in SIZES:
        x = values("cumsum", np.int32, n, seed=n)
        last = fold(operators.py_last_nonzero, np.where(x % 5 == 0, x, 0).tolist())
        for view in (x, x[1:], x[3:]):
            same(host(device.cumsum(to_device(view), policy=policy)), np.cumsum(view, dtype=np.int64))
        y = to_device(np.where(x % 5 == 0, x, 0).astype(np.int32))
        found = device.inclusive_scan(y, operators.last_nonzero, policy=policy)
        same(host(found), np.array(last, np.int32))


FORMS = [(exclusive, init, reverse) for exclusive in (False, True) for init in (None, -3) for reverse in (False, True)]


def form(value):
    """Name a form of a scan."""
    exclusive, init, reverse = value
    return f"{'exclusive' if exclusive else 'inclusive'}-{init}-{'reverse' if reverse else 'forward'}"


@pytest.mark.parametrize("shape", FORMS, ids=form)
def test_every_form(shape):
    """Sums, and an operator whose operands may not change places, with a piece of every tile's edge marked."""
    exclusive, init, reverse = shape
    scan = device.exclusive_scan if exclusive else device.inclusive_scan
    for n in SOME:
        x = for_order(np.int32, n, np.random.default_rng(n))
        start = (0 if init is None else init) if exclusive else init
        expected = np.array(fold(operator.add, x.tolist(), start, exclusive, reverse), np.int64)
        for policy in (DEFAULT, FEW, LOOKS):
            same(host(scan(to_device(x), wk.add, init=init, reverse=reverse, policy=policy)), expected)
        first = -3 if exclusive else init
        marks = np.where(np.arange(n) % 37 == 5, np.arange(n) + 1, 0).astype(np.int32)
        expected = np.array(fold(operators.py_last_nonzero, marks.tolist(), first, exclusive, reverse), np.int32)
        for policy in (SMALL, FEW):
            found = scan(to_device(marks), operators.last_nonzero, init=first, reverse=reverse, policy=policy)
            same(host(found), expected)


OPERATORS = {
    "minimum": (np.minimum, np.minimum),
    "maximum": (wk.maximum, np.maximum),
    "or": (operator.or_, np.bitwise_or),
    "and": (wk.bit_and, np.bitwise_and),
    "xor": (np.bitwise_xor, np.bitwise_xor),
    "mul": (operator.mul, np.multiply),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32], ids=label)
def test_every_operator(name, dtype):
    op, ufunc = OPERATORS[name]
    if dtype == np.float32 and name not in ("minimum", "maximum"):
        return
    x = for_order(dtype, SOME[-1], np.random.default_rng(3))
    total = ufunc.accumulate(x, dtype=np.cumsum(x[:1]).dtype if name == "mul" else x.dtype)
    for policy in (DEFAULT, FEW):
        same(host(device.inclusive_scan(to_device(x), op, policy=policy)), total)
        before = host(device.exclusive_scan(to_device(x), op, policy=policy))
        same(before[1:], total[:-1])
        assert ufunc(before[:1], x[:1]) == x[:1]  # the identity


@pytest.mark.parametrize("policy", POLICIES, ids=POLICY_NAMES)
def test_one_item_of_an_array_with_gaps_lies_side_by_side_with_itself(policy):
    x = np.arange(5, 7, dtype=np.float32)
    same(host(device.cumsum(cuda.to_device(x)[::2], policy=policy)), x[:1])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(layout):
    for n in (7, 500) if SIMULATOR else (7, 500, 30_000, (1 << 20) + 5):
        view = laid_out(layout, n, lambda count: values("cumsum", np.float32, count))
        for policy in (DEFAULT, FEW):
            same(host(device.cumsum(to_device(view), policy=policy)), np.cumsum(view))


@pytest.mark.parametrize("policy", [SMALL, FEW], ids=["small", "few"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64], ids=label)
def test_every_misalignment(dtype, policy):
    """Items and results begin anywhere, and what lies before and behind them is not touched."""
    for skip in range(0, 16 // np.dtype(dtype).itemsize, 3 if SIMULATOR else 1):
        for n in (50, 200, 400):
            memory = values("cumsum", dtype, n + skip)
            out = rubbish(450, dtype)
            device.cumsum(to_device(memory[skip:]), out=out[skip : n + skip], dtype=dtype, policy=policy)
            found = out.copy_to_host()
            same(found[skip : n + skip], np.cumsum(memory[skip:], dtype=dtype))
            assert (found[:skip] == 77).all()
            assert (found[n + skip :] == 77).all()


class TestWhereResultsGo:
    """`out` is returned: of another dtype, strided, of the shape of x, x itself."""

    def test_out_is_returned(self):
        x, out = cuda.to_device(np.arange(500)), rubbish(500, np.int64)
        assert device.cumsum(x, out=out, policy=DEFAULT) is out
        same(out.copy_to_host(), np.cumsum(np.arange(500)))

    @pytest.mark.parametrize("dtype", [np.float64, np.int8, np.complex64, np.float16], ids=label)
    def test_of_another_dtype(self, dtype):
        x, out = np.arange(300, dtype=np.int16) % 3, rubbish(300, dtype)
        device.cumsum(to_device(x), out=out, policy=SMALL)
        same(out.copy_to_host(), np.cumsum(x).astype(dtype))

    def test_strided(self):
        x, out = np.arange(400), rubbish(800, np.int64)
        device.cumsum(to_device(x), out=out[::2], policy=SMALL)
        same(out.copy_to_host()[::2].copy(), np.cumsum(x))
        assert (out.copy_to_host()[1::2] == 77).all()

    def test_of_the_shape_of_x(self):
        x, out = np.arange(400).reshape(4, 10, 10), cuda.to_device(np.zeros((4, 10, 10), np.int64))
        device.cumsum(to_device(x), out=out, policy=SMALL)
        same(out.copy_to_host(), np.cumsum(x).reshape(x.shape))

    @pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
    @pytest.mark.parametrize("n", SOME)
    def test_in_place(self, n, reverse):
        x = values("cumsum", np.float32, n)
        there = cuda.to_device(x)
        for policy in POLICIES:
            there.copy_to_device(x)
            device.cumsum(there, out=there, reverse=reverse, policy=policy)
            same(there.copy_to_host(), np.array(np.cumsum(x[::-1])[::-1] if reverse else np.cumsum(x)))

    @pytest.mark.parametrize("policy", [None, FEW], ids=["default", "few"])
    def test_in_place_and_apart_in_turn(self, policy):
        """Blocks read what others are to write over only where nobody does."""
        n = 700 if SIMULATOR else 100_003
        x = values("cumsum", np.float32, n)
        for part, other in ((slice(n), slice(n, 2 * n)), (slice(0, 2 * n, 2), slice(1, 2 * n, 2))):
            given = np.zeros(2 * n, np.float32)
            given[part] = x
            memory = cuda.to_device(given)
            there, out = memory[part], memory[other]
            for _ in range(2):
                memory.copy_to_device(given)
                device.cumsum(there, out=out, policy=policy)
                same(memory.copy_to_host()[other], np.cumsum(x))
                device.cumsum(there, out=there, policy=policy)
                same(memory.copy_to_host()[part], np.cumsum(x))

    def test_in_place_of_a_part(self):
        x = np.arange(600, dtype=np.int32) % 50
        there = cuda.to_device(x)
        device.inclusive_scan(there[::3], wk.maximum, out=there[::3], policy=SMALL)
        x[::3] = np.maximum.accumulate(x[::3])
        same(there.copy_to_host(), x)


RECORD = np.dtype([("a", np.int64), ("b", np.int64)])
SPACED = np.dtype({"names": ["a", "b"], "formats": ["i2", "f4"], "offsets": [0, 8], "itemsize": 16})


class TestRecords:
    """Structured items reach an operator as tuples; built-in ones act field by field."""

    @pytest.mark.parametrize("shape", FORMS, ids=form)
    def test_affine_pairs(self, shape):
        exclusive, init, reverse = shape
        scan = device.exclusive_scan if exclusive else device.inclusive_scan
        first = (1, 0) if init is None and exclusive else None if init is None else (3, -2)
        for n in SOME[1:2] if SIMULATOR else SOME:
            rng = np.random.default_rng(n)
            x = np.zeros(n, RECORD)
            x["a"], x["b"] = rng.choice([-1, 1], n), rng.integers(-9, 9, n)
            expected = fold(operators.affine.py_func, x.tolist(), first, exclusive, reverse)
            found = scan(to_device(x), operators.affine, init=first, reverse=reverse, policy=DEFAULT)
            assert found.dtype == RECORD
            assert host(found).tolist() == expected

    def test_fields_apart_and_packed(self):
        x = np.zeros(350, SPACED)
        x["a"], x["b"] = np.arange(350) % 7, 0.5
        sums = host(device.cumsum(to_device(x), policy=SMALL))
        assert (sums.dtype["a"], sums.dtype["b"]) == (np.int64, np.float32)
        assert sums["a"].tolist() == np.cumsum(x["a"]).tolist()
        assert sums["b"].tolist() == np.cumsum(x["b"]).tolist()
        kept = device.inclusive_scan(to_device(x), lambda p, q: (q[0], p[1] + q[1]), policy=SMALL)
        assert kept.dtype == SPACED
        assert host(kept)["b"].tolist() == np.cumsum(x["b"]).tolist()


class TestNumbersOfItems:
    """`num_items` as a number, or on the device."""

    def test_a_number(self):
        x = np.arange(500)
        found = device.cumsum(to_device(x), num_items=120, policy=SMALL)
        same(host(found), np.cumsum(x[:120]))
        out = rubbish(500, np.int64)
        device.cumsum(to_device(x), num_items=120, out=out, policy=SMALL)
        same(out.copy_to_host()[:120], np.cumsum(x[:120]))
        assert (out.copy_to_host()[120:] == 77).all()

    @pytest.mark.parametrize("policy", [SMALL, FEW, LOOKS], ids=["small", "few", "looks"])
    @pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
    @pytest.mark.parametrize("shape", [500, (5, 100)])
    def test_on_the_device(self, shape, reverse, policy):
        x, count, out = np.arange(500), cuda.to_device(np.zeros(1, np.int32)), rubbish(500, np.int64)
        view = to_device(x if shape == 500 else np.arange(1000).reshape(5, 200)[:, ::2])
        items = x if shape == 500 else np.arange(1000)[::2]
        for n in (0, 1, 95, 96, 97, 300, 500, 900, -4):
            count.copy_to_device(np.array([n], np.int32))
            out.copy_to_device(np.full(500, 77))
            device.inclusive_scan(view, wk.add, num_items=count, out=out, reverse=reverse, policy=policy)
            n = min(max(n, 0), 500)
            expected = np.cumsum(items[:n][::-1])[::-1] if reverse else np.cumsum(items[:n])
            assert out.copy_to_host().tolist() == [*expected.tolist(), *[77] * (500 - n)]


@pytest.mark.parametrize("given", ["number", "array", "numpy"])
def test_operators_may_capture(given):
    factor = {"number": 3, "array": cuda.to_device(np.array([3])), "numpy": np.array([3])}[given]
    if given == "number":
        op = lambda a, b: (a + b) % factor
    else:
        op = lambda a, b: (a + b) % factor[0]
    x = np.arange(400) % 3
    same(host(device.inclusive_scan(to_device(x), op, policy=SMALL)), np.cumsum(x) % 3)


def test_dtype_decides_what_is_computed_in():
    x = np.full(400, 100, np.int8)
    same(host(device.cumsum(to_device(x), dtype=np.int8, policy=SMALL)), np.cumsum(x, dtype=np.int8))
    same(host(device.cumsum(to_device(x), dtype=np.float32, policy=SMALL)), np.cumsum(x, dtype=np.float32))
    same(host(device.cumsum(to_device(x), dtype=np.float16, policy=SMALL)), np.cumsum(x, dtype=np.float32).astype("f2"))


def test_complex_numbers_multiply_in_order_of_memory():
    for dtype in COMPLEX:
        x = np.random.default_rng(5).choice([1, 1j, -1, -1j], 700).astype(dtype)
        same(host(device.inclusive_scan(to_device(x), lambda a, b: a * b, policy=DEFAULT)), np.cumprod(x))
