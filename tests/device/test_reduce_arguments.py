"""What reductions take besides the array: out, dtype, init, num_items, stream, policy; and what they refuse."""

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.matrix import label
from warpkit import device
from warpkit.simt import machine

from .reductions import NUMPY, POLICY, SIMULATOR, result, same, to_device
from .refusing import check_refusal

X = np.arange(1, 401, dtype=np.int32)


# ------------------------------------------------------------------ dtype, init


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32, np.float64, np.complex128], ids=label)
def test_dtype_is_what_is_computed_in(dtype):
    with np.errstate(all="ignore"):
        same(device.sum(to_device(X), dtype=dtype, policy=POLICY), X.sum(dtype=dtype))
    same(
        device.max(to_device(X % 100), dtype=dtype, policy=POLICY) if dtype is not np.complex128 else dtype(99),
        dtype(99),
    )


def test_mean_in_another_dtype():
    same(device.mean(to_device(X), dtype=np.float32, policy=POLICY), np.float32(200.5))
    same(device.mean(to_device(X), dtype=np.complex64, policy=POLICY), np.complex64(200.5))
    same(device.mean(to_device(X.astype(np.float16)), dtype="f8", policy=POLICY), np.float64(200.5))


@pytest.mark.parametrize("init", [np.inf, -np.inf, np.nan])
def test_init_that_is_not_finite(init):
    same(device.max(to_device(np.zeros(3, np.float32)), init=init), np.float32(np.max([0, init])))


@pytest.mark.parametrize("init", [7, 7.0, np.int8(7), np.float32(7), True], ids=repr)
def test_init_decides_no_dtype(init):
    same(device.sum(to_device(X.astype(np.float32)), init=init, policy=POLICY), np.float32(80200 + int(init)))
    same(device.prod(to_device(X[:3].astype(np.float64)), init=init, policy=POLICY), np.float64(6 * int(init)))


def test_init_of_structured_arrays():
    x = np.ones(40, [("a", "i4"), ("b", "f4")])
    assert device.sum(to_device(x), init=(5, 0.5), policy=POLICY).item() == (45, 40.5)


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max"])
def test_init_is_the_result_of_nothing(name):
    same(getattr(device, name)(to_device(X[:0].astype(np.float32)), init=3), np.float32(3))


# ------------------------------------------------------------------ num_items


@pytest.mark.parametrize("n", [0, 1, 3, 130, 400])
def test_fewer_items(n):
    for function, x in ((device.sum, X), (device.sum, X.reshape(20, 20).T), (device.reduce, X)):
        more = (lambda a, b: a + b,) if function is device.reduce else ()
        there = to_device(x)
        expected = x.ravel()[:n].sum()
        assert function(there, *more, num_items=n, init=0, policy=POLICY) == expected
        assert function(there, *more, num_items=np.uint8(n % 256), init=0, policy=POLICY) == x.ravel()[: n % 256].sum()
        for dtype in (np.int64, np.uint32):
            count = cuda.to_device(np.array([n], dtype))
            assert function(there, *more, num_items=count, init=0, policy=POLICY) == expected


def test_a_count_on_the_device_is_read_by_the_kernel():
    count, out, x = cuda.to_device(np.array([10])), result(np.int64), to_device(X)
    for n in (10, 400, 0, 77):
        count.copy_to_device(np.array([n]))
        device.sum(x, out=out, num_items=count, policy=POLICY)
        assert out.copy_to_host()[0] == X[:n].sum()


@pytest.mark.parametrize(("n", "counted"), [(1000, 400), (-3, 0)])
def test_a_count_beyond_the_array_is_cut(n, counted):
    assert device.sum(to_device(X), num_items=cuda.to_device(np.array([n])), policy=POLICY) == X[:counted].sum()
    assert device.sum(to_device(X), num_items=cuda.to_device(np.array([2**63], np.uint64)), policy=POLICY) == X.sum()


def test_what_a_count_of_none_on_the_device_gives():
    none, x = cuda.to_device(np.zeros(1, np.int32)), to_device(X)
    expected = {
        "sum": 0, "prod": 1, "min": 2**31 - 1, "max": -(2**31), "any": False, "all": True, "count_nonzero": 0,
        "argmin": -1, "argmax": -1, "minmax": (2**31 - 1, -(2**31)), "mean": np.nan,
    }  # fmt: skip
    assert set(expected) == set(NUMPY)
    for name, right in expected.items():
        np.testing.assert_equal(getattr(device, name)(x, num_items=none, policy=POLICY), right)
    assert device.reduce(x, lambda a, b: a, init=5, num_items=none) == 5
    with pytest.raises(TypeError, match=r"^reduce: with a count on the device pass init="):
        device.reduce(x, lambda a, b: a, num_items=none)


