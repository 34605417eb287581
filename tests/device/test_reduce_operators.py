"""Reductions by operators: built-in ones, a user's in every form, in the order of the items."""

import functools
import operator

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.block.matrix import bit_strings
from tests.warp import operators
from tests.warp.matrix import UNSIGNED, label, random_bits
from warpkit import device

from .reductions import LAYOUTS, POLICIES, POLICY, SIZES, laid_out, result, same, to_device

BUILT_IN = {
    "add": (wk.add, operator.add, np.add),
    "mul": (wk.mul, operator.mul, np.multiply),
    "minimum": (wk.minimum, np.minimum),
    "maximum": (wk.maximum, np.maximum),
    "fmin": (min, np.fmin),
    "fmax": (max, np.fmax),
    "bit_and": (wk.bit_and, operator.and_, np.bitwise_and),
    "bit_or": (wk.bit_or, operator.or_, np.bitwise_or),
    "bit_xor": (wk.bit_xor, operator.xor, np.bitwise_xor),
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_operators_by_all_their_names(name):
    x = random_bits(np.uint32, 700, np.random.default_rng(4))
    dtype = np.uint64 if name in ("add", "mul") else np.uint32
    expected = BUILT_IN[name][-1].reduce(x, dtype=dtype)
    for op in BUILT_IN[name]:
        same(device.reduce(to_device(x), op, policy=POLICY), expected)


@pytest.mark.parametrize("op", [wk.logical_and, np.logical_or, wk.logical_or], ids=["and", "NumPy or", "or"])
def test_logical_operators(op):
    for x in (np.zeros(300, np.int32), np.ones(300, np.int32), np.arange(300, dtype=np.int32)):
        expected = (x != 0).all() if op is wk.logical_and else (x != 0).any()
        same(device.reduce(to_device(x), op, policy=POLICY), np.int32(expected))


def append_bits(earlier, later):
    """Join two bit strings held as (bits << 6 | length): the order of the items is in the result."""
    length = later & 63
    return ((((earlier >> 6) << length) | (later >> 6)) << 6) | ((earlier & 63) + length)


@pytest.mark.parametrize("n", [n for n in SIZES if n])
def test_order_is_kept(n):
    x = bit_strings(n)
    expected = functools.reduce(operators.py_append_bits, x.tolist())
    for policy in POLICIES:
        assert device.reduce(to_device(x), append_bits, policy=policy) == expected
        if n > 2:
            rest = functools.reduce(operators.py_append_bits, x[1:].tolist())
            assert device.reduce(to_device(x[1:]), append_bits, policy=policy) == rest


@pytest.mark.parametrize("threads", [32, 64])
@pytest.mark.parametrize("n", [255, 256, 513, 1100, 1500])
def test_order_is_kept_where_a_warp_has_many_rows(n, threads):
    x = bit_strings(n)
    one_block = device.ReducePolicy(single_loads=1 << 20, single_threads=threads)
    expected = functools.reduce(operators.py_append_bits, x.tolist())
    assert device.reduce(to_device(x), append_bits, policy=one_block) == expected


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64], ids=label)
def test_order_is_kept_around_whole_reads_and_rows(dtype):
    """`last but not 0` finds the last item that is not, wherever it is among reads, rows, warps and blocks."""
    last = lambda a, b: b if b != 0 else a
    read = 16 // np.dtype(dtype).itemsize
    row, step = 32 * read, 4 * 32 * read
    for n in {1, read - 1, read + 1, row - 1, row + 1, step - 1, step, step + 1, 2 * step + row + 3}:
        for skip in (0, 1):
            x = np.zeros(n + skip, dtype)[skip:]
            for at in {0, n // 3, n - 1}:
                x[:] = 0
                x[: at + 1 : max(1, n // 7)] = 5
                x[at] = 9
                assert device.reduce(to_device(x), last, policy=POLICY) == 9


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout != "the same again"])
def test_order_is_kept_in_every_layout(layout):
    view = laid_out(layout, 300, bit_strings)
    expected = functools.reduce(operators.py_append_bits, view.ravel().tolist())
    assert device.reduce(to_device(view), append_bits, policy=POLICY) == expected


def plain(a, b):
    """Return the later one unless it is 0."""
    return b if b != 0 else a


@pytest.mark.parametrize(
    "op",
    [plain, lambda a, b: b if b != 0 else a, operators.last_nonzero, cuda.jit(device=True)(plain)],
    ids=["function", "lambda", "device function", "device function of a function"],
)
def test_every_form_of_a_function(op):
    x = np.zeros(600, np.float32)
    x[[5, 300, 577]] = 1, 2, 3
    same(device.reduce(to_device(x), op, policy=POLICY), np.float32(3))


def test_a_function_may_capture_numbers_and_arrays():
    x = np.arange(300, dtype=np.int64)
    table = cuda.to_device(np.array([3, 5], np.int64))
    weight = 2
    found = device.transform_reduce(to_device(x), lambda v: v * weight + table[v & 1], operator.add, policy=POLICY)
    assert found == 2 * x.sum() + 150 * 8


def test_a_changed_captured_value_is_seen():
    x = to_device(np.ones(50, np.int64))
    for factor in (4, 8):
        assert device.transform_reduce(x, times(factor), operator.add, policy=POLICY) == 50 * factor


def times(factor):
    """Return a function that multiplies by a number that it captures."""
    return lambda v: v * factor


def test_the_same_function_whose_global_changes():
    x = to_device(np.ones(50, np.int64))
    for value in (4, 8):
        globals()["FACTOR"] = value
        assert device.transform_reduce(x, times_global, operator.add, policy=POLICY) == 50 * value


FACTOR = 1


def times_global(v):
    """Multiply by a global that changes."""
    return v * FACTOR


@pytest.mark.parametrize("dtype", [*UNSIGNED, np.int8, np.float16, np.float32, np.complex64, np.bool_], ids=label)
def test_a_users_operator_works_in_the_dtype_of_the_items(dtype):
    x = (np.arange(200) % 7 == 3).astype(dtype)
    total = device.reduce(to_device(x), lambda a, b: b if b != 0 else a, policy=POLICY)
    same(total, np.ones(1, np.float32 if dtype is np.float16 else dtype)[0])


def test_a_users_sum_wraps_in_the_dtype_of_the_items_or_in_dtype():
    x = to_device(np.ones(300, np.uint8))
    same(device.reduce(x, lambda a, b: a + b, policy=POLICY), np.uint8(44))
    same(device.reduce(x, lambda a, b: a + b, dtype=np.int32, policy=POLICY), np.int32(300))


def test_transform_reduce_returns_what_the_transform_does():
    x = np.arange(400, dtype=np.int32)
    same(device.transform_reduce(to_device(x), lambda v: v * v, operator.add, policy=POLICY), np.int64((x**2).sum()))
    same(device.transform_reduce(to_device(x), lambda v: v * 0.5, max, policy=POLICY), np.float64(199.5))
    same(device.transform_reduce(to_device(x), lambda v: v > 17, wk.bit_or, policy=POLICY), np.True_)
    halves = np.arange(400).astype(np.float16)
    same(device.transform_reduce(to_device(halves), lambda v: v, operator.add, policy=POLICY), np.float32(79800))


def test_transform_reduce_to_a_tuple():
    x = np.arange(1, 400, dtype=np.float64)
    both = device.transform_reduce(
        to_device(x), lambda v: (v, v * v, 1), lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2]), policy=POLICY
    )
    assert both.item() == (x.sum(), (x * x).sum(), 399)
    assert both.dtype.names == ("f0", "f1", "f2")
    together = device.transform_reduce(to_device(x), lambda v: (v, v * v), wk.add, init=(1, 2), policy=POLICY)
    assert together.item() == (x.sum() + 1, (x * x).sum() + 2)


