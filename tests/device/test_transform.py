"""Functions for every item against NumPy: dtypes, layouts, sizes, several inputs and outputs, refusals."""

import math
import operator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import cuda

import warpkit as wk
from tests.room import large
from tests.warp.matrix import COMPLEX, REALS, SIMULATOR, label
from warpkit import device

from .reductions import LAYOUTS, laid_out, result, to_device
from .refusing import check_refusal

SMALL = device.TransformPolicy(32, 1)
POLICIES = [SMALL] if SIMULATOR else [None]
SIZES = [0, 1, 3, 33, 300] if SIMULATOR else [0, 1, 3, 31, 33, 255, 257, 4097, 70_001, (1 << 20) + 3]
MANY = 200 if SIMULATOR else 100_003
FACTOR = 3


def values(dtype, count, seed=1):
    """Return values of which small sums and products are exact."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype == np.bool_:
        return rng.random(count) < 0.5
    x = rng.integers(0 if dtype.kind == "u" else -9, 10, count)
    return (x * 1j + rng.integers(-9, 9, count) if dtype.kind == "c" else x).astype(dtype)


def equal(got, right, dtype=None):
    """Assert that a device array has NumPy's values and shape, and a dtype."""
    got, right = got.copy_to_host(), np.asarray(right)
    assert got.dtype == (right.dtype if dtype is None else dtype)
    assert got.shape == right.shape
    np.testing.assert_array_equal(got, right)


def twice(a):
    """Return a + a; Numba makes int64 of small integers."""
    return a + a


@pytest.mark.parametrize("dtype", [np.bool_, *REALS, *COMPLEX], ids=label)
def test_every_dtype(dtype):
    x = values(dtype, MANY)
    kind, wide = x.dtype.kind, {"b": np.int64, "i": np.int64, "u": np.uint64}
    right = np.float32 if dtype == np.float16 else wide.get(kind, dtype)
    for policy in POLICIES:
        equal(device.transform(twice, to_device(x), policy=policy), (x.astype(right) + x.astype(right)), right)
        if dtype in (np.int8, np.uint32, np.float16):
            equal(device.transform(twice, to_device(x), dtype=dtype, policy=policy), x + x, x.dtype)


@pytest.mark.parametrize("n", SIZES)
def test_every_size(n):
    x, y = values(np.float32, n), values(np.float32, n, 2)
    for policy in (None, SMALL):
        equal(device.transform(lambda a, b: a * b, to_device(x), to_device(y), policy=policy), x * y)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(layout):
    x = laid_out(layout, MANY, lambda count: values(np.float32, count))
    y = values(np.int16, x.size).reshape(x.shape)
    for policy in POLICIES:
        equal(device.transform(lambda a, b: a - b, to_device(x), to_device(y), policy=policy, dtype="f4"), x - y)


@pytest.mark.parametrize("layout", ["one item on", "every other", "backwards", "transposed", "three axes", "four axes"])
def test_out_in_every_layout_keeps_what_is_between(layout):
    memory = laid_out(layout, MANY, lambda count: np.full(count, 7, np.float32))
    x = values(np.float32, memory.size).reshape(memory.shape)
    out = to_device(memory)
    assert device.transform(twice, to_device(x), out=out, policy=SMALL) is out
    base = memory
    while base.base is not None:
        base = base.base
    memory[...] = x + x
    np.testing.assert_array_equal(out.memory.copy_to_host().view(np.float32), base.reshape(-1))


@pytest.mark.parametrize(
    ("one", "other"), [(np.uint8, np.float64), (np.float16, np.int32), (np.int8, np.uint8)], ids=label
)
def test_items_of_different_sizes(one, other):
    x, y = values(one, MANY), values(other, MANY, 2)
    for policy in POLICIES:
        for offsets in ((1, 1), (1, 2)):
            a, b = x[offsets[0] : MANY - 5], y[offsets[1] : MANY - 5 + offsets[1] - offsets[0]]
            right = a.astype(np.float64) + b
            equal(device.transform(lambda a, b: a + b, to_device(a), to_device(b), dtype="f8", policy=policy), right)


