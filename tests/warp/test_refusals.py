"""Refusals: one line that says operation, type or value and what to do instead, with the user's own file and line.

The same in every process: the simulator refuses at launch, the compiler when it types the kernel.
"""

import inspect
import pathlib

import numpy as np
import pytest
from numba import cuda, from_dtype

import warpkit as wk
from warpkit import Refused

from .matrix import SIMULATOR

pytestmark = pytest.mark.everywhere
FILE = pathlib.Path(__file__).name
PAIR = np.dtype([("a", "i4"), ("b", "f4")])
SEVEN, SIXTY_FOUR = 7, 64
A = {name: np.ones(32, name) for name in ("bool", "int32", "float32", "float16", "complex64")}
RECORD = np.ones(32, PAIR)


def attempt(run, *arrays):
    """Launch in the simulator; compile without one."""
    if SIMULATOR:
        run[1, 32](*arrays)
        return
    from tests import ptx

    ptx.compile_ptx(run, *(from_dtype(a.dtype)[::1] for a in arrays))


def refusal(run, *arrays):
    """Return the message of the refusal that `run` must meet, having checked its form."""
    with pytest.raises(Refused) as caught:
        attempt(run, *arrays)
    message = str(caught.value)
    assert "\n" not in message
    assert type(caught.value) is Refused
    assert isinstance(caught.value, TypeError)
    source, first = inspect.getsourcelines(getattr(run, "py_func", getattr(run, "fn", run)))
    line = first + next(n for n, text in enumerate(source) if "refused here" in text)
    assert f"{FILE}:{line}" in message
    return message


@cuda.jit
def sum_of_bools(x, out):
    out[0] = wk.warp_active_sum(x[0])  # refused here


@cuda.jit
def prefix_sum_of_bools(x, out):
    out[0] = wk.warp_prefix_sum(x[0])  # refused here


@cuda.jit
def inclusive_sum_of_bools(x, out):
    out[0] = wk.warp_inclusive_sum(x[0])  # refused here


@cuda.jit
def segmented_sum_of_bools(x, out):
    out[0] = wk.warp_segmented_sum(x[0], x[0])  # refused here


@pytest.mark.parametrize(
    ("run", "name"),
    [
        (sum_of_bools, "warp_active_sum"),
        (prefix_sum_of_bools, "warp_prefix_sum"),
        (inclusive_sum_of_bools, "warp_inclusive_sum"),
        (segmented_sum_of_bools, "warp_segmented_sum"),
    ],
)
def test_a_sum_of_bools_points_to_count_bits(run, name):
    message = refusal(run, A["bool"], A["int32"])
    assert name in message
    assert "bool" in message
    assert "count_bits" in message


@cuda.jit
def bit_and(x, out):
    out[0] = wk.warp_active_bit_and(x[0])  # refused here


@cuda.jit
def bit_or(x, out):
    out[0] = wk.warp_active_bit_or(x[0])  # refused here


@cuda.jit
def bit_xor(x, out):
    out[0] = wk.warp_active_bit_xor(x[0])  # refused here


@cuda.jit
def reduce_by_bit_and(x, out):
    out[0] = wk.warp_reduce(x[0], wk.bit_and)  # refused here


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
@pytest.mark.parametrize(
    ("run", "name"),
    [
        (bit_and, "warp_active_bit_and"),
        (bit_or, "warp_active_bit_or"),
        (bit_xor, "warp_active_bit_xor"),
        (reduce_by_bit_and, "bit_and"),
    ],
)
def test_w04_bit_operations_refuse_what_is_no_integer(run, name, dtype):
    message = refusal(run, A[dtype], A[dtype])
    assert name in message
    assert dtype in message


@cuda.jit
def smallest(x, out):
    out[0] = wk.warp_active_min(x[0])  # refused here


@cuda.jit
def largest(x, out):
    out[0] = wk.warp_active_max(x[0])  # refused here


@cuda.jit
def running_max(x, out):
    out[0] = wk.warp_inclusive_max(x[0])  # refused here


@cuda.jit
def max_before(x, out):
    out[0] = wk.warp_prefix_max(x[0])  # refused here


@cuda.jit
def reduce_by_minimum(x, out):
    out[0] = wk.warp_reduce(x[0], wk.minimum)  # refused here


@cuda.jit
def sort(x, out):
    out[0] = wk.warp_sort(x[0])  # refused here


