"""Array functions in the hands of users who try everything: what is refused is one sentence, and nothing is written."""

import functools
import operator

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.warp.matrix import SIMULATOR
from warpkit import device

from .reductions import result, to_device

N = 200 if SIMULATOR else 100_003


def refused(call, *words):
    """Assert that a call is refused in one short sentence with these words."""
    with pytest.raises((wk.Refused, ValueError)) as caught:
        call()
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 300
    for word in words:
        assert word in sentence


POLICIES = {
    "ReducePolicy": {"single_loads": 1 << 20, "loads": 16, "waves": 64},
    "ScanPolicy": {
        "ring_from": 1 << 50, "items": 64, "stages": 8, "blocks": 32, "sweep_until": 1 << 30, "sweep_loads": 16,
        "look_until": 1 << 30, "look_tiles": 1 << 20, "look_states": 8, "look_patience": 1 << 20, "wide_items": 64,
        "wide_from": 1 << 50, "tile_states": 8,
    },
    "SelectPolicy": {
        "most_tiles": 1 << 20, "nbytes": 512, "stages": 8, "blocks": 32, "small_until": 1 << 50, "large_from": 1 << 50,
        "large_nbytes": 512, "one_items": 16, "one_until": 1 << 14, "wide_items": 16, "wide_until": 1 << 14,
        "look_items": 32, "look_until": 1 << 30, "look_tiles": 1 << 20, "look_states": 32, "look_patience": 1 << 20,
        "look_large_from": 1 << 30, "look_large_items": 32, "look_large_states": 32, "whole_tiles": 1 << 20,
    },
    "HistogramPolicy": {
        "shared": 1 << 20, "most_shared": 1 << 20, "worth": 1 << 20, "loads": 16, "table": 1 << 12, "emptied": 1 << 30,
        "resident": 2048, "full_from": 1 << 50,
    },
    "TransformPolicy": {"loads": 16},
}  # fmt: skip


@pytest.mark.everywhere
@pytest.mark.parametrize("value", [-1, 2.5, 2.0, 256.0, 1e9, "a", None, True, 1 << 60, [1]])
@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_of_silly_numbers_is_refused_at_once(name, value):
    kind = getattr(device, name)
    for field in (*POLICIES[name], "threads"):
        refused(functools.partial(kind, **{field: value}), f"{name}: {field} must be", "not ")


@pytest.mark.everywhere
@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_takes_its_largest_numbers_of_any_integer_type(name):
    kind = getattr(device, name)
    for field, most in POLICIES[name].items():
        assert getattr(kind(**{field: np.int64(most)}), field) == most
        refused(functools.partial(kind, **{field: most + 1}), f"{name}: {field} must be")


ON_OTHERS = {
    "histogram, of x": lambda z, n: device.histogram(z[:N], 3, (0, 9), out=z[5:8]),
    "histogram, of edges": lambda z, n: device.histogram(z[:N], z[N : N + 4], out=z[N + 1 : N + 4]),
    "histogram, of the count": lambda z, n: device.histogram(z[:N], 3, (0, 9), out=z[N : N + 3], num_items=n),
    "bincount, of x": lambda z, n: device.bincount(z[:N], out=z[5:8]),
    "cumsum, of the count": lambda z, n: device.cumsum(z[:N], out=z[N:], num_items=n),
    "exclusive_scan, of the count": lambda z, n: device.exclusive_scan(z[:N], wk.add, out=z[N:], num_items=n),
    "transform, of the count": lambda z, n: device.transform(operator.neg, z[:N], out=z[N:], num_items=n),
    "digitize, of the count": lambda z, n: device.digitize(z[:N], [3], out=z[N:], num_items=n),
    "select, of the count": lambda z, n: device.select(z[:N], lambda v: v > 2, out=z[N:], num_items=n),
}


@pytest.mark.parametrize("name", ON_OTHERS)
def test_out_on_what_is_read_meanwhile_is_refused(name):
    x = np.arange(2 * N, dtype=np.int64)
    z = cuda.to_device(x)
    refused(lambda: ON_OTHERS[name](z, z[N : N + 1]), name.partition(",")[0], "out shares memory with ", "its own")
    np.testing.assert_array_equal(z.copy_to_host(), x)