# ------------------------------------------------------------------ out, stream, policy


@pytest.mark.parametrize("shape", [(1,), (), (1, 1)], ids=str)
def test_out_of_one_element_in_any_shape(shape):
    out = to_device(np.full(shape, 77, np.float64))
    device.sum(to_device(X), out=out)
    assert out.memory.copy_to_host().view(np.float64)[0] == X.sum()


def test_out_may_be_part_of_the_input():
    memory = cuda.to_device(X.copy())
    device.sum(memory, out=memory[5:6], policy=POLICY)
    assert memory.copy_to_host()[5] == X.sum()


@pytest.mark.parametrize("kind", ["warpkit", "handle", "numba", "per thread"])
def test_streams(kind):
    handle = machine.stream_create()
    stream = {"warpkit": wk.Stream(), "handle": handle, "numba": cuda.stream(), "per thread": 2}[kind]
    x, out = to_device(X), result(np.int64)
    for _ in range(3):
        assert device.sum(x, stream=stream, policy=POLICY) == X.sum()
        assert device.sum(x, out=out, stream=stream, policy=POLICY) is out
    machine.synchronize()
    assert out.copy_to_host()[0] == X.sum()
    machine.stream_destroy(handle)


def test_policies_change_nothing_but_the_time():
    for threads in (32, 64, 256):
        for loads in (1, 3):
            for waves in (1, 2):
                policy = device.ReducePolicy(threads, loads, waves, least_loads=1, single_loads=1, single_threads=64)
                assert device.sum(to_device(X), policy=policy) == X.sum()
                assert device.reduce(to_device(X), lambda a, b: b, policy=policy) == 400


# ------------------------------------------------------------------ refusals