def test_shapes_go_together_as_those_of_numpy():
    x, y = values(np.float32, 12).reshape(3, 1, 4), values(np.float64, 5).reshape(5, 1)
    for args in ((x, y), (y, x), (x, y[:1]), (x, y[0, 0]), (x[:0], y), (x, np.float16(3)), (2, x), (True, y)):
        device_args = [to_device(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        right = np.multiply(*args, dtype=np.float64)
        equal(device.transform(lambda a, b: a * b, *device_args, dtype=np.float64, policy=SMALL), right)


def test_an_array_without_axes():
    equal(device.transform(twice, to_device(np.array(4.0))), np.array(8.0))


def test_several_outputs():
    x = values(np.int32, MANY)
    for policy in POLICIES:
        made = device.transform(lambda a: (a > 0, a * 0.5), to_device(x), policy=policy)
        assert isinstance(made, tuple)
        equal(made[0], x > 0)
        equal(made[1], x * 0.5)
        out = result(np.uint8, MANY), result(np.float32, MANY)
        assert device.transform(lambda a: (a > 0, a * 0.5), to_device(x), out=out, policy=policy) is out
        equal(out[0], x > 0, np.uint8)
        equal(out[1], x * 0.5, np.float32)
    made = device.transform(lambda a: (a, a), to_device(x), dtype=("i2", "f4"), policy=SMALL)
    equal(made[0], x, np.int16)
    equal(made[1], x, np.float32)


def test_records():
    x = np.zeros(50, "i4,f4")
    x["f0"], x["f1"] = np.arange(50), np.arange(50) / 4
    equal(device.transform(lambda r: r[0] + r[1], to_device(x), policy=SMALL), x["f0"] + x["f1"].astype("f8"), "f8")
    made = device.transform(lambda r: (r[1], r[0]), to_device(x), dtype="f8,i8", policy=SMALL).copy_to_host()
    assert made.dtype == np.dtype("f8,i8")
    np.testing.assert_array_equal(made["f0"], x["f1"])
    out = to_device(x.copy())
    device.transform(lambda r: (r[0] * 2, r[1]), to_device(x), out=out, policy=SMALL)
    np.testing.assert_array_equal(out.memory.copy_to_host().view("i4,f4")["f0"], 2 * x["f0"])


def test_in_place_and_into_an_input():
    x, y = values(np.float32, MANY), values(np.float32, MANY, 2)
    for policy in POLICIES:
        a, b = cuda.to_device(x), cuda.to_device(y)
        assert device.transform(lambda a, b: a + 2 * b, a, b, out=b, policy=policy, dtype=None) is b
        equal(b, x + 2 * y)
        device.transform(lambda a: (a + 1, a - 1), a, out=(a, b), policy=policy)
        equal(a, x + 1)
        equal(b, x - 1)
    memory = cuda.to_device(np.arange(40.0))
    device.transform(twice, memory[::2], out=memory[1::2], policy=SMALL)
    equal(memory, np.arange(40.0) + np.arange(40) % 2 * (np.arange(40) - 2))


FUNCTIONS = {
    "a ufunc": (np.sqrt, np.sqrt, 1),
    "an addition": (np.add, np.add, 2),
    "a minimum": (min, np.fmin, 2),
    "an operator": (operator.mul, np.multiply, 2),
    "a type": (np.float64, np.float64, 1),
    "of math": (math.hypot, np.hypot, 2),
    "of warpkit": (wk.maximum, np.maximum, 2),
    "a device function": (cuda.jit(lambda a, b: a - b, device=True), np.subtract, 2),
}


@pytest.mark.parametrize("what", FUNCTIONS)
def test_functions_of_others(what):
    function, right, number = FUNCTIONS[what]
    arrays = [np.abs(values(np.float64, 70, seed)) for seed in range(number)]
    found = device.transform(function, *map(to_device, arrays), policy=SMALL).copy_to_host()
    np.testing.assert_allclose(found, right(*arrays), rtol=1e-15)


def test_captured_values_and_arrays_are_seen():
    x = cuda.to_device(np.arange(60))
    table = cuda.to_device(np.array([3, 5]))
    for weight in (2, 4):
        made = device.transform(lambda v, weight=weight: v, x, policy=SMALL)
        equal(made, np.arange(60))
        made = device.transform(times(weight, table), x, policy=SMALL)
        equal(made, np.arange(60) * weight + np.where(np.arange(60) & 1, 5, 3))
    table.copy_to_device(np.array([0, 1]))
    equal(device.transform(times(1, table), x, policy=SMALL), np.arange(60) + np.arange(60) % 2)


def times(weight, table):
    """Return a function that captures a number and an array."""
    return lambda v: v * weight + table[v & 1]


def test_a_changed_global_is_seen():
    x = cuda.to_device(np.arange(10))
    for value in (4, 0.5):
        globals()["FACTOR"] = value
        equal(device.transform(by_factor, x, policy=SMALL), np.arange(10) * value)


def by_factor(v):
    """Return a multiple by a number that may change."""
    return v * FACTOR


@pytest.mark.parametrize("count", [0, 1, 37, 70])
def test_num_items(count):
    x = np.arange(70.0)
    for num_items in (count, np.int64(count), result(np.int32, 1)):
        if not isinstance(num_items, int | np.int64):
            num_items.copy_to_device(np.array([count], np.int32))
        out = cuda.to_device(np.full(70, -1.0))
        device.transform(twice, to_device(x), out=out, num_items=num_items, policy=SMALL)
        equal(out, np.where(np.arange(70) < count, 2 * x, -1))


def test_prepared():
    x, y = cuda.to_device(np.arange(50.0)), cuda.to_device(np.ones(50))
    call = wk.prepare(device.transform, lambda a, b: a + b, x, y, policy=SMALL)
    equal(call(), np.arange(50.0) + 1)
    y.copy_to_device(np.full(50, 2.0))
    equal(call(), np.arange(50.0) + 2)
    other = cuda.to_device(np.zeros(50))
    assert call.bind(arrays=(y, y), out=other)() is other
    equal(other, np.full(50, 4.0))
    with pytest.raises(TypeError, match=r"^bind: transform has no argument 'fn' to replace"):
        call.bind(fn=twice)
    both = wk.prepare(device.transform, lambda a: (a, -a), x, policy=SMALL)
    equal(both()[1], -np.arange(50.0))


@settings(max_examples=15 if SIMULATOR else 30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_random_layouts(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    views = []
    for seed in (1, 2):
        steps = [data.draw(st.sampled_from([1, 2, -1])) for _ in shape]
        memory = values(np.int32, math.prod(n * abs(step) for n, step in zip(shape, steps)), seed)
        view = memory.reshape([n * abs(step) for n, step in zip(shape, steps)])
        view = view[tuple(slice(None, None, step) for step in steps)]
        views.append(np.broadcast_to(view[:1], shape) if data.draw(st.booleans()) else view)
    equal(device.transform(operator.add, *map(to_device, views), dtype="i4", policy=SMALL), views[0] + views[1])


X = np.arange(6, dtype=np.float32)
REFUSED = {
    "no arrays": (lambda x: device.transform(twice), "^transform: at least one argument behind the function must be"),
    "numbers": (lambda x: device.transform(twice, 3), "^transform: at least one argument behind the function must be"),
    "a NumPy array": (lambda x: device.transform(twice, X), "^argument 0 is a NumPy array"),
    "a list": (lambda x: device.transform(twice, [1]), "^transform: argument 0 must be .* or a number, not a list"),
    "shapes": (
        lambda x: device.transform(operator.add, x, to_device(X[:4])),
        r"^transform: arrays of shapes \(6,\), \(4,\) do not go together",
    ),
    "a short function": (lambda x: device.transform(twice, x, x), r"^transform: the function is called with 2 values"),
    "a number of a ufunc": (lambda x: device.transform(np.sqrt, x, x), "^transform: sqrt takes 1 values, and 2 arg"),
    "no function": (lambda x: device.transform(3, x), r"^transform: the function comes first, transform\(fn, x\)"),
    "another order": (lambda x: device.transform(x, twice), "^transform: the function comes first"),
    "a text": (lambda x: device.transform(lambda a: "a", x), "returns .*; return a number or a tuple of numbers"),
    "out of another shape": (
        lambda x: device.transform(twice, x, out=result("f4", 5)),
        r"^transform: out must have shape \(6,\), as the result has, not \(5,\)",
    ),
    "out of another kind": (
        lambda x: device.transform(twice, x, out=result("i4", 6)),
        "^transform: float32 does not go into out of int32",
    ),
    "dtype of another kind": (
        lambda x: device.transform(twice, x, dtype="i4"),
        "^transform: float32 does not go into dtype of int32",
    ),
    "dtype and out": (
        lambda x: device.transform(twice, x, dtype="f4", out=result("f4", 6)),
        "^transform: dtype= has no meaning beside out=",
    ),
    "too few outputs": (
        lambda x: device.transform(lambda a: (a, a), x, out=(result("f4", 6),)),
        "^transform: the function returns a tuple of 2 results, and out= has 1",
    ),
    "too many outputs": (
        lambda x: device.transform(twice, x, out=(result("f4", 6),) * 2),
        "^transform: the function returns one result, and out= has 2",
    ),
    "the same output twice": (
        lambda x: device.transform(lambda a: (a, a), x, out=(result("f4", 6),) * 2),
        "^transform: ",
    ),
    "overlapping memory": (lambda x: device.transform(twice, x[1:], out=x[:-1]), "^transform: out shares memory with"),
    "a policy": (lambda x: device.transform(twice, x, policy=3), "^transform: policy must be a TransformPolicy, not a"),
    "threads": (lambda x: device.TransformPolicy(48), "^TransformPolicy: threads must be a power of two from 32"),
    "loads": (lambda x: device.TransformPolicy(loads=0), "^TransformPolicy: loads must be 1 to 16, not 0"),
    "too many items": (lambda x: device.transform(twice, x, num_items=7), "^transform: num_items must be 0 to 6"),
    "nothing prepared": (lambda x: wk.prepare(device.transform), "^transform: missing a required argument: 'fn'"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_in_one_sentence(what):
    check_refusal(REFUSED[what], cuda.to_device(X))


@large(5)
def test_more_items_than_32_bits_count():
    n = 2**32 + 5
    x = cuda.device_array(n, np.uint8)
    cuda.cudadrv.driver.device_memset(x, 1, n)
    x[n - 1 :].copy_to_device(np.array([9], np.uint8))
    assert device.transform(lambda a: np.uint8(a + 1), x, out=x) is x
    assert device.sum(x) == 2 * n + 8
    assert x[n - 1 :].copy_to_host()[0] == 10


@pytest.mark.gpu
def test_a_policy_for_which_there_are_too_few_registers():
    x = values(np.float64, 100_000)
    made = device.transform(lambda a: (a, a + 1, a * a), to_device(x), policy=device.TransformPolicy(1024, 16))
    equal(made[0], x)
    equal(made[1], x + 1)
    equal(made[2], x * x)


@pytest.mark.gpu
def test_in_a_graph():
    import torch

    x, out = torch.zeros(1 << 16, device="cuda"), torch.zeros(1 << 16, device="cuda")
    device.transform(twice, x, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        device.transform(twice, x, out=out)
    for seed in range(3):
        data = values(np.float32, 1 << 16, seed)
        x.copy_(torch.from_numpy(data))
        graph.replay()
        np.testing.assert_array_equal(out.cpu().numpy(), 2 * data)