def test_out_between_what_is_read_is_no_overlap():
    x = np.tile(np.arange(4), N)
    z = cuda.to_device(x)
    device.histogram(z[::2], 2, (0, 3), out=z[1:4:2])
    assert z.copy_to_host()[:6].tolist() == [0, N, 2, N, 0, 1]


class Shouting:
    """What looks like an array of a device, and fills pages when it is shown."""

    shape, dtype, ndim = (3, 4), np.dtype(np.float32), 2

    def __repr__(self):
        raise AssertionError("its items were asked for")

    def __array__(self, *args, **options):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


INSTEAD = {
    "select": lambda x, y: device.select(x, y),
    "partition": lambda x, y: device.partition(x, y),
    "inclusive_scan": lambda x, y: device.inclusive_scan(x, y),
    "reduce": lambda x, y: device.reduce(x, y),
    "transform_reduce": lambda x, y: device.transform_reduce(x, y, wk.add),
    "cumsum": lambda x, y: device.cumsum(x, init=y),
    "sum": lambda x, y: device.sum(x, init=y),
    "histogram": lambda x, y: device.histogram(x, 3, y),
}


@pytest.mark.parametrize("name", INSTEAD)
def test_an_array_where_none_belongs_is_not_printed(name):
    x = cuda.to_device(np.arange(N, dtype=np.int32))
    refused(lambda: INSTEAD[name](x, Shouting()), f"{name}: ", "an array (float32, shape (3, 4))")
    refused(lambda: INSTEAD[name](x, x), f"{name}: ", f"an array (int32, shape ({N},))")


@pytest.mark.parametrize("minlength", [2.5, None, "3", [4]])
def test_a_minlength_that_is_no_int(minlength):
    x = cuda.to_device(np.arange(5))
    refused(lambda: device.bincount(x, minlength), "bincount: minlength must be an int, not ")


@pytest.mark.parametrize("bins", [None, "auto", 2.5])
@pytest.mark.parametrize("name", ["histogram", "digitize"])
def test_bins_that_are_no_edges(name, bins):
    x = cuda.to_device(np.arange(5))
    refused(lambda: getattr(device, name)(x, bins), f"{name}: bins must be ", repr(bins).strip("'"))


def test_what_a_transform_returns_is_added_up_as_by_sum():
    x = np.random.default_rng(3).integers(-128, 128, N).astype(np.int8)
    there = to_device(x)
    for op in (wk.add, operator.add, np.add):
        counted = device.transform_reduce(there, lambda v: v > 3, op)
        assert counted == (x > 3).sum()
        assert counted.dtype == np.int64
        added = device.transform_reduce(there, lambda v: v, op)
        assert added == x.sum()
        assert added.dtype == np.int64
    assert device.transform_reduce(to_device(np.full(N, 200, np.uint8)), lambda v: v, wk.add).dtype == np.uint64
    assert device.transform_reduce(there, lambda v: v, wk.add, dtype=np.int8) == x.sum(dtype=np.int8)
    assert device.transform_reduce(there, lambda v: v, wk.maximum).dtype == np.int8
    assert device.transform_reduce(there, lambda v: v > 3, max)
    assert device.transform_reduce(there, lambda v: v > 3, wk.mul).dtype == np.int64
    pair = device.transform_reduce(there, lambda v: (v > 3, v), wk.add)
    assert tuple(pair) == ((x > 3).sum(), x.sum())


def test_a_refusal_leaves_out_as_it_was():
    x, out = to_device(np.arange(N, dtype=np.int32)), result(np.int64, N)
    for call in (
        lambda: device.cumsum(x, out=out, init=2.5),
        lambda: device.cumsum(x, out=out, num_items=N + 1),
        lambda: device.transform(lambda v: v * 0.5, x, out=out),
        lambda: device.nonzero(x, out=out, count_out=result(np.int16)),
        lambda: device.histogram(x, N, (3, 1), out=out),
        lambda: device.digitize(x, [1, 3, 2], out=out),
    ):
        refused(call)
    assert (out.copy_to_host() == 77).all()


