"""Refusals of the block floor: one sentence with the operation, the type and the user's own file and line."""

import inspect
import pathlib

import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from warpkit import OutsideKernel, Refused

from .refusing import launch_or_compile

pytestmark = pytest.mark.everywhere
FILE = pathlib.Path(__file__).name
PAIR = np.dtype([("a", "i4"), ("b", "f4")])
INTS, FLOATS, BOOLS, COMPLEXES = (np.ones(64, t) for t in (np.int32, np.float32, np.bool_, np.complex64))
RECORDS = np.ones(64, PAIR)


@cuda.jit
def sum_of_bools(x, out):
    out[0] = wk.block_sum(x[0])  # refused here


@cuda.jit
def prefix_of_bools(x, out):
    out[0] = wk.block_prefix_sum(x[0])  # refused here


@cuda.jit
def tree_of_bools(x, out):
    out[0] = wk.block_tree_sum(x[0])  # refused here


@cuda.jit
def max_of_complex(x, out):
    out[0] = wk.block_max(x[0])  # refused here


@cuda.jit
def reduce_of_records(x, out):
    out[0] = wk.block_reduce(x[0], wk.add)["a"]  # refused here


@cuda.jit
def scan_with_no_function(x, out):
    out[0] = wk.block_inclusive_scan(x[0], 3)  # refused here


@cuda.jit
def scan_from_nothing(x, out):
    out[0] = wk.block_exclusive_scan(x[0], wk.add, None)  # refused here


@cuda.jit
def broken_count(x, out):
    out[0] = wk.block_sum(x[0], 1.5)  # refused here


@cuda.jit
def vote_of_floats(x, out):
    out[0] = wk.block_any(x[0])  # refused here


@cuda.jit
def broadcast_from_a_float(x, out):
    out[0] = wk.block_broadcast(x[0], 0.5)  # refused here


@cuda.jit
def items_of_no_array(x, out):
    out[0] = wk.block_reduce_items(x[0], wk.add)  # refused here


@cuda.jit
def items_of_records(x, out):
    items = wk.local_array(2, PAIR)
    items[0] = x[0]
    items[1] = x[1]
    wk.block_inclusive_scan_items(items, wk.add)  # refused here


@cuda.jit
def exchange_through_another_type(x, out):
    items, scratch = wk.local_array(2, np.float32), wk.shared_array(64, np.int32)
    items[0] = items[1] = x[0]
    wk.block_striped_to_blocked(items, scratch)  # refused here
    out[0] = items[0]


@cuda.jit
def exchange_through_a_number(x, out):
    items = wk.local_array(2, np.float32)
    items[0] = items[1] = x[0]
    wk.block_blocked_to_striped(items, 64)  # refused here
    out[0] = items[0]


@cuda.jit
def ranks_of_floats(x, out):
    items = wk.local_array(2, np.float32)
    items[0] = items[1] = x[0]
    wk.block_scatter_to_blocked(items, items)  # refused here
    out[0] = items[0]


@cuda.jit
def load_from_a_number(x, out):
    items = wk.local_array(2, np.float32)
    wk.block_load_striped(items, x[0], 0)  # refused here
    out[0] = items[0]


@cuda.jit
def load_at_a_float(x, out):
    items = wk.local_array(2, np.float32)
    wk.block_load_blocked(items, x, 0.5)  # refused here
    out[0] = items[0]


@cuda.jit
def histogram_of_floats(x, out):
    bins = wk.shared_array(8, np.int32)
    wk.block_histogram(bins, x[0])  # refused here
    out[0] = bins[0]


@cuda.jit
def histogram_in_bytes(x, out):
    bins = wk.shared_array(8, np.int8)
    wk.block_histogram(bins, x[0])  # refused here
    out[0] = bins[0]


@cuda.jit
def shuffle_by_a_float(x, out):
    out[0] = wk.block_shuffle_up(x[0], 1.0)  # refused here


CASES = [
    (sum_of_bools, BOOLS, "block_sum.*bool.*block_count"),
    (prefix_of_bools, BOOLS, "block_prefix_sum.*bool"),
    (tree_of_bools, BOOLS, "block_tree_sum.*bool"),
    (max_of_complex, COMPLEXES, "block_max.*complex64"),
    (reduce_of_records, RECORDS, "block_reduce.*record.*tuple of its fields"),
    (scan_with_no_function, INTS, "block_inclusive_scan.*op must be a function"),
    (scan_from_nothing, INTS, "block_exclusive_scan.*init must be a value like int32, not None"),
    (broken_count, INTS, "block_sum.*num_valid must be an integer, not float64"),
    (vote_of_floats, FLOATS, "block_any.*pred must be bool or an integer, not float32"),
    (broadcast_from_a_float, INTS, "block_broadcast.*thread must be an integer"),
    (items_of_no_array, INTS, "block_reduce_items.*items must be the thread's one-dimensional local_array, not int32"),
    (items_of_records, RECORDS, "block_inclusive_scan_items.*record"),
    (
        exchange_through_another_type,
        FLOATS,
        "block_striped_to_blocked.*scratch must be a shared_array of float32, not of int32",
    ),
    (exchange_through_a_number, FLOATS, "block_blocked_to_striped.*scratch must be a shared_array of float32, or None"),
    (ranks_of_floats, FLOATS, "block_scatter_to_blocked.*ranks must be a local_array of integers"),
    (load_from_a_number, FLOATS, "block_load_striped.*array, not float32"),
    (load_at_a_float, FLOATS, "block_load_blocked.*base must be an integer"),
    (histogram_of_floats, FLOATS, "block_histogram.*bin must be an integer, not float32"),
    (histogram_in_bytes, INTS, "block_histogram.*bins must be a one-dimensional shared_array of int32"),
    (shuffle_by_a_float, INTS, "block_shuffle_up.*delta must be an integer"),
]


@pytest.mark.parametrize(("run", "x", "sentence"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_refusal_is_one_sentence_with_the_users_line(run, x, sentence):
    with pytest.raises(Refused, match=sentence) as caught:
        launch_or_compile(run, x, np.zeros(64, np.float32 if x is not COMPLEXES else np.complex64))
    message = str(caught.value)
    assert "\n" not in message
    source, first = inspect.getsourcelines(getattr(run, "py_func", getattr(run, "fn", run)))
    line = first + next(n for n, text in enumerate(source) if "refused here" in text)
    assert f"{FILE}:{line}" in message


def test_outside_a_kernel_one_sentence_says_so():
    calls = {
        "block_sum": lambda: wk.block_sum(1),
        "block_prefix_sum_total": lambda: wk.block_prefix_sum_total(1.0),
        "block_count": lambda: wk.block_count(np.zeros(4)),  # also where it would be refused inside of one
        "block_tree_sum": lambda: wk.block_tree_sum(np.zeros(4)),
        "block_shuffle_up": lambda: wk.block_shuffle_up(1, 1),
        "sync_block": wk.sync_block,
    }
    for name, call in calls.items():
        with pytest.raises(OutsideKernel) as caught:
            call()
        assert str(caught.value) == f"{name} is a device function: call it inside a numba.cuda.jit kernel."