Y = np.zeros(3, [("a", "i4"), ("b", "c8")])
REFUSED = {
    "a list": (
        lambda x: device.sum([1, 2]),
        "^x is of type list, which no kernel takes: pass a device array, as [^,]*$",
    ),
    "a NumPy array": (lambda x: device.sum(X), "^x is a NumPy array .* copy it to the GPU first"),
    "a scalar": (lambda x: device.sum(3), "^x must be a device array, not a scalar"),
    "no out": (lambda x: device.sum(x, out=X), "^out is a NumPy array"),
    "many out": (
        lambda x: device.sum(x, out=result("i8", 2)),
        r"^sum: out must have 1 neighbouring element, not",
    ),
    "one out for two": (
        lambda x: device.minmax(x, out=result("i4")),
        "^minmax: out must have 2 neighbouring elements",
    ),
    "no dtype": (lambda x: device.sum(x, dtype="nonsense"), "^sum: dtype must be a NumPy dtype, not 'nonsense'"),
    "no numbers": (lambda x: device.sum(x, dtype="S3"), r"^sum: dtype must be a number type"),
    "dtype that loses": (
        lambda x: device.sum(to_device(X * 0.5), dtype=int),
        "^sum: float64 does not go into dtype of int",
    ),
    "dtype of a mean": (lambda x: device.mean(x, dtype=int), "^mean: dtype must be a float or complex type, not int64"),
    "init that loses": (
        lambda x: device.sum(x, init=0.5),
        "^sum: init 0.5 does not go into int64, in which this",
    ),
    "init too large": (lambda x: device.max(x, init=2**31), "^max: init 2147483648 is outside of int32"),
    "init beyond floats": (
        lambda x: device.max(to_device(np.zeros(3, np.float32)), init=1e300),
        r"^max: init 1e\+300 is outside of float32, in which this is computed; pass dtype=",
    ),
    "no init": (lambda x: device.sum(x, init="3"), "^sum: init must be a number, not '3'"),
    "half an init": (
        lambda x: device.sum(to_device(Y), init=3),
        "^sum: init must have one value for each of the",
    ),
    "num_items too large": (lambda x: device.sum(x, num_items=401), "^sum: num_items must be 0 to 400, the items of x"),
    "num_items negative": (lambda x: device.sum(x, num_items=-1), "^sum: num_items must be 0 to 400"),
    "two counts": (
        lambda x: device.sum(x, num_items=result("i8", 2)),
        "^sum: num_items must be an int or a device",
    ),
    "a float count": (
        lambda x: device.sum(x, num_items=result("f8")),
        "^sum: num_items must be an int or a device",
    ),
    "an axis": (lambda x: device.sum(x, axis=0), "^sum: axis= does not exist; the whole array is reduced"),
    "a policy": (lambda x: device.sum(x, policy=3), "^sum: policy must be a ReducePolicy, not a int"),
    "no stream": (lambda x: device.sum(x, stream="s"), "^stream: a str is no stream"),
    "min of complex": (
        lambda x: device.min(to_device(X * 1j)),
        "^min: minimum is not defined on complex128, which",
    ),
    "argmin of complex": (lambda x: device.argmin(to_device(X * 1j)), "^argmin: complex128 has no order"),
    "min of records": (lambda x: device.min(to_device(Y)), "^min: minimum is not defined on"),
    "argmax of records": (lambda x: device.argmax(to_device(Y)), "^argmax: x must hold numbers, not records"),
    "places in bytes": (
        lambda x: device.argmax(x, out=result("i1")),
        "^argmax: out must be of signed integers that hold 399, the last place, not of int8; use int64",
    ),
    "places in floats": (lambda x: device.argmin(x, out=result("f4")), "^argmin: out must be of signed integers that"),
    "places without a sign": (lambda x: device.argmin(x, out=result("u8")), "^argmin: out must be of signed integers"),
    "some places in bytes": (
        lambda x: device.argmin(x, out=result("i1"), num_items=129),
        "^argmin: out must be of signed integers that hold 128, the last place",
    ),
    "prepared places in bytes": (
        lambda x: wk.prepare(device.argmin, x, out=result("i1")),
        "^argmin: out must be of signed integers that hold 399",
    ),
    "any of records": (lambda x: device.any(to_device(Y)), "^any: x must hold numbers, not records"),
    "records into a number": (
        lambda x: device.sum(to_device(Y), out=result("f8")),
        "^sum: .* does not go into out of float",
    ),
    "five axes": (
        lambda x: device.sum(to_device(np.zeros((4,) * 5)[::2, ::2, ::2, ::2, ::2])),
        "has 5 axes that do not line up, and at most 4 are read in place: copy it",
    ),
    "a misaligned array": (lambda x: device.sum(to_device(np.zeros(9, "u1")[1:].view("i4"))), "^x is misaligned"),
    "a policy of no threads": (
        lambda x: device.ReducePolicy(threads=48),
        "^ReducePolicy: threads must be a power",
    ),
    "a policy of no loads": (lambda x: device.ReducePolicy(loads=0), "^ReducePolicy: loads must be 1 to 16, not 0"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_in_one_sentence(what):
    check_refusal(REFUSED[what], to_device(X))


def test_a_refused_call_leaves_out_as_it_was():
    out = result(np.int32)
    for call in (lambda: device.sum(to_device(X * 0.5), out=out), lambda: device.min(to_device(X[:0]), out=out)):
        with pytest.raises((TypeError, ValueError)):
            call()
    assert out.copy_to_host()[0] == 77


def test_an_unknown_option_is_named():
    with pytest.raises(TypeError, match="keepdims"):
        device.sum(to_device(X), keepdims=True)
    with pytest.raises(TypeError, match="init"):
        device.argmin(to_device(X), init=3)


def test_places_go_into_integers_that_hold_them():
    for dtype, n in ((np.int8, 128), (np.int16, 400), (np.int32, 400)):
        x = to_device(np.arange(n))
        assert device.argmax(x, out=result(dtype), policy=POLICY).copy_to_host()[0] == n - 1
        assert device.argmax(x, out=result(dtype)).copy_to_host()[0] == n - 1
    out = result(np.int8)
    assert device.argmax(to_device(X), out=out, num_items=128, policy=POLICY).copy_to_host()[0] == X[:128].argmax()


@pytest.mark.skipif(not SIMULATOR, reason="a faulting kernel would end a GPU's context")
def test_after_a_fault_in_a_users_operator_scratch_is_as_new():
    def faulty(a, b):
        return table[b]

    table, x = cuda.to_device(np.zeros(3, np.int64)), to_device(np.arange(600))
    with pytest.raises(wk.BoundsFault):
        device.reduce(x, faulty, policy=POLICY)
    assert device.reduce(x, lambda a, b: a + b, policy=POLICY) == np.arange(600).sum()
    assert device.sum(x, policy=POLICY) == np.arange(600).sum()