@pytest.mark.parametrize(
    ("run", "name"),
    [
        (smallest, "warp_active_min"),
        (largest, "warp_active_max"),
        (running_max, "warp_inclusive_max"),
        (max_before, "warp_prefix_max"),
        (reduce_by_minimum, "minimum"),
        (sort, "warp_sort"),
    ],
)
def test_complex_numbers_have_no_order(run, name):
    message = refusal(run, A["complex64"], A["complex64"])
    assert name in message
    assert "complex" in message


@cuda.jit
def sum_of_records(x, out):
    out[0] = wk.warp_active_sum(x[0])  # refused here


@cuda.jit
def reduce_records(x, out):
    out[0] = wk.warp_reduce(x[0], wk.add)  # refused here


@cuda.jit
def scan_records(x, out):
    out[0] = wk.warp_inclusive_scan(x[0], wk.add)  # refused here


@pytest.mark.parametrize(
    ("run", "name"),
    [(sum_of_records, "warp_active_sum"), (reduce_records, "warp_reduce"), (scan_records, "warp_inclusive_scan")],
)
def test_records_only_move_and_the_message_says_tuple(run, name):
    message = refusal(run, RECORD, RECORD)
    assert name in message
    assert "record" in message.lower()
    assert "tuple" in message


# ------------------------------------------------------------------ width


@cuda.jit
def width_seven(x, out):
    out[0] = wk.warp_active_sum(x[0], width=SEVEN)  # refused here


@cuda.jit
def width_zero(x, out):
    out[0] = wk.warp_inclusive_sum(x[0], width=0)  # refused here


@cuda.jit
def width_64(x, out):
    out[0] = wk.warp_read_lane(x[0], 3, width=SIXTY_FOUR)  # refused here


@cuda.jit
def width_negative(x, out):
    out[0] = wk.warp_reduce(x[0], wk.add, width=-8)  # refused here


@pytest.mark.parametrize(
    ("run", "name", "value"),
    [
        (width_seven, "warp_active_sum", "7"),
        (width_zero, "warp_inclusive_sum", "0"),
        (width_64, "warp_read_lane", "64"),
        (width_negative, "warp_reduce", "-8"),
    ],
)
def test_w09_width_seven_is_refused_and_0_and_64(run, name, value):
    message = refusal(run, A["int32"], A["int32"])
    assert name in message
    assert value in message.replace("−", "-")
    assert "1, 2, 4, 8, 16" in message


@cuda.jit
def width_at_run_time(x, out):
    out[0] = wk.warp_active_sum(x[0], width=x[1])  # refused here


@cuda.jit
def width_of_numpy(x, out):
    out[0] = wk.warp_active_sum(x[0], width=np.int32(8))  # refused here


@pytest.mark.parametrize("run", [width_at_run_time, width_of_numpy])
def test_a_width_that_is_no_compile_time_integer_is_refused(run):
    message = refusal(run, A["int32"], A["int32"])
    assert "warp_active_sum" in message
    assert "width" in message
    assert "compile" in message


@cuda.jit(device=True)
def users_helper(value):
    return wk.warp_active_sum(value, width=7)  # refused here


@cuda.jit
def through_a_helper(x, out):
    out[0] = users_helper(x[0])


def test_the_line_is_the_users_own_also_in_a_device_function():
    with pytest.raises(Refused) as caught:
        attempt(through_a_helper, A["int32"], A["int32"])
    source = pathlib.Path(__file__).read_text().splitlines()
    line = 1 + next(n for n, text in enumerate(source) if "users" + "_helper(value)" in text) + 1
    assert f"{FILE}:{line}" in str(caught.value)


@cuda.jit
def warp_size_16(x, out):
    wk.set_warp_size(16)  # refused here
    out[0] = x[0]


def test_set_warp_size_16_points_to_width():
    message = refusal(warp_size_16, A["int32"], A["int32"])
    assert "16" in message
    assert "width=" in message


# ------------------------------------------------------------------ operators and values


@cuda.jit
def all_of_floats(x, out):
    out[0] = wk.warp_active_all(x[0])  # refused here


@cuda.jit
def count_of_floats(x, out):
    out[0] = wk.warp_prefix_count_bits(x[0])  # refused here