FIELDS = {
    "bytes": np.dtype([("a", np.int32), ("s", "S3")]),
    "several": np.dtype([("a", np.int32, 2), ("b", np.float32)]),
    "bytes, inside": np.dtype([("p", [("a", np.int32), ("s", "S3")]), ("q", np.int64)]),
}
OF_RECORDS = {
    "select": lambda x: device.select(x, lambda v: v[0] == 0),
    "partition": lambda x: device.partition(x, lambda v: v[0] == 0),
    "transform": lambda x: device.transform(lambda v: 1, x),
    "reduce": lambda x: device.reduce(x, lambda p, q: p),
    "transform_reduce": lambda x: device.transform_reduce(x, lambda v: 1, wk.add),
    "inclusive_scan": lambda x: device.inclusive_scan(x, lambda p, q: p),
    "exclusive_scan": lambda x: device.exclusive_scan(x, lambda p, q: p, init=(0, 0)),
}


@pytest.mark.parametrize("fields", FIELDS)
@pytest.mark.parametrize("name", OF_RECORDS)
def test_records_of_what_no_function_takes(name, fields):
    x = to_device(np.zeros(5, FIELDS[fields]))
    refused(lambda: OF_RECORDS[name](x), f"{name}: a function gets records as tuples of numbers", "pass x['name']")
    same = device.select_flagged(x, to_device(np.array([1, 0, 0, 1, 1])))  # records move whatever they hold
    assert same.copy_to_host().size == 3


def test_results_go_into_no_records_of_other_things():
    x, out = to_device(np.arange(5)), cuda.to_device(np.zeros(5, FIELDS["bytes"]))
    refused(lambda: device.transform(lambda v: (v, v), x, out=out), "transform: ", "does not go into out")


@pytest.mark.filterwarnings("error")
def test_a_range_beyond_the_items_type_warns_of_nothing():
    x = to_device(np.zeros(5, np.float32))
    refused(lambda: device.histogram(x, 3, (0, 1e300)), "histogram: 3 bins are too many for the range")


IN_C_ORDER = {
    "cumsum": (device.cumsum, lambda x: np.cumsum(x)),
    "nonzero": (device.nonzero, lambda x: np.flatnonzero(np.ravel(x))),
    "select": (lambda x: device.select(x, lambda v: v > 5), lambda x: np.ravel(x)[np.ravel(x) > 5]),
    "transform": (lambda x: device.transform(lambda v: v, x), np.ascontiguousarray),
    "digitize": (lambda x: device.digitize(x, [3, 9]), lambda x: np.digitize(x, [3, 9])),
}


@pytest.mark.parametrize("name", IN_C_ORDER)
def test_arrays_in_fortran_order_are_read_in_c_order(name):
    function, wanted = IN_C_ORDER[name]
    x = np.asfortranarray(np.random.default_rng(4).permutation(np.arange(24)).reshape(2, 3, 4))
    for there in (to_device(x), cuda.to_device(x)):
        got = function(there).copy_to_host()
        np.testing.assert_array_equal(got, wanted(x))
        assert got.shape == wanted(x).shape


OTHERS = {"None": lambda a, b: None, "a tuple": lambda a, b: (a, b), "a complex number": lambda a, b: 1j}


@pytest.mark.parametrize("returned", OTHERS)
@pytest.mark.parametrize("name", ["reduce", "inclusive_scan"])
def test_an_operator_that_returns_something_else(name, returned):
    x = to_device(np.arange(N, dtype=np.int32))
    with pytest.raises(wk.Refused, match=r"the operator returns .* for int32; return int32\.") as caught:
        getattr(device, name)(x, OTHERS[returned])
    assert "?" not in str(caught.value)


@pytest.mark.ptx
@pytest.mark.parametrize("returned", OTHERS)
def test_the_compiler_says_so_with_the_callers_line(returned):
    from warpkit.device.reduce_operators import reduce_family

    from .compiled import image_and_ptx
    from .test_reduce_ptx import kernel

    with pytest.raises(wk.Refused, match=r"the operator returns .* for int32; return int32\.") as caught:
        image_and_ptx(*kernel(reduce_family(OTHERS[returned]), np.int32))
    assert "compiled.py:" in str(caught.value)  # the caller, and no file of the compiler