def test_transform_of_fields():
    x = np.zeros(300, [("a", "i4"), ("b", "f8")])
    x["a"], x["b"] = np.arange(300), 2
    same(device.transform_reduce(to_device(x), lambda r: r[0] * r[1], wk.add, policy=POLICY), np.float64(2 * 44850))


def test_init_comes_first():
    x = bit_strings(100)
    init = 1  # one bit, a 0
    expected = functools.reduce(operators.py_append_bits, x.tolist(), init)
    assert device.reduce(to_device(x), append_bits, init=init, policy=POLICY) == expected
    assert device.reduce(to_device(x[:0]), append_bits, init=init) == init


def test_many_functions_that_are_equal_share_a_kernel():
    x, out = to_device(np.ones(40, np.int32)), result(np.int32)
    for _ in range(30):
        device.reduce(x, lambda a, b: a + b, out=out, policy=POLICY)
    assert out.copy_to_host()[0] == 40


REFUSED = {
    "no function": (lambda x: device.reduce(x, 3), r"^reduce: op must be a function \(earlier, later\)"),
    "an unknown ufunc": (lambda x: device.reduce(x, np.hypot), "the device has no hypot"),
    "bits of floats": (lambda x: device.reduce(x, operator.xor), "^reduce: bit_xor needs integers, not float32"),
    "no transform": (lambda x: device.transform_reduce(x, 3, operator.add), "transform must be a function"),
    "nothing returned": (lambda x: device.transform_reduce(x, lambda v: None, max), "return a number or a tuple"),
    "a float for an integer": (
        lambda x: device.transform_reduce(x, lambda v: v * 0.5, max, dtype=np.int32),
        "^transform_reduce: float64 does not go into dtype of int32",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(what):
    call, sentence = REFUSED[what]
    with pytest.raises(TypeError, match=sentence):
        call(to_device(np.ones(5, np.float32)))