@pytest.mark.parametrize(
    ("run", "name"), [(all_of_floats, "warp_active_all"), (count_of_floats, "warp_prefix_count_bits")]
)
def test_a_predicate_is_no_float(run, name):
    message = refusal(run, A["float32"], A["int32"])
    assert name in message
    assert "float32" in message
    assert "compare" in message


@cuda.jit
def operator_is_a_number(x, out):
    out[0] = wk.warp_reduce(x[0], 3)  # refused here


@cuda.jit
def operator_is_none(x, out):
    out[0] = wk.warp_inclusive_scan(x[0], None)  # refused here


@pytest.mark.parametrize(
    ("run", "name"), [(operator_is_a_number, "warp_reduce"), (operator_is_none, "warp_inclusive_scan")]
)
def test_an_operator_must_be_a_function(run, name):
    message = refusal(run, A["int32"], A["int32"])
    assert name in message
    assert "op" in message


@cuda.jit
def array_as_value(x, out):
    out[0] = wk.warp_read_lane(x, 3)[0]  # refused here


@cuda.jit
def array_summed(x, out):
    out[0] = wk.warp_active_sum(x)  # refused here


@pytest.mark.parametrize(("run", "name"), [(array_as_value, "warp_read_lane"), (array_summed, "warp_active_sum")])
def test_an_array_is_no_value(run, name):
    message = refusal(run, A["int32"], A["int32"])
    assert name in message
    assert "array" in message


@cuda.jit
def nested_sum(x, out):
    out[0] = wk.warp_active_sum(((x[0], x[1]), x[2]))[1]  # refused here


def test_built_in_operations_refuse_nested_tuples():
    message = refusal(nested_sum, A["int32"], A["int32"])
    assert "warp_active_sum" in message
    assert "tuple" in message


@cuda.jit
def mask_of_floats(x, out):
    out[0] = wk.warp_active_sum(x[0], mask=x[1])  # refused here


def test_a_mask_must_be_an_integer():
    message = refusal(mask_of_floats, A["float32"], A["float32"])
    assert "warp_active_sum" in message
    assert "mask" in message
    assert "float32" in message


def test_a_kernel_works_after_a_refusal():
    with pytest.raises(Refused):
        attempt(width_seven, A["int32"], A["int32"])
    attempt(fine, A["int32"], A["int32"])


@cuda.jit
def fine(x, out):
    out[0] = wk.warp_active_sum(x[0], width=8)


@pytest.mark.parametrize("name", [n for n in dir(wk) if n.startswith("warp_")])
def test_outside_a_kernel_one_sentence_says_so(name):
    function = getattr(wk, name)
    wanted = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    with pytest.raises(wk.OutsideKernel) as caught:
        function(*(wk.add if p.name == "op" else 1 for p in wanted))
    assert str(caught.value) == f"{name} is a device function: call it inside a numba.cuda.jit kernel."


@cuda.jit
def scan_from_a_float(x, out):
    out[0] = wk.warp_exclusive_scan(x[0], wk.add, 0.5)  # refused here


def test_an_init_that_does_not_go_into_the_value_is_named():
    message = refusal(scan_from_a_float, A["int32"], A["int32"])
    assert "warp_exclusive_scan: init is float64" in message
    assert "int32" in message


@cuda.jit
def shuffle_with_a_float_as_fill(x, out):
    out[0] = wk.warp_shuffle_up(x[0], 1, 0.5)  # refused here


def test_a_fill_that_does_not_go_into_the_value_is_named():
    assert "warp_shuffle_up: fill is float64" in refusal(shuffle_with_a_float_as_fill, A["int32"], A["int32"])


@cuda.jit
def read_an_empty_tuple(x, out):
    out[0] = x[0]
    wk.warp_read_lane((), 3)  # refused here


def test_an_empty_tuple_cannot_travel():
    assert "warp_read_lane: () cannot travel" in refusal(read_an_empty_tuple, A["int32"], A["int32"])


def undecorated(a, b):
    """Return the later one: a plain function, which Numba does not compile where a kernel passes it on."""
    return b


@cuda.jit
def reduce_by_a_plain_function(x, out):
    out[0] = wk.warp_reduce(x[0], undecorated)


@pytest.mark.simulator
def test_a_plain_function_as_operator_is_refused_as_on_a_gpu():
    x = np.zeros(32, np.int32)
    with pytest.raises(wk.Refused, match=r"decorate undecorated with @cuda.jit\(device=True\)"):
        reduce_by_a_plain_function[1, 32](x, x)
